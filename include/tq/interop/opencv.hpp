// SPDX-License-Identifier: MIT
#pragma once
// cv::Mat as a tensor: float32 for cv::Mat, T for cv::Mat_<T>. This header does not include OpenCV.

#include <tq/core/shape.hpp>
#include <tq/core/tensor_adapter.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace cv {
class Mat;
}  // namespace cv

namespace tq {

namespace interop::detail {

template <class M>
struct mat_element {
  using type = float;
};
template <class M>
  requires requires { typename M::value_type; }
struct mat_element<M> {
  using type = typename M::value_type;
};

// The depth that OpenCV gives a type of numbers.
template <class T>
inline constexpr int mat_depth = -1;
template <>
inline constexpr int mat_depth<std::uint8_t> = 0;
template <>
inline constexpr int mat_depth<std::int8_t> = 1;
template <>
inline constexpr int mat_depth<std::uint16_t> = 2;
template <>
inline constexpr int mat_depth<std::int16_t> = 3;
template <>
inline constexpr int mat_depth<std::int32_t> = 4;
template <>
inline constexpr int mat_depth<float> = 5;
template <>
inline constexpr int mat_depth<double> = 6;

}  // namespace interop::detail

/// The elements of a matrix in place, of any strides; several channels are a last axis. A copy of a
/// `cv::Mat` shares its elements, so temporaries are taken. Throws: `errc::bad_argument` for
/// elements of another type; `errc::rank_too_large` for more than 8 axes.
template <std::derived_from<cv::Mat> M>
struct tensor_adapter<M> {
  static constexpr bool owns = false;
  template <class X>
  [[nodiscard]] static auto view(X& m) {
    using Number = typename interop::detail::mat_element<M>::type;
    using T = std::conditional_t<std::is_const_v<X>, const Number, Number>;
    constexpr int depth = interop::detail::mat_depth<Number>;
    static_assert(depth >= 0, "tq::as_tensor: expected a cv::Mat_ of numbers");
    if (m.depth() != depth)
      detail::raise_expected(errc::bad_argument, "tq::as_tensor", {"a cv::Mat of depth ", depth},
                             {m.depth()});
    const bool is_many = m.channels() != 1;
    const int rank = m.dims + (is_many ? 1 : 0);
    if (rank > max_rank)
      detail::raise_expected(errc::rank_too_large, "tq::as_tensor", {"a rank of at most 8"},
                             {rank});
    std::array<std::size_t, max_rank> extents{};
    Strides strides{};
    for (int i = 0; i < m.dims; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      extents[axis] = static_cast<std::size_t>(m.size[i]);
      strides[axis] = static_cast<std::ptrdiff_t>(m.step1(i));
    }
    if (is_many) {
      extents[static_cast<std::size_t>(m.dims)] = static_cast<std::size_t>(m.channels());
      strides[static_cast<std::size_t>(m.dims)] = 1;
    }
    const std::span<const std::size_t> all(extents.data(), static_cast<std::size_t>(rank));
    return TensorView<T>(reinterpret_cast<T*>(m.data), Shape(all), strides);
  }
};

}  // namespace tq
