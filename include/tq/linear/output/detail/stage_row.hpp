// SPDX-License-Identifier: MIT
#pragma once
// stage_row, rule_row: a part of a row of sums as values, by the lanes of an instruction set or by
// the kernel library.

#include <tq/driver/column_cursor.hpp>
#include <tq/kernels/requantize.hpp>
#include <tq/kernels/sums_row.hpp>
#include <tq/linear/detail/library_products.hpp>
#include <tq/linear/output/detail/rounded_lanes.hpp>
#include <tq/linear/output/requantize.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::detail {

// As `kernels::sums_row`.
template <class Arch, class Stage, class Out>
TQ_FORCE_INLINE void stage_row(
    const Stage& stage, const std::int32_t* sums, Out* out, std::size_t n,
    const std::array<driver::ColumnEntries, Stage::columns>& columns) noexcept {
  if constexpr (is_library<Arch>) library_sums_row(stage, sums, out, n, columns);
  else kernels::sums_row<Arch>(stage, sums, out, n, columns);
}

// Makes codes of `n` sums by the rule R. False, and nothing is written, where no lanes have it.
template <class Arch, class R, class Code>
[[nodiscard]] bool rule_row(const kernels::CodeLimits& limits, const RuleNumbers<R>& numbers,
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
    rounded_lanes<Arch, R>(limits, numbers, sums, out, n);
    return true;
  } else {
    return false;
  }
}

}  // namespace tq::detail
