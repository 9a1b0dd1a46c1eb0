// SPDX-License-Identifier: MIT
#pragma once
// Which kernel makes real numbers of others.

#include <tq/kernels/float64.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/ops/backend/kernel_of.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/backend/real_source.hpp>

#include <concepts>
#include <type_traits>

namespace tq::detail {

template <Real In, Real Out>
struct kernel_of<operation::Copy<In, Out>> {
  // Float64 on its way to 16 bits is rounded once in all.
  using Source = std::conditional_t<std::same_as<In, double> && sizeof(Out) == 2,
                                    kernels::Float64Odd, typename source_of<In>::type>;
  using type = driver::Policies<Source, kernels::Same, typename sink_of<Out>::type>;
};

}  // namespace tq::detail
