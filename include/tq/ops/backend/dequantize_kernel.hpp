// SPDX-License-Identifier: MIT
#pragma once
// Which kernel makes real numbers of codes: the source by type and packing, the stage by type, the
// sink by what is written.

#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/dequantize_offset.hpp>
#include <tq/kernels/values.hpp>
#include <tq/ops/backend/kernel_of.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/backend/real_source.hpp>

#include <cstddef>
#include <type_traits>

namespace tq::detail {

// Sources of the codes of a type: one in a code_type each, or packed.
template <Element T, Packing Pack, bool Unpacked = is_unpacked<Pack, T>>
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
template <Element T, Packing Pack>
  requires(Pack::order == BitOrder::digits)
struct code_source<T, Pack, false> {
  using type = kernels::FiveInByte;
};
template <CodedElement T, Packing Pack>
struct code_source<T, Pack, false> {
  using type = kernels::PackedValues<typename T::format, Pack::order == BitOrder::low_first>;
};

template <Element T, Packing Pack, Real Out, class Stage>
using code_reading =
    driver::Policies<typename code_source<T, Pack>::type, Stage, typename sink_of<Out>::type>;

template <Element T, Packing Pack, Real Out>
struct kernel_of<operation::Dequantize<T, Pack, Out>> {
  using Stage =
      std::conditional_t<CodedElement<T>, kernels::Scaled,
                         std::conditional_t<(sizeof(typename T::code_type) > 2),
                                            kernels::DequantizeWide, kernels::Dequantize>>;
  using type = code_reading<T, Pack, Out, Stage>;
};

template <Element T, Packing Pack, Real Out>
struct kernel_of<operation::DequantizeOffset<T, Pack, Out>> {
  using type = code_reading<T, Pack, Out, kernels::DequantizeOffset>;
};

template <class Format>
struct kernel_of<operation::Decode<Format>> {
  using type = driver::Policies<kernels::Values<Format>, kernels::Scaled, kernels::ToFloats<float>>;
};

}  // namespace tq::detail
