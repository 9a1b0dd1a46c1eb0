// SPDX-License-Identifier: MIT
#pragma once
// cast: values to the codes of a type and back, without a scale.

#include <tq/core/detail/read.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/scales.hpp>
#include <tq/numeric/exponent_format.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// Both as tensors of one shape; throws unless they are as large.
template <class Code>
void require_cast_output(const char* function, TensorView<Code>& out, const Shape& shape) {
  require_size(function, "an output", shape.size(), out.size());
  shape_as(function, "an output", out, shape);
}

// Calls f(x, out, place) for each element, `place` being its distance from the first one in `out`.
template <class T, class Code, Executor E, class F>
void for_each_element(const TensorView<const T>& x, const TensorView<Code>& out, const E& executor,
                      F&& f) {
  for_each_task(executor, x.shape(), PerTensor::block(x.shape()), x.strides(), out.strides(),
                [&](auto&& each) {
                  each([&](const Run& r) {
                    for (std::size_t k = 0; k < r.count; ++k) {
                      const auto row = static_cast<std::ptrdiff_t>(k);
                      const std::ptrdiff_t from = r.source + row * r.source_stride,
                                           to = r.target + row * r.target_stride;
                      for (std::size_t i = 0; i < r.length; ++i) {
                        const auto at = static_cast<std::ptrdiff_t>(i);
                        f(x.data()[from + at], out.data()[to + at],
                          static_cast<std::uint64_t>(to + at));
                      }
                    }
                  });
                });
}

// The numerics among the options of a cast.
template <class... O>
using cast_numerics = numerics_among<numerics::onnx, O...>;

template <CodedElement T, Backend B, Real In, NumericsPolicy N, Executor E>
void cast_values_to(const TensorView<const In>& x, TensorView<typename T::code_type> out,
                    const N& numerics, const E& executor) {
  require_cast_output("tq::cast_to", out, x.shape());
  require_no_nan<B, N>("tq::cast_to", x);
  if constexpr (std::same_as<In, double>) {
    // Code books compare with exact means. The others change codes at numbers of few bits, on whose
    // side a float rounded to odd stays.
    constexpr bool compares = requires { T::format::means; };
    for_each_element(x, out, executor, [&](double value, auto& code, std::uint64_t place) {
      std::conditional_t<compares, double, float> v;
      if constexpr (compares) v = value;
      else v = to_odd(value);
      code = static_cast<typename T::code_type>(
          T::format::template encode<typename N::overflow_type>(v, numerics.rounding, place));
    });
  } else {
    using M = Numerics<typename N::rounding_type, PowerOfTwo, NanToZero, ScaleOne,
                       typename N::overflow_type>;
    const operation::Quantize<In, T, Unpacked, M> operation{{}, M{numerics.rounding}};
    sweep_tensor(kernel_for<B, driver::one_scale>(operation),
                 {x.data(), x.strides(), out.data(), out.strides()}, x.shape(), x.shape(),
                 {.scales = driver::ones<B>()}, executor);
  }
}

}  // namespace detail

/// Writes the code of every value of `x`, of real numbers of any type, to the same place of `out`:
/// rounded once, overflow by the numerics (`Saturate` by default). `out` has the shape of `x`, or
/// is a span of x.size() codes. Stochastic rounding draws by the place in `out`. Options: numerics,
/// an executor, a backend. Throws: `errc::shape_mismatch` unless `out` fits; `errc::not_finite`
/// under `RaiseNan`.
template <CodedElement T, Readable X = ConstTensorView,
          detail::OutputOf<typename T::code_type> Out = TensorView<typename T::code_type>,
          Option... O, Backend B = detail::backend_among<O...>>
  requires RoundsBy<typename T::format, typename detail::cast_numerics<O...>::rounding_type>
void cast_to(const X& x, Out&& out, const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::cast_to: the output is a temporary: give it a name first");
  const auto chosen = detail::choose<numerics, executor, backend>(options...);
  detail::cast_values_to<T, B>(detail::read(x).view(),
                               detail::output<typename T::code_type>(std::forward<Out>(out)),
                               chosen.template numerics<tq::numerics::onnx>(), chosen.executor());
}

/// The codes of `x`, row-major. Options and throws: as above.
template <CodedElement T, Readable X = ConstTensorView, Option... O,
          Backend B = detail::backend_among<O...>>
  requires RoundsBy<typename T::format, typename detail::cast_numerics<O...>::rounding_type>
[[nodiscard]] std::vector<typename T::code_type> cast_to(const X& x, const O&... options) {
  const auto in = detail::read(x);
  std::vector<typename T::code_type> out(detail::require_extents("tq::cast_to", in.view().shape()));
  cast_to<T>(in.view(), out, options...);
  return out;
}
template <CodedElement T, Backend B, class... Args>
[[deprecated("tq::cast_to: pass tq::on<B> as an option")]] auto cast_to(Args&&... args) {
  return tq::cast_to<T>(std::forward<Args>(args)..., on<B>);
}

/// Writes the power of two that an exponent rule gives every value. The sign is ignored, zero gives
/// the lowest code, NaN and infinity give NaN. Source: ONNX Cast, whose `round_mode` up, down,
/// nearest are `ExponentCeil`, `ExponentFloor`, `ExponentNearest`, each in `ExponentUnsaturated`
/// where `saturate` is 0. Throws: `errc::shape_mismatch` unless `out` has as many elements as `x`.
template <std::same_as<float8_e8m0fnu> T, ExponentRule E, Readable X = ConstTensorView,
          detail::OutputOf<typename T::code_type> Out = TensorView<typename T::code_type>,
          Option... O>
void cast_to(const X& x, Out&& out, const E&, const O&... options) {
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::cast_to: the output is a temporary: give it a name first");
  const auto in = detail::read(x);
  auto to = detail::output<typename T::code_type>(std::forward<Out>(out));
  detail::require_cast_output("tq::cast_to", to, in.view().shape());
  detail::for_each_element(in.view(), to, detail::executor_of(options...),
                           [](auto value, auto& code, std::uint64_t) {
                             code = static_cast<typename T::code_type>(
                                 E::template code<detail::rule_scale>(static_cast<float>(value)));
                           });
}

namespace detail {
// Integers all of whose bit patterns are codes.
template <class T>
concept WholeInteger = IntegerElement<T> && std::int64_t {
  T::qmax
}
- T::qmin == (std::int64_t{1} << T::bits) - 1;

// The low bits of x without its fraction. From 2^62 on a float32 is a multiple of 2^39, so they are
// 0.
constexpr std::int64_t low_bits(float x, int bits) noexcept {
  const auto whole = x > -0x1p62f && x < 0x1p62f ? static_cast<std::int64_t>(x) : std::int64_t{0};
  return whole & ((std::int64_t{1} << bits) - 1);
}
inline std::int64_t low_bits(double x, int bits) noexcept {
  if (!std::isfinite(x)) return 0;
  const std::int64_t unit = std::int64_t{1} << bits;
  return static_cast<std::int64_t>(std::fmod(std::trunc(x), static_cast<double>(unit))) &
         (unit - 1);
}

template <WholeInteger T, Real In, Executor E>
void cast_integers_to(const TensorView<const In>& x, TensorView<typename T::code_type> out,
                      const E& executor) {
  require_cast_output("tq::cast_to", out, x.shape());
  constexpr std::int64_t sign = T::qmin < 0 ? std::int64_t{1} << (T::bits - 1) : 0;
  using Wide = std::conditional_t<std::same_as<In, double>, double, float>;
  for_each_element(x, out, executor, [](In value, auto& code, std::uint64_t) {
    code = static_cast<typename T::code_type>((low_bits(static_cast<Wide>(value), T::bits) ^ sign) -
                                              sign);
  });
}
}  // namespace detail

/// Writes every value as an integer: the fraction dropped, and of the rest the low bits, in two's
/// complement where T is signed, so that values beyond the codes wrap; NaN and infinities give 0. A
/// conversion, not a quantization, which would round and saturate. Source: ONNX Cast. Throws:
/// `errc::shape_mismatch` unless `out` has the shape of `x`, or is a span of x.size() codes.
template <detail::WholeInteger T, Readable X = ConstTensorView,
          detail::OutputOf<typename T::code_type> Out = TensorView<typename T::code_type>,
          Option... O>
void cast_to(const X& x, Out&& out, const O&... options) {
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::cast_to: the output is a temporary: give it a name first");
  detail::cast_integers_to<T>(detail::read(x).view(),
                              detail::output<typename T::code_type>(std::forward<Out>(out)),
                              detail::executor_of(options...));
}

/// The low bits of `x` as integers, row-major.
template <detail::WholeInteger T, Readable X = ConstTensorView, Option... O>
[[nodiscard]] std::vector<typename T::code_type> cast_to(const X& x, const O&... options) {
  const auto in = detail::read(x);
  std::vector<typename T::code_type> out(detail::require_extents("tq::cast_to", in.view().shape()));
  cast_to<T>(in.view(), out, options...);
  return out;
}

namespace detail {
template <Element T, Backend B, Real Out, Executor E>
void cast_values_from(const TensorView<const typename T::code_type>& codes, TensorView<Out> out,
                      const E& executor) {
  require_cast_output("tq::cast_from", out, codes.shape());
  const operation::Dequantize<T, Unpacked, Out> operation;
  sweep_tensor(kernel_for<B, driver::one_scale>(operation),
               {codes.data(), codes.strides(), out.data(), out.strides()}, codes.shape(),
               codes.shape(), {.scales = driver::ones<B>()}, executor);
}
}  // namespace detail

/// Writes the value of every code to the same place of `out`, a tensor of real numbers; that of an
/// integer is the code itself. Options: an executor, a backend. Throws: `errc::shape_mismatch`
/// unless `out` has the shape of `codes`, or is a span of codes.size() elements.
template <Element T,
          detail::InputOf<typename T::code_type> C = TensorView<const typename T::code_type>,
          detail::RealOutput Out = TensorView<float>, Option... O,
          Backend B = detail::backend_among<O...>>
void cast_from(const C& codes, Out&& out, const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::cast_from: the output is a temporary: give it a name first");
  const auto chosen = detail::choose<executor, backend>(options...);
  detail::cast_values_from<T, B>(detail::read_as<typename T::code_type>(codes).view(),
                                 detail::output<detail::real_output_t<Out>>(std::forward<Out>(out)),
                                 chosen.executor());
}

/// The values of `codes`, row-major.
template <Element T,
          detail::InputOf<typename T::code_type> C = TensorView<const typename T::code_type>,
          Option... O, Backend B = detail::backend_among<O...>>
[[nodiscard]] std::vector<float> cast_from(const C& codes, const O&... options) {
  const auto in = detail::read_as<typename T::code_type>(codes);
  std::vector<float> out(detail::require_extents("tq::cast_from", in.view().shape()));
  cast_from<T>(in.view(), out, options...);
  return out;
}
template <Element T, Backend B, class... Args>
[[deprecated("tq::cast_from: pass tq::on<B> as an option")]] auto cast_from(Args&&... args) {
  return tq::cast_from<T>(std::forward<Args>(args)..., on<B>);
}

}  // namespace tq
