// SPDX-License-Identifier: MIT
#pragma once
// Eigen matrices, vectors, arrays, Maps, Refs, Blocks and expressions as tensors: everything that
// reads or writes a tensor takes them. Results come back as Eigen objects from the functions below.

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/as_tensor.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/options.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_adapter.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <Eigen/Core>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace tq {

namespace interop::detail {
template <class Derived>
void is_dense(const Eigen::DenseBase<Derived>&);
}  // namespace interop::detail

template <>
struct detail::real_format<Eigen::half> {
  using type = float16::format;
};
template <>
struct detail::real_format<Eigen::bfloat16> {
  using type = bfloat16::format;
};

namespace interop {

/// Any dense Eigen object or expression.
template <class M>
concept EigenDense = requires(const M& m) { detail::is_dense(m); };

/// A dense Eigen object whose coefficients lie in memory: matrices, arrays, Maps, Refs, Blocks,
/// transposes and diagonals of these, but no arithmetic.
template <class M>
concept EigenStorage =
    EigenDense<M> && (static_cast<unsigned>(M::Flags) & Eigen::DirectAccessBit) != 0 &&
    requires(const M& m) {
      m.data();
      m.rowStride();
      m.colStride();
    };

/// Eigen objects and expressions of float, double, `Eigen::half` and `Eigen::bfloat16`.
template <class M>
concept EigenReals = EigenDense<M> && Real<typename M::Scalar>;

namespace detail {

template <class Plain, class T>
struct with_scalar;
template <template <class, int, int, int, int, int> class Dense, class S, int R, int C, int O,
          int MaxR, int MaxC, class T>
struct with_scalar<Dense<S, R, C, O, MaxR, MaxC>, T> {
  using type = Dense<T, R, C, O, MaxR, MaxC>;
};

// A matrix (array, vector) of T with the storage order of M and the extents of m.
template <class T, EigenDense M>
[[nodiscard]] auto like(const M& m) {
  typename with_scalar<typename M::PlainObject, T>::type out;
  out.resize(m.rows(), m.cols());
  return out;
}

}  // namespace detail
}  // namespace interop

/// Coefficients in place: shape (rows, cols), whatever the storage order, and rank 1 for vectors.
template <interop::EigenStorage M>
struct tensor_adapter<M> {
  static constexpr bool owns = std::derived_from<M, Eigen::PlainObjectBase<M>>;
  template <class X>
  [[nodiscard]] static auto view(X& m) noexcept {
    using T = std::remove_pointer_t<decltype(m.data())>;
    const auto extent = [](Eigen::Index n) { return static_cast<std::size_t>(n); };
    if constexpr (M::IsVectorAtCompileTime)
      return TensorView<T>(m.data(), Shape{extent(m.size())}, Strides{m.innerStride()});
    else
      return TensorView<T>(m.data(), Shape{extent(m.rows()), extent(m.cols())},
                           Strides{m.rowStride(), m.colStride()});
  }
  template <class T>
  [[nodiscard]] static auto like(const M& m) {
    return interop::detail::like<T>(m);
  }
};
/// Expressions without coefficients in memory are evaluated.
template <interop::EigenDense M>
  requires(!interop::EigenStorage<M>)
struct tensor_adapter<M> {
  static constexpr bool owns = true;
  [[nodiscard]] static typename M::PlainObject hold(const M& m) {
    return typename M::PlainObject(m);
  }
  template <class T>
  [[nodiscard]] static auto like(const M& m) {
    return interop::detail::like<T>(m);
  }
};

/// `tq::as_tensor` of an Eigen object.
template <class M>
  requires interop::EigenDense<std::remove_cvref_t<M>>
[[nodiscard]] auto view(M&& m) {
  return as_tensor(std::forward<M>(m));
}

/// The codes of `x`, one `code_type` each, in a matrix (array, vector) of the storage order of `x`.
/// Throws: what `tq::quantize` throws.
template <interop::EigenReals M, AnyParams Params, Option... O,
          Backend B = detail::backend_among<O...>>
[[nodiscard]] auto quantize_codes(const M& x, const Params& params, const O&... options) {
  auto out = interop::detail::like<typename Params::code_type>(x);
  quantize(x, params, out, options...);
  return out;
}

/// The real values of a packed tensor of rank 2 as a matrix or array `M`, or of rank 1 as a vector.
/// Throws: `errc::shape_mismatch` when an `M` cannot have the shape of `q`.
template <
    interop::EigenReals M = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
    AnyParams Params, Packing Pack, class... O, Backend B = detail::backend_among<O...>>
  requires std::same_as<M, typename M::PlainObject>
[[nodiscard]] M to_eigen(const QuantizedTensor<Params, Pack>& q, const O&... options) {
  constexpr int rank = M::IsVectorAtCompileTime ? 1 : 2;
  const Shape& shape = q.shape();
  const auto extent = [&](int axis) { return static_cast<Eigen::Index>(shape[axis]); };
  const auto fits = [](int fixed, Eigen::Index n) { return fixed == Eigen::Dynamic || fixed == n; };
  bool possible = shape.rank() == rank;
  M out;
  if constexpr (rank == 1) {
    if ((possible = possible && fits(M::SizeAtCompileTime, extent(0)))) out.resize(extent(0));
  } else {
    possible =
        possible && fits(M::RowsAtCompileTime, extent(0)) && fits(M::ColsAtCompileTime, extent(1));
    if (possible) out.resize(extent(0), extent(1));
  }
  if (!possible)
    detail::raise_expected(
        errc::shape_mismatch, "tq::to_eigen",
        {"a tensor that fits an Eigen type of rank ", rank, " and its fixed extents"},
        {"shape ", shape.extents()});
  dequantize(q, out, options...);
  return out;
}

namespace interop {

/// A FakeQuantize layer. (This header does not include it.)
template <class L>
concept TrainingLayer = requires {
  typename std::remove_cvref_t<L>::gradient_type;
  typename std::remove_cvref_t<L>::params_type;
};

}  // namespace interop

/// `FakeQuantize::forward`: what the layer makes of `x`, in the storage order of `x`. A constant
/// layer does not observe.
template <interop::TrainingLayer Layer, interop::EigenReals M, class... O,
          Backend B = detail::backend_among<O...>>
[[nodiscard]] typename M::PlainObject forward(Layer&& layer, const M& x, const O&... options) {
  typename M::PlainObject out = interop::detail::like<typename M::Scalar>(x);
  layer.forward(x, out, options...);
  return out;
}

/// `FakeQuantize::backward`: dL/dx, in the storage order of `x`, given dL/dy of the shape of x; the
/// gradients of learned parameters are `layer.gradients()`.
template <interop::TrainingLayer Layer, interop::EigenReals M, interop::EigenReals G, class... O,
          Backend B = detail::backend_among<O...>>
[[nodiscard]] typename M::PlainObject backward(Layer& layer, const M& x, const G& grad_y,
                                               const O&... options) {
  typename M::PlainObject out = interop::detail::like<typename M::Scalar>(x);
  (void)layer.backward(x, grad_y, out, options...);
  return out;
}

}  // namespace tq
