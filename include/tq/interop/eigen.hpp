// SPDX-License-Identifier: MIT
#pragma once
// Eigen matrices, vectors, arrays, Maps, Refs and Blocks in every place where the operations take
// tensors.

#include <tq/calibrate/calibrate.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/real_tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <Eigen/Core>
#include <concepts>
#include <cstddef>
#include <string>
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
concept EigenDense = requires(const M& m) {
  detail::is_dense(m);
};

/// A dense Eigen object whose coefficients lie in memory: matrices, arrays, Maps, Refs, Blocks,
/// transposes and diagonals of these, but no arithmetic.
template <class M>
concept EigenStorage = EigenDense<M> &&
                           (static_cast<unsigned>(M::Flags) & Eigen::DirectAccessBit) != 0 &&
                       requires(const M& m) {
  m.data();
  m.rowStride();
  m.colStride();
};

/// What operations read: floats; an expression without memory is evaluated first.
template <class M>
concept EigenFloats = EigenDense<M> && std::same_as<typename M::Scalar, float>;

/// What operations read that only look at it: float, double, `Eigen::half` and `Eigen::bfloat16`.
template <class M>
concept EigenReals = EigenDense<M> && Real<typename M::Scalar>;

/// What operations write to, as `view()` or the tensor view itself takes it.
template <class Out, class T>
concept EigenTarget = (EigenStorage<std::remove_cvref_t<Out>> &&
                       std::same_as<typename std::remove_cvref_t<Out>::Scalar, T>) ||
                      (!EigenDense<std::remove_cvref_t<Out>> &&
                       std::convertible_to<Out, TensorView<T>>);

}  // namespace interop

// Eigen objects have overloads of their own.
template <detail::SpanLike M>
requires interop::EigenDense<M>
struct detail::tensor_element<M> {
};

/// The coefficients of an Eigen object in place: shape (rows, cols), whatever the storage order,
/// and rank 1 for vectors. The object must outlive the view. Does not compile for expressions that
/// own no memory.
template <class M>
requires interop::EigenDense<std::remove_cvref_t<M>>
[[nodiscard]] auto view(M&& m) noexcept {
  using Dense = std::remove_cvref_t<M>;
  static_assert(interop::EigenStorage<Dense>,
                "tq::view: this Eigen expression has no coefficients in memory: evaluate it first, "
                "with .eval()");
  static_assert(
      std::is_lvalue_reference_v<M> || !std::derived_from<Dense, Eigen::PlainObjectBase<Dense>>,
      "tq::view: the view would outlive this temporary Eigen matrix: give it a name first");
  using T = std::remove_pointer_t<decltype(m.data())>;
  const auto extent = [](Eigen::Index n) { return static_cast<std::size_t>(n); };
  if constexpr (Dense::IsVectorAtCompileTime)
    return TensorView<T>(m.data(), Shape{extent(m.size())}, Strides{m.innerStride()});
  else
    return TensorView<T>(m.data(), Shape{extent(m.rows()), extent(m.cols())},
                         Strides{m.rowStride(), m.colStride()});
}

namespace interop::detail {

// The object itself, or the value of an Eigen expression.
template <class X>
[[nodiscard]] decltype(auto) stored(const X& x) {
  if constexpr (EigenDense<X> && !EigenStorage<X>) return typename X::PlainObject(x);
  else return (x);
}

template <class T, class X>
[[nodiscard]] TensorView<T> view_of(X&& x) {
  if constexpr (EigenDense<std::remove_cvref_t<X>>) return view(x);
  else return std::forward<X>(x);
}

// The real numbers of an Eigen object or of anything else that operations read.
template <class X>
[[nodiscard]] auto real_view(const X& x) {
  if constexpr (EigenDense<X>) return TensorView<const typename X::Scalar>(view(x));
  else return tq::detail::view_of(x);
}
template <class X>
concept Readable = EigenReals<X> || TensorSource<X>;

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

}  // namespace interop::detail

// --- the operations, for Eigen
// ----------------------------------------------------------------------------- Each is the
// operation of the same name on `view(x)`, with its contract and its errors.

/// `tq::calibrate`: parameters that cover the range of every block of `x`.
template <AnyParams Params, Backend B = default_backend, interop::EigenReals M,
          NumericsPolicy N = numerics_of<Params>>
[[nodiscard]] params_under<Params, N> calibrate(
    const M& x, typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}) {
  const auto& dense = interop::detail::stored(x);
  return calibrate<Params, B>(interop::detail::real_view(dense), granularity, numerics);
}

/// `tq::calibrate` by a calibrator, from what one accumulator per block keeps.
template <AnyParams Params, Accumulator Acc, class C, Backend B = default_backend,
          interop::EigenReals M, NumericsPolicy N = numerics_of<Params>>
requires CalibratorFor<C, Acc, Params, N>
[[nodiscard]] params_under<Params, N> calibrate(
    const M& x, const C& calibrator,
    typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}) {
  const auto& dense = interop::detail::stored(x);
  return calibrate<Params, Acc, C, B>(interop::detail::real_view(dense), calibrator, granularity,
                                      numerics);
}

/// `tq::quantize`: a new tensor with the codes of `x`, packed by `Pack`, row-major whatever the
/// order of `x`.
template <Packing Pack = LowFirst, Backend B = default_backend, interop::EigenFloats M,
          AnyParams Params, NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
[[nodiscard]] QuantizedTensor<Params, Pack> quantize(const M& x, Params params,
                                                     const N& numerics = {},
                                                     const E& executor = {}) {
  const auto& dense = interop::detail::stored(x);
  return quantize<Pack, B>(ConstTensorView(view(dense)), std::move(params), numerics, executor);
}

/// `tq::quantize` into a tensor made before.
template <Backend B = default_backend, interop::EigenFloats M, AnyParams Params, Packing Pack,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
void quantize(const M& x, QuantizedTensor<Params, Pack>& out, const N& numerics = {},
              const E& executor = {}) {
  const auto& dense = interop::detail::stored(x);
  quantize<B>(ConstTensorView(view(dense)), out, numerics, executor);
}

/// `tq::quantize` into codes: an Eigen object of `code_type`, a view, or a span.
template <Backend B = default_backend, interop::EigenFloats M, AnyParams Params,
          interop::EigenTarget<typename Params::code_type> Out,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
void quantize(const M& x, const Params& params, Out&& out, const N& numerics = {},
              const E& executor = {}) {
  const auto& dense = interop::detail::stored(x);
  quantize<B>(ConstTensorView(view(dense)), params,
              interop::detail::view_of<typename Params::code_type>(out), numerics, executor);
}

/// The codes of `x`, one `code_type` each, in a matrix (array, vector) of the storage order of `x`.
/// Throws: what `tq::quantize` throws.
template <Backend B = default_backend, interop::EigenFloats M, AnyParams Params,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
[[nodiscard]] auto quantize_codes(const M& x, const Params& params, const N& numerics = {},
                                  const E& executor = {}) {
  auto out = interop::detail::like<typename Params::code_type>(x);
  quantize<B>(x, params, out, numerics, executor);
  return out;
}

/// `tq::quantize_dynamic`: range and codes of `x` together, packed by `Pack`.
template <AnyParams Params, Packing Pack = LowFirst, Backend B = default_backend,
          interop::EigenFloats M, NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
[[nodiscard]] QuantizedTensor<params_under<Params, N>, Pack> quantize_dynamic(
    const M& x, typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}, const E& executor = {}) {
  const auto& dense = interop::detail::stored(x);
  return quantize_dynamic<Params, Pack, B>(ConstTensorView(view(dense)), granularity, numerics,
                                           executor);
}

/// `tq::fake_quantize` into an Eigen object, a view or a span; `out` may be `x`.
template <Backend B = default_backend, interop::EigenFloats M, AnyParams Params,
          interop::EigenTarget<float> Out, NumericsPolicy N = numerics_of<Params>,
          Executor E = Serial>
void fake_quantize(const M& x, const Params& params, Out&& out, const N& numerics = {},
                   const E& executor = {}) {
  const auto& dense = interop::detail::stored(x);
  fake_quantize<B>(ConstTensorView(view(dense)), params, interop::detail::view_of<float>(out),
                   numerics, executor);
}

/// `tq::fake_quantize`: dequantize(quantize(x)) as a matrix (array, vector) of the storage order of
/// `x`.
template <Backend B = default_backend, interop::EigenFloats M, AnyParams Params,
          NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
[[nodiscard]] typename M::PlainObject fake_quantize(const M& x, const Params& params,
                                                    const N& numerics = {},
                                                    const E& executor = {}) {
  typename M::PlainObject out = interop::detail::like<float>(x);
  fake_quantize<B>(x, params, out, numerics, executor);
  return out;
}

/// `tq::dequantize` of a packed tensor into an Eigen object of its shape, or a vector of its size:
/// of float, double, `Eigen::half` or `Eigen::bfloat16`.
template <Backend B = default_backend, AnyParams Params, Packing Pack, class Out,
          Executor E = Serial>
requires interop::EigenStorage<std::remove_cvref_t<Out>> &&
    Real<typename std::remove_cvref_t<Out>::Scalar>
void dequantize(const QuantizedTensor<Params, Pack>& q, Out&& out, const E& executor = {}) {
  dequantize<B>(q, TensorView<typename std::remove_cvref_t<Out>::Scalar>(view(out)), executor);
}

/// `tq::dequantize` of codes: the real values as a matrix (array, vector) of the storage order of
/// `codes`.
template <Backend B = default_backend, interop::EigenStorage M, AnyParams Params,
          Executor E = Serial>
requires std::same_as<typename M::Scalar, typename Params::code_type>
[[nodiscard]] auto dequantize(const M& codes, const Params& params, const E& executor = {}) {
  auto out = interop::detail::like<float>(codes);
  dequantize<B>(TensorView<const typename Params::code_type>(view(codes)), params,
                TensorView<float>(view(out)), executor);
  return out;
}

/// The real values of a packed tensor of rank 2 as a matrix or array `M`, or of rank 1 as a vector.
/// Throws: `errc::shape_mismatch` when an `M` cannot have the shape of `q`.
template <interop::EigenFloats M =
              Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
          Backend B = default_backend, AnyParams Params, Packing Pack, Executor E = Serial>
requires std::same_as<M, typename M::PlainObject>
[[nodiscard]] M to_eigen(const QuantizedTensor<Params, Pack>& q, const E& executor = {}) {
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
    raise(errc::shape_mismatch, "tq::to_eigen: expected a tensor that fits an Eigen type of rank " +
                                    std::to_string(rank) + " and its fixed extents, got shape " +
                                    to_string(shape));
  dequantize<B>(q, TensorView<float>(view(out)), executor);
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
template <Backend B = default_backend, interop::TrainingLayer Layer, interop::EigenFloats M,
          Executor E = Serial>
[[nodiscard]] typename M::PlainObject forward(Layer&& layer, const M& x, const E& executor = {}) {
  typename M::PlainObject out = interop::detail::like<float>(x);
  const auto& dense = interop::detail::stored(x);
  layer.template forward<B>(ConstTensorView(view(dense)), TensorView<float>(view(out)), executor);
  return out;
}

/// `FakeQuantize::backward`: dL/dx, in the storage order of `x`, given dL/dy of the shape of x; the
/// gradients of learned parameters are `layer.gradients()`.
template <Backend B = default_backend, interop::TrainingLayer Layer, interop::EigenFloats M,
          interop::EigenFloats G, Executor E = Serial>
[[nodiscard]] typename M::PlainObject backward(Layer& layer, const M& x, const G& grad_y,
                                               const E& executor = {}) {
  typename M::PlainObject out = interop::detail::like<float>(x);
  const auto& dense = interop::detail::stored(x);
  const auto& upstream = interop::detail::stored(grad_y);
  (void)layer.template backward<B>(ConstTensorView(view(dense)), ConstTensorView(view(upstream)),
                                   TensorView<float>(view(out)), executor);
  return out;
}

/// `tq::compare` where one tensor or both are Eigen objects or expressions.
template <interop::detail::Readable A, interop::detail::Readable Other>
requires interop::EigenReals<A> || interop::EigenReals<Other>
[[nodiscard]] ErrorMetrics compare(const A& expected, const Other& actual) {
  const auto& a = interop::detail::stored(expected);
  const auto& b = interop::detail::stored(actual);
  return compare(interop::detail::real_view(a), interop::detail::real_view(b));
}

}  // namespace tq
