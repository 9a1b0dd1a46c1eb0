// SPDX-License-Identifier: MIT
#pragma once
// require_axes: refuses a flat range where a granularity would give each value its own scale.

#include <tq/core/detail/tensor_kind.hpp>
#include <tq/core/granularity.hpp>

#include <iterator>
#include <type_traits>
#include <utility>

namespace tq::detail {

// A contiguous range of numbers, which has one axis.
template <class X>
inline constexpr bool is_flat_range = [] {
  if constexpr (tensor_kind<const X> == TensorKind::range)
    return nested<std::remove_cvref_t<decltype(*std::data(std::declval<const X&>()))>>::rank == 0;
  else return false;
}();

// A granularity that gives every element of its one axis a parameter.
template <class Gran>
inline constexpr bool is_single_of_flat = false;
template <>
inline constexpr bool is_single_of_flat<PerChannel<0>> = true;
template <>
inline constexpr bool is_single_of_flat<PerChannel<-1>> = true;

template <class X, class Gran>
constexpr void require_axes() noexcept {
  constexpr bool has_axes = !(is_flat_range<X> && is_single_of_flat<Gran>);
  static_assert(has_axes,
                "tq: a flat range has one axis, and this scheme would give each value its own "
                "scale: say the shape, as in tq::as_tensor(x, {rows, columns})");
}

}  // namespace tq::detail
