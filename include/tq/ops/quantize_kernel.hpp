// SPDX-License-Identifier: MIT
#pragma once
// Which kernel makes codes of real numbers: the source by what is read, the stage by type and
// numerics, the sink by packing.

#include <tq/core/element.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/real.hpp>
#include <tq/driver/loops.hpp>
#include <tq/kernels/encode.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/quantize_offset.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/ops/real_source.hpp>

#include <concepts>
#include <type_traits>

namespace tq::detail {

// Of numerics what codes of Params depend on, so that others share their kernels. Dividing by
// powers of two is multiplying.
template <AnyParams Params, NumericsPolicy N>
struct numerics_for {
  static constexpr bool is_coded = CodedParams<Params>,
                        is_wide = sizeof(typename Params::code_type) > 2;
  using scaling =
      std::conditional_t<is_coded && std::same_as<typename Params::scale_type, float8_e8m0fnu>,
                         PowerOfTwo, typename N::scaling_type>;
  using nan = std::conditional_t<std::same_as<typename N::nan_type, NanToMin>, NanToMin, NanToZero>;
  using basic = Numerics<typename N::rounding_type, scaling>;
  using type = Numerics<
      typename N::rounding_type, scaling,
      std::conditional_t<is_coded, typename basic::nan_type, nan>, typename basic::degenerate_type,
      std::conditional_t<is_coded, typename N::overflow_type, typename basic::overflow_type>,
      typename basic::exponent_rule,
      std::conditional_t<is_wide, typename N::range_arithmetic, typename basic::range_arithmetic>>;
};

// Bits of a code in memory.
template <Element T, Packing Pack>
inline constexpr int bits_in_memory = is_unpacked<Pack, T>
                                          ? 8 * static_cast<int>(sizeof(typename T::code_type))
                                          : T::bits;

// The stage and the sink of codes of T.
template <Element T, Packing Pack, NumericsPolicy N>
struct quantizing {
  using stage = kernels::Quantize<typename T::code_type, N>;
  using sink = typename kernels::to_codes<bits_in_memory<T, Pack>,
                                          Pack::order != BitOrder::high_first>::type;
};
template <CodedElement T, Packing Pack, NumericsPolicy N>
requires RoundsBy<typename T::format, typename N::rounding_type>
struct quantizing<T, Pack, N> : kernels::encoding<typename T::format, N, bits_in_memory<T, Pack>,
                                                  Pack::order != BitOrder::high_first> {
};

// The kernel for codes of T.
template <class Arch, Real In, Element T, Packing Pack, NumericsPolicy N,
          class Stage = typename quantizing<T, Pack, N>::stage>
inline constexpr const driver::Kernel<Arch>& quantize_kernel =
    driver::kernel<Arch, typename source_of<In>::type, Stage,
                   typename quantizing<T, Pack, N>::sink>;

// Its stage, with the codes in use.
template <Element T, Packing Pack, NumericsPolicy N,
          class Stage = typename quantizing<T, Pack, N>::stage>
[[nodiscard]] constexpr auto quantize_stage(kernels::Codes range, const N& numerics) noexcept {
  if constexpr (IntegerElement<T>) return Stage{range, numerics};
  else if constexpr (requires { Stage{numerics}; }) return Stage{numerics};
  else return Stage{};
}

// The stage that makes codes under Params.
template <AnyParams Params, Packing Pack, NumericsPolicy N>
struct quantizing_by {
  using stage = typename quantizing<typename Params::type, Pack, N>::stage;
};
template <OffsetParams Params, Packing Pack, NumericsPolicy N>
struct quantizing_by<Params, Pack, N> {
  using stage = kernels::QuantizeOffset<typename Params::code_type, N>;
};

}  // namespace tq::detail
