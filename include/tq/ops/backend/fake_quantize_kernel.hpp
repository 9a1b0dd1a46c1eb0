// SPDX-License-Identifier: MIT
#pragma once
// Which kernel makes of real numbers what they become by being quantized.

#include <tq/kernels/fake_quantize.hpp>
#include <tq/kernels/fake_quantize_offset.hpp>
#include <tq/ops/backend/kernel_of.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/backend/real_source.hpp>

namespace tq::detail {

template <Element T, NumericsPolicy N>
struct fake_stage {
  using type = kernels::FakeQuantize<typename T::code_type, N>;
};
template <CodedElement T, NumericsPolicy N>
  requires RoundsBy<typename T::format, typename N::rounding_type>
struct fake_stage<T, N> {
  using type = kernels::FakeEncode<typename T::format, N>;
};

template <Real In, Real Out, class Stage>
using real_changing =
    driver::Policies<typename source_of<In>::type, Stage, typename sink_of<Out>::type>;

template <Real In, Element T, Real Out, NumericsPolicy N>
struct kernel_of<operation::FakeQuantize<In, T, Out, N>> {
  using type = real_changing<In, Out, typename fake_stage<T, N>::type>;
};

template <Real In, Element T, Real Out, NumericsPolicy N>
struct kernel_of<operation::FakeQuantizeOffset<In, T, Out, N>> {
  using type = real_changing<In, Out, kernels::FakeQuantizeOffset<typename T::code_type, N>>;
};

}  // namespace tq::detail
