// SPDX-License-Identifier: MIT
#pragma once
// Which kernel makes real numbers of codes: the source by type and packing, the stage by type, the
// sink by what is written.

#include <tq/core/element.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/real.hpp>
#include <tq/driver/loops.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/dequantize_offset.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/pack_ternary.hpp>
#include <tq/kernels/values.hpp>

#include <cstddef>
#include <type_traits>

namespace tq::detail {

template <Real T>
struct sink_of {
  using type = kernels::ToFloats<T>;
};
template <Real T>
requires requires { typename real_format<T>::type; }
struct sink_of<T> {
  using type = kernels::ToHalves<typename real_format<T>::type>;
};

// Sources of the codes of a type: one in a code_type each, or packed.
template <Element T, Packing Pack,
          bool Unpacked = is_unpacked<Pack, T> || Pack::order == BitOrder::digits>
struct code_source {
  using type = kernels::IntegerCodes<typename T::code_type>;
};
template <CodedElement T, Packing Pack>
struct code_source<T, Pack, true> {
  using type = kernels::Values<typename T::format>;
};
template <Element T, Packing Pack>
struct code_source<T, Pack, false> {
  using type =
      kernels::PackedCodes<typename T::code_type, T::bits, Pack::order == BitOrder::low_first>;
};
template <CodedElement T, Packing Pack>
struct code_source<T, Pack, false> {
  using type = kernels::PackedValues<typename T::format, Pack::order == BitOrder::low_first>;
};

template <Element T>
using dequantizing =
    std::conditional_t<CodedElement<T>, kernels::Scaled,
                       std::conditional_t<(sizeof(typename T::code_type) > 2),
                                          kernels::DequantizeWide, kernels::Dequantize>>;

// The kernel for codes of T.
template <class Arch, Element T, Real Out, Packing Pack = Unpacked, class Stage = dequantizing<T>>
inline constexpr const driver::Kernel<Arch>& dequantize_kernel =
    driver::kernel<Arch, typename code_source<T, Pack>::type, Stage, typename sink_of<Out>::type>;

// Several codes in a byte of digits have no bits of their own: they are always unpacked.
template <class Arch, Element T, Real Out, Packing Pack, class Stage>
requires(Pack::order == BitOrder::digits) inline constexpr driver::Kernel<Arch> digits_kernel = [] {
  driver::Kernel<Arch> k = dequantize_kernel<Arch, T, Out, Unpacked, Stage>;
  k.loose = &dequantize_kernel<Arch, T, Out, Unpacked, Stage>;
  k.source_bits = 0;
  k.unpack = [](const unsigned char* in, std::size_t first, std::size_t n,
                unsigned char* out) noexcept {
    kernels::five_in_byte<Arch>::unpack_from(in, first, n,
                                             reinterpret_cast<typename T::code_type*>(out));
  };
  return k;
}();
template <class Arch, Element T, Real Out, Packing Pack, class Stage>
requires(Pack::order == BitOrder::digits) inline constexpr const
    driver::Kernel<Arch>& dequantize_kernel<Arch, T, Out, Pack, Stage> =
        digits_kernel<Arch, T, Out, Pack, Stage>;

// The stage that makes real numbers of codes under Params.
template <AnyParams Params>
using dequantizing_by = std::conditional_t<OffsetParams<Params>, kernels::DequantizeOffset,
                                           dequantizing<typename Params::type>>;

}  // namespace tq::detail
