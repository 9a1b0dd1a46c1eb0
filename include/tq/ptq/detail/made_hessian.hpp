// SPDX-License-Identifier: MIT
#pragma once
// made_hessian: a Hessian whose mean products are computed, not summed over tokens.

#include <tq/ptq/detail/triangle.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/float_hessian.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace tq::detail {

/// A Hessian of as many inputs and tokens as `h`, whose mean products are value(i, j), i <= j.
template <HessianMatrix H, class Value>
[[nodiscard]] FloatHessian made_hessian(const H& h, const Value& value) {
  const std::size_t n = h.inputs();
  std::vector<double> sums;
  sums.reserve(Triangle(n).size());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j)
      sums.push_back(value(i, j) * static_cast<double>(h.tokens()));
  return FloatHessian::from_state({n, h.tokens(), h.left_out(), std::move(sums)});
}

}  // namespace tq::detail
