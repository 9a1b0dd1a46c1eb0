// SPDX-License-Identifier: MIT
#pragma once
// Readable and Writable: the tensors that operations take.

#include <tq/core/detail/tensor_kind.hpp>
#include <tq/core/real.hpp>
#include <tq/core/tensor_view.hpp>

#include <concepts>
#include <type_traits>

namespace tq {

/// The type of the elements of a tensor, const where they are; void for other types.
template <class X>
using element_of = typename detail::element<std::remove_reference_t<X>>::type;

/// A tensor of real numbers that operations read: everything that `tq::as_tensor` takes, and Eigen
/// expressions, which are evaluated first. Elements of float32 are read as they are; those of
/// other types count as float32: halves widen exactly, float64 is rounded once, to nearest even,
/// and a magnitude beyond float32 becomes infinite.
template <class X>
concept Readable = Real<std::remove_const_t<element_of<const std::remove_reference_t<X>>>>;

/// The type of the real numbers of `X`.
template <Readable X>
using real_of = std::remove_const_t<element_of<const std::remove_reference_t<X>>>;

namespace detail {
// A temporary that owns its elements.
template <class X>
inline constexpr bool is_temporary_owner = [] {
  if constexpr (std::is_lvalue_reference_v<X> ||
                tensor_kind<std::remove_reference_t<X>> == TensorKind::none)
    return false;
  else return is_owner<std::remove_reference_t<X>>();
}();

// The argument for a forwarding reference `Out&&` whose elements are of type T: what overloads ask.
// Whether it is a temporary is asked in their bodies, which say so.
template <class Out, class T>
concept OutputOf = std::same_as<element_of<Out>, T> || std::convertible_to<Out, TensorView<T>>;

// The argument for a tensor of elements T that is read.
template <class X, class T>
concept InputOf = std::same_as<std::remove_const_t<element_of<const X>>, T> ||
                  std::convertible_to<const X&, TensorView<const T>>;
}  // namespace detail

/// A tensor that operations write elements of type T to: a named object, or a view of one, such as
/// a span. `X` is a type as a forwarding reference has it: `std::vector<float>&` is writable, a
/// temporary `std::vector<float>` is not.
template <class X, class T>
concept Writable = detail::OutputOf<X, T> && !detail::is_temporary_owner<X>;

}  // namespace tq
