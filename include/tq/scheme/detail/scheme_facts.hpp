// SPDX-License-Identifier: MIT
#pragma once
// Facts of element types and symmetries as values. There is one table for a type, whatever lists of
// types it stands in, so that code which only asks for facts is not compiled for every list.

#include <tq/core/element.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/numeric/value_format.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/type_list.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace tq::detail {

// An element type under a symmetry.
struct SymmetryFacts {
  bool fits = false;  // the type can have the symmetry; else all else is left out
  bool has_zero_points = false;
  bool has_offsets = false;
  CodeRange codes{};
};

template <class T, class S>
[[nodiscard]] constexpr SymmetryFacts symmetry_facts() {
  if constexpr (SymmetryFor<S, T>)
    return {true, S::has_zero_point, OffsetSymmetry<S>, S::template codes<T>()};
  else return {};
}

template <class T, class... Symmetries>
[[nodiscard]] constexpr std::array<SymmetryFacts, sizeof...(Symmetries)> symmetries_of(
    TypeList<Symmetries...>) {
  return {symmetry_facts<T, Symmetries>()...};
}

// Small floats: their codes lie on a grid, which those of code books do not.
template <class T>
inline constexpr bool is_grid = false;
template <CodedElement T>
inline constexpr bool is_grid<T> = RoundsBy<typename T::format, Floor>;

// An element type.
struct TypeFacts {
  ElementKind kind;
  int bits;
  bool is_signed, has_grid;
  std::size_t (*packed_bytes)(std::size_t) noexcept;  // of `LowFirst`
  decltype(symmetries_of<uint8>(all_symmetries{})) symmetries;
};

template <class T>
inline constexpr TypeFacts facts_of{T::kind,
                                    T::bits,
                                    std::is_signed_v<typename T::code_type>,
                                    is_grid<T>,
                                    &LowFirst::bytes_for<T>,
                                    symmetries_of<T>(all_symmetries{})};

// Precondition: there is a type of that name.
template <class... Ts>
[[nodiscard]] const TypeFacts& find_facts(TypeList<Ts...> types, std::string_view name) noexcept {
  static constexpr std::array<const TypeFacts*, sizeof...(Ts)> all{&facts_of<Ts>...};
  return *all[position_of(types, name)];
}

[[noreturn]] inline void refuse_symmetry(const QuantSpec& spec) {
  raise_expected(errc::unsupported, "tq::visit", {"a symmetry that type ", spec.type, " can have"},
                 {in_quotes(spec.symmetry)});
}

// The element type and the symmetry of a spec.
struct SchemeFacts {
  const TypeFacts& type;
  const SymmetryFacts& symmetry;
};

// Throws: as `visit`.
template <class Types>
[[nodiscard]] SchemeFacts scheme_facts(const QuantSpec& spec) {
  require_known("tq::visit", "type", Types{}, spec.type);
  require_valid("tq::visit", spec);
  const TypeFacts& type = find_facts(Types{}, spec.type);
  const SymmetryFacts& symmetry = type.symmetries[position_of(all_symmetries{}, spec.symmetry)];
  if (!symmetry.fits) refuse_symmetry(spec);
  return {type, symmetry};
}

}  // namespace tq::detail
