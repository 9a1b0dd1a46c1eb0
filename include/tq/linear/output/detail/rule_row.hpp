// SPDX-License-Identifier: MIT
#pragma once
// rule_row: a row of sums through a rule, by the lanes of an instruction set or by the kernel
// library.

#include <tq/linear/detail/library_products.hpp>
#include <tq/linear/output/detail/code_limits.hpp>
#include <tq/linear/output/detail/rule_lanes.hpp>
#include <tq/linear/output/requantizer.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::detail {

// Makes codes of `n` sums by the rule R. False, and nothing is written, where no lanes have it.
template <class Arch, class R, class Code>
[[nodiscard]] bool rule_row(const CodeLimits& limits, const RuleNumbers<R>& numbers,
                            const std::int32_t* sums, Code* out, std::size_t n) noexcept {
  using Rule = library_rule<R>;
  if constexpr (is_library<Arch> && !std::is_void_v<Rule>) {
    const auto rows = library_rows<Rule, Code>();
    if (rows == nullptr) return false;
    rows(limits, {numbers.factors, numbers.bias, numbers.one_factor, numbers.one_bias}, sums, out,
         n);
    return true;
  } else if constexpr (is_library<Arch>) {
    return false;
  } else if constexpr (LaneRequantizer<R, Arch>) {
    rule_lanes<Arch, R>(limits, numbers, sums, out, n);
    return true;
  } else {
    return false;
  }
}

}  // namespace tq::detail
