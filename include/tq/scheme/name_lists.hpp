// SPDX-License-Identifier: MIT
#pragma once
// The names that the members of a QuantSpec may have, for help texts and checks.

#include <tq/core/element_lists.hpp>
#include <tq/scheme/type_list.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// Names of element types.
template <class Types = all_elements>
[[nodiscard]] std::vector<std::string> type_names() {
  return detail::names_of(Types{});
}
/// Names of ways to store scales.
template <class ScaleTypes = all_scales>
[[nodiscard]] std::vector<std::string> scale_type_names() {
  return detail::names_of(ScaleTypes{});
}
[[nodiscard]] inline std::vector<std::string> granularity_names() {
  return detail::names_of(detail::all_granularities{});
}
[[nodiscard]] inline std::vector<std::string> symmetry_names() {
  return detail::names_of(detail::all_symmetries{});
}
[[nodiscard]] inline std::vector<std::string> numerics_names() {
  return detail::names_of(detail::all_numerics{});
}
/// Names of origins of the ranges in a `QuantSpec`.
[[nodiscard]] inline std::vector<std::string> spec_calibrator_names() {
  return detail::names_of(detail::all_calibrators{});
}

/// True for the name of an element type.
template <class Types = all_elements>
[[nodiscard]] constexpr bool is_type_name(std::string_view name) noexcept {
  return detail::has_name(Types{}, name);
}
/// True for the name of a granularity.
[[nodiscard]] constexpr bool is_granularity_name(std::string_view name) noexcept {
  return detail::has_name(detail::all_granularities{}, name);
}

}  // namespace tq
