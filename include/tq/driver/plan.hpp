// SPDX-License-Identifier: MIT
#pragma once
// Plan: how a sweep goes over its rows.

#include <tq/driver/known_parameters.hpp>
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

/// The span of a sweep, with rows joined wherever memory and parameters allow it, and the form of
/// its parameters.
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
// The form of groups of whole bytes, and the largest grain that divides them where it is one.
struct FormOfGroups {
  Form form = Form::constant;
  std::size_t grain = 0;
};
template <class Arch>
constexpr FormOfGroups form_of(std::size_t group) noexcept {
  if (are_rows<Arch>(group)) return {};
  std::size_t grain = block<Arch>;
  while (grain >= least_grain<Arch> && group % grain != 0) grain /= 2;
  if (grain < least_grain<Arch>) return {Form::per_lane};
  return {Form::per_grain, grain};
}
}  // namespace detail

/// Whether loops for a form are needed where so much is known. Rows that are shorter than their
/// group are taken by lanes where groups have another form.
template <class Arch>
constexpr bool is_needed(const KnownParameters& known, Form form, std::size_t grain = 0) noexcept {
  if (known.is_one) return form == Form::constant;
  if (known.group == 0 || form == Form::per_lane) return true;
  const detail::FormOfGroups needed = detail::form_of<Arch>(known.group);
  return form == needed.form && grain == needed.grain;
}

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
  if (p.group != whole_row) {
    const detail::FormOfGroups groups = detail::form_of<Arch>(p.group);
    const bool cuts_bytes = groups.form == Form::constant && p.group % unit != 0;
    plan.form = cuts_bytes ? Form::per_lane : groups.form;
    plan.grain = groups.grain;
  }
  plan.rows_share = span.count == 1 || p.row_step == 0;
  if (plan.form == Form::per_lane && dense && span.count > 1 && plan.rows_share &&
      span.length < block<Arch>)
    plan.joined_rows = 16 * block<Arch> / span.length;
  return plan;
}

}  // namespace tq::driver
