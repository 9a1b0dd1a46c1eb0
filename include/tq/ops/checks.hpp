// SPDX-License-Identifier: MIT
#pragma once
// What operations check before anything is written.

#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/run.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/backend.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tq::detail {

// Texts are made in functions that are no templates, once for all types.
[[noreturn]] inline void refuse_parameters(errc e, const char* function,
                                           std::string_view granularity, const Shape& shape,
                                           std::size_t expected, std::size_t got) {
  raise(e, std::string(function) + ": the parameters do not fit the tensor: " +
               std::string(granularity) + " over shape " + to_string(shape) + " expects " +
               std::to_string(expected) + " parameters, got " + std::to_string(got));
}
inline void refuse_nan(const char* function, std::uint64_t found, const Shape& shape) {
  if (found != 0)
    raise(errc::not_finite, std::string(function) + ": expected no NaN (NanRaises), got " +
                                std::to_string(found) + " in a tensor of shape " +
                                to_string(shape));
}

// Throws what `p.check(shape)` says, naming the function, the parameters and the shape.
template <AnyParams Params>
void require_fit(const char* function, const Params& p, const Shape& shape) {
  const errc e = p.check(shape);
  if (e == errc::ok) return;
  require_possible(function, p.granularity(), shape);
  refuse_parameters(e, function, Params::granularity_type::name, shape,
                    param_count(p.granularity(), shape), p.scales().size());
}

inline void require_size(const char* function, const char* what, std::size_t expected,
                         std::size_t got) {
  if (expected != got)
    raise(errc::shape_mismatch, std::string(function) + ": expected " + what + " of " +
                                    std::to_string(expected) + ", got " + std::to_string(got));
}

inline void require_shape(const char* function, const char* what, const Shape& expected,
                          const Shape& got) {
  if (!(expected == got))
    raise(errc::shape_mismatch, std::string(function) + ": expected " + what + " of shape " +
                                    to_string(expected) + ", got " + to_string(got));
}

// Makes `view` one of `shape`: a span of as many elements is taken in row-major order, at its own
// stride. Throws when it is neither.
template <class T>
void shape_as(const char* function, const char* what, TensorView<T>& view, const Shape& shape) {
  if (view.shape().rank() == 1 && shape.rank() != 1) {
    require_size(function, what, shape.size(), view.size());
    Strides strides = row_major_strides(shape);
    for (std::ptrdiff_t& s : strides) s *= view.stride(0);
    view = {view.data(), shape, strides};
    return;
  }
  require_shape(function, what, shape, view.shape());
}

// NaN among n neighbours.
template <Backend B, class T>
[[nodiscard]] std::uint64_t nan_count(const T* x, std::size_t n) noexcept {
  if constexpr (std::same_as<T, float>) {
    return B::min_max::run(x, n).nan;
  } else {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto v = static_cast<float>(x[i]);
      found += v != v ? 1 : 0;
    }
    return found;
  }
}

// The NanRaises policy: throws before anything is written.
template <Backend B, NumericsPolicy N, class T>
void require_no_nan(const char* function, const TensorView<const T>& x) {
  if constexpr (std::same_as<typename N::nan_type, NanRaises>) {
    std::uint64_t found = 0;
    const auto count = [&](const Run& r) {
      for (std::size_t k = 0; k < r.count; ++k) {
        const auto row = static_cast<std::ptrdiff_t>(k);
        found += nan_count<B>(x.data() + r.source + row * r.source_stride, r.length);
      }
    };
    for_each_run(x.shape(), PerTensor::block(x.shape()), x.strides(), x.strides(), count);
    refuse_nan(function, found, x.shape());
  }
}

}  // namespace tq::detail
