// SPDX-License-Identifier: MIT
#pragma once
// cast: values to the codes of a type and back, without a scale.

#include <tq/core/float_elements.hpp>
#include <tq/core/scales.hpp>
#include <tq/numeric/exponent_format.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tq {

namespace detail {
// The NanRaises policy.
template <NumericsPolicy N>
void require_no_nan(const char* function, std::span<const double> x) {
  if constexpr (std::same_as<typename N::nan_type, NanRaises>)
    for (const double v : x)
      if (v != v)
        raise(errc::not_finite, std::string(function) + ": expected no NaN (NanRaises), got one");
}
}  // namespace detail

/// Writes the code of every value: rounded once, overflow by the numerics (`Saturate` by default).
/// Stochastic rounding draws by the position in `x`. Throws: `errc::shape_mismatch` unless `out`
/// has as many elements as `x`; `errc::not_finite` under `NanRaises`.
template <CodedElement T, Backend B = default_backend, NumericsPolicy N = numerics::onnx>
requires RoundsBy<typename T::format, typename N::rounding_type>
void cast_to(std::span<const float> x, std::span<typename T::code_type> out,
             const N& numerics = {}) {
  detail::require_size("tq::cast_to", "an output", x.size(), out.size());
  detail::require_no_nan<B, N>("tq::cast_to", ConstTensorView(x));
  using M = Numerics<typename N::rounding_type, PowerOfTwo, NanToZero, ScaleOne,
                     typename N::overflow_type>;
  const operation::Quantize<float, T, Unpacked, M> operation{{}, M{numerics.rounding}};
  const Shape shape{x.size()};
  const Strides strides = row_major_strides(shape);
  detail::sweep_tensor(detail::kernel_for<B, driver::one_scale>(operation),
                       {x.data(), strides, out.data(), strides}, shape, shape,
                       {.scales = driver::ones<B>()}, serial);
}

/// As above, from double with a single rounding.
template <CodedElement T, NumericsPolicy N = numerics::onnx>
requires RoundsBy<typename T::format, typename N::rounding_type>
void cast_to(std::span<const double> x, std::span<typename T::code_type> out,
             const N& numerics = {}) {
  detail::require_size("tq::cast_to", "an output", x.size(), out.size());
  detail::require_no_nan<N>("tq::cast_to", x);
  // Code books compare with exact means. The others change codes at numbers of few bits, on whose
  // side a float rounded to odd stays.
  constexpr bool compares = requires { T::format::means; };
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::conditional_t<compares, double, float> v;
    if constexpr (compares) v = x[i];
    else v = detail::to_odd(x[i]);
    out[i] = static_cast<typename T::code_type>(
        T::format::template encode<typename N::overflow_type>(v, numerics.rounding, i));
  }
}

/// The codes of `x`.
template <CodedElement T, Backend B = default_backend, NumericsPolicy N = numerics::onnx>
[[nodiscard]] std::vector<typename T::code_type> cast_to(std::span<const float> x,
                                                         const N& numerics = {}) {
  std::vector<typename T::code_type> out(x.size());
  cast_to<T, B>(x, std::span(out), numerics);
  return out;
}

/// Writes the power of two that an exponent rule gives every value. The sign is ignored, zero gives
/// the lowest code, NaN and infinity give NaN. Source: ONNX Cast, whose `round_mode` up, down,
/// nearest are `ExponentCeil`, `ExponentFloor`, `ExponentNearest`, each in `ExponentUnsaturated`
/// where `saturate` is 0. Throws: `errc::shape_mismatch` unless `out` has as many elements as `x`.
template <std::same_as<float8_e8m0fnu> T, ExponentRule E>
void cast_to(std::span<const float> x, std::span<typename T::code_type> out, const E&) {
  detail::require_size("tq::cast_to", "an output", x.size(), out.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] = static_cast<typename T::code_type>(E::template code<detail::rule_scale>(x[i]));
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
}  // namespace detail

/// Writes every value as an integer: the fraction dropped, and of what is left the low bits, in
/// two's complement where T is signed, so that values beyond the codes wrap; NaN and infinities
/// give 0. A conversion, not a quantization, which would round and saturate. Source: ONNX Cast.
/// Throws: `errc::shape_mismatch` unless `out` has as many elements as `x`.
template <detail::WholeInteger T>
void cast_to(std::span<const float> x, std::span<typename T::code_type> out) {
  detail::require_size("tq::cast_to", "an output", x.size(), out.size());
  constexpr std::int64_t sign = T::qmin < 0 ? std::int64_t{1} << (T::bits - 1) : 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] = static_cast<typename T::code_type>((detail::low_bits(x[i], T::bits) ^ sign) - sign);
}

/// The low bits of `x` as integers.
template <detail::WholeInteger T>
[[nodiscard]] std::vector<typename T::code_type> cast_to(std::span<const float> x) {
  std::vector<typename T::code_type> out(x.size());
  cast_to<T>(x, std::span(out));
  return out;
}

/// Writes the value of every code; that of an integer is the code itself.
/// Throws: `errc::shape_mismatch` unless `out` has as many elements as `codes`.
template <Element T, Backend B = default_backend>
void cast_from(std::span<const typename T::code_type> codes, std::span<float> out) {
  detail::require_size("tq::cast_from", "an output", codes.size(), out.size());
  const operation::Dequantize<T, Unpacked, float> operation;
  const Shape shape{codes.size()};
  const Strides strides = row_major_strides(shape);
  detail::sweep_tensor(detail::kernel_for<B, driver::one_scale>(operation),
                       {codes.data(), strides, out.data(), strides}, shape, shape,
                       {.scales = driver::ones<B>()}, serial);
}

/// The values of `codes`.
template <Element T, Backend B = default_backend>
[[nodiscard]] std::vector<float> cast_from(std::span<const typename T::code_type> codes) {
  std::vector<float> out(codes.size());
  cast_from<T, B>(codes, std::span(out));
  return out;
}

}  // namespace tq
