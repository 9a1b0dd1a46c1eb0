// SPDX-License-Identifier: MIT
#pragma once
// Which kernel makes codes of real numbers: the source by what is read, the stage by type and
// numerics, the sink by packing.

#include <tq/kernels/encode.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/quantize_offset.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/ops/backend/kernel_of.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/backend/real_source.hpp>

namespace tq::detail {

// The stage and the sink of codes of T.
template <Element T, Packing Pack, NumericsPolicy N>
struct code_writing {
  using stage = kernels::Quantize<typename T::code_type, N>;
  using sink = typename kernels::to_codes<bits_in_memory<T, Pack>,
                                          Pack::order != BitOrder::high_first>::type;
};
template <CodedElement T, Packing Pack, NumericsPolicy N>
  requires RoundsBy<typename T::format, typename N::rounding_type>
struct code_writing<T, Pack, N> : kernels::encoding<typename T::format, N, bits_in_memory<T, Pack>,
                                                    Pack::order != BitOrder::high_first> {};

template <Real In, Element T, Packing Pack, NumericsPolicy N>
struct kernel_of<operation::Quantize<In, T, Pack, N>> {
  using writing = code_writing<T, Pack, N>;
  using type = driver::Policies<typename source_of<In>::type, typename writing::stage,
                                typename writing::sink>;
};

template <Real In, Element T, Packing Pack, NumericsPolicy N>
struct kernel_of<operation::QuantizeOffset<In, T, Pack, N>> {
  using type = driver::Policies<typename source_of<In>::type,
                                kernels::QuantizeOffset<typename T::code_type, N>,
                                typename code_writing<T, Pack, N>::sink>;
};

}  // namespace tq::detail
