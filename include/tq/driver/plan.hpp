// SPDX-License-Identifier: MIT
#pragma once
// Plan: how a sweep goes over its rows.

#include <tq/driver/span.hpp>
#include <tq/driver/table.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::driver {

/// How a loop meets its parameters.
enum class Form : std::uint8_t {
  constant,   ///< one for a row, for all, or for a long group
  per_grain,  ///< one for a few grains: blocks, halves or quarters of them
  per_lane,   ///< everything else
};

/// What is swept, with rows joined wherever memory and parameters allow it, and the form of its
/// parameters.
struct Plan {
  Span span;
  Parameters params;
  Form form = Form::constant;
  std::size_t grain =
      0;  ///< elements that surely share a parameter, where there is one `per_grain`
  bool rows_share = false;  ///< every row has the same parameters
  std::size_t joined_rows =
      1;  ///< how many rows, which are short then, a table repeats its entries for
};

namespace detail {
// Rows that follow one another in source and target become one where their parameters go on as
// those of groups.
template <class Arch>
constexpr void join_rows(Span& span, Parameters& p) noexcept {
  const auto length = static_cast<std::ptrdiff_t>(span.length);
  if (span.count == 1 || span.source_stride != length || span.target_stride != length) return;
  const bool is_stretch = p.group == whole_row;
  const bool is_short = span.length < 16 * block<Arch> &&
                        (span.length < block<Arch> || span.length % block<Arch> == 0);
  if (is_stretch && p.row_step == 0) {
  } else if (is_stretch && is_short) {
    p.group = span.length;
    p.step = p.row_step;
  } else if (is_stretch || span.length % p.group != 0 ||
             p.row_step != span.length / p.group * p.step) {
    return;
  }
  span.length *= span.count;
  span.count = 1;
}

// Whether groups of whole bytes are taken one by one, as rows: those that are longer than a block
// and end with one that begins within the block before.
template <class Arch>
constexpr bool are_rows(std::size_t group) noexcept {
  return group >= 16 * block<Arch> || (group > block<Arch> && group % block<Arch> != 0);
}
// The largest grain that divides groups, or less than the least one.
template <class Arch>
constexpr std::size_t grain_of(std::size_t group) noexcept {
  std::size_t grain = block<Arch>;
  while (grain >= least_grain<Arch> && group % grain != 0) grain /= 2;
  return grain;
}
}  // namespace detail

/// The plan where `unit` elements fill whole bytes; rows are joined only if it `joins` them.
/// Everything that depends on the shape is decided here, once.
template <class Arch>
constexpr Plan plan_for(Span span, Parameters p, std::size_t unit, bool joins = true) noexcept {
  if (p.group >= span.length) p.group = whole_row;
  const auto length = static_cast<std::ptrdiff_t>(span.length);
  const bool dense =
      joins && span.count > 1 && span.source_stride == length && span.target_stride == length;
  if (joins) detail::join_rows<Arch>(span, p);
  Plan plan{span, p};
  if (p.group != whole_row && (p.group % unit != 0 || !detail::are_rows<Arch>(p.group))) {
    plan.grain = detail::grain_of<Arch>(p.group);
    plan.form = plan.grain >= least_grain<Arch> ? Form::per_grain : Form::per_lane;
  }
  plan.rows_share = span.count == 1 || p.row_step == 0;
  if (plan.form == Form::per_lane && dense && span.count > 1 && plan.rows_share &&
      span.length < block<Arch>)
    plan.joined_rows = 16 * block<Arch> / span.length;
  return plan;
}

}  // namespace tq::driver
