// SPDX-License-Identifier: MIT
#pragma once
// The kernels for codes whose element type is known at run time only. Types with the same codes in
// memory, and numerics that make the same codes, share theirs.

#include <tq/core/element.hpp>
#include <tq/core/scales.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/backend.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/visit.hpp>
#include <tq/ops/dequantize.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::detail {

// Codes are `code_type` of the element in memory.
using QuantizeCodes = void (*)(const float* x, std::byte* codes, const kernels::Span& span,
                               kernels::Codes range, std::uint64_t index);

template <Backend B, class Code, NumericsPolicy N>
void quantize_integers(const float* x, std::byte* codes, const kernels::Span& span,
                       kernels::Codes range, std::uint64_t index) {
  B::template quantize<Code, N>::run(x, reinterpret_cast<Code*>(codes), span, range, N{}, index,
                                     std::false_type{});
}
template <Backend B, ValueFormat F, NumericsPolicy N>
void quantize_values(const float* x, std::byte* codes, const kernels::Span& span, kernels::Codes,
                     std::uint64_t index) {
  B::template encode<F, N>::run(x, reinterpret_cast<kernels::format_code<F>*>(codes), span, N{},
                                index, std::false_type{});
}
// Precondition: a scheme that `validate_encoding` accepts.
template <class Types, Backend B>
[[nodiscard]] QuantizeCodes quantize_kernel(const QuantSpec& spec) {
  using shift = Numerics<NearestEven, PowerOfTwo>;  // where scales are powers of two
  using multiply = Numerics<NearestEven, Reciprocal>;
  using divide = Numerics<NearestEven, Divide>;
  return with_name<QuantizeCodes>(
      spec.type, Types{}, [&]<class T>(std::type_identity<T>) -> QuantizeCodes {
        if constexpr (CodedElement<T>) {
          using F = typename T::format;
          using second = std::conditional_t<is_grid<T>, shift, multiply>;
          const bool divides = is_grid<T> ? spec.scale_type != float8_e8m0fnu::name : !multiplies(spec);
          return divides ? &quantize_values<B, F, divide> : &quantize_values<B, F, second>;
        } else {
          using Code = typename T::code_type;
          return multiplies(spec) ? &quantize_integers<B, Code, multiply>
                                  : &quantize_integers<B, Code, divide>;
        }
      });
}

// From codes that have whole bytes each to float32.
template <class Types, Backend B>
[[nodiscard]] const driver::Kernel<typename B::arch>& dequantize_kernel_of(const QuantSpec& spec) {
  using Kernel = driver::Kernel<typename B::arch>;
  return *with_name<const Kernel*>(spec.type, Types{}, []<class T>(std::type_identity<T>) -> const Kernel* {
    return &dequantize_kernel<typename B::arch, T, float>;
  });
}

}  // namespace tq::detail
