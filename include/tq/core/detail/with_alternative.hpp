// SPDX-License-Identifier: MIT
#pragma once
// with_alternative: std::visit of one variant without its tables of functions, which take several
// times as long to compile.

#include <tq/config.hpp>

#include <cstddef>
#include <type_traits>
#include <variant>

namespace tq::detail {

// Calls f(alternative) for the alternative that `variant` holds, and returns what it returns, of
// the same type for all. Throws: as std::visit.
template <std::size_t I = 0, class Variant, class F>
constexpr decltype(auto) with_alternative(Variant& variant, F&& f) {
  if constexpr (I + 1 < std::variant_size_v<std::remove_const_t<Variant>>)
    if (variant.index() != I) return with_alternative<I + 1>(variant, f);
  return f(std::get<I>(variant));
}

}  // namespace tq::detail
