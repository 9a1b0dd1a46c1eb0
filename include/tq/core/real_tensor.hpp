// SPDX-License-Identifier: MIT
#pragma once
// RealTensor: what operations take that read real numbers of any type.

#include <tq/core/real.hpp>
#include <tq/core/tensor_view.hpp>

#include <concepts>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace tq {

namespace detail {

template <class X>
using element_of_range = std::remove_cvref_t<decltype(*std::data(std::declval<const X&>()))>;

/// A span, vector, array or other contiguous range.
template <class X>
concept SpanLike = std::constructible_from < std::span<const element_of_range<X>>,
const X& > ;

/// The type of the elements, as a specialization has it.
template <class X>
struct tensor_element {};
template <class T>
struct tensor_element<TensorView<T>> {
  using type = std::remove_const_t<T>;
};
template <SpanLike X>
struct tensor_element<X> {
  using type = element_of_range<X>;
};

}  // namespace detail

/// A view of a `Real`, or a span, vector or other contiguous range, which is a tensor of rank 1.
template <class X>
concept RealTensor = Real<typename detail::tensor_element<X>::type>;

/// What its elements are.
template <RealTensor X>
using real_of = typename detail::tensor_element<X>::type;

/// One of float64 or of 16 bits: halves widen exactly, float64 is rounded to float32 once, to
/// nearest even, and what is beyond float32 becomes infinite. What takes `ConstTensorView` may have
/// overloads of its own for it.
template <class X>
concept OtherRealTensor = RealTensor<X> && !std::same_as<real_of<X>, float>;

/// A `RealTensor`, or anything that is no range and converts to a view of float32.
template <class X>
concept TensorSource = RealTensor<X> ||
    (!detail::SpanLike<X> && std::convertible_to<const X&, ConstTensorView>);

namespace detail {
template <TensorSource X>
[[nodiscard]] auto view_of(const X& x) {
  if constexpr (RealTensor<X>) return TensorView<const real_of<X>>(x);
  else return ConstTensorView(x);
}
// A view is not copied: where it was just made, a copy waits until all of it is written.
template <Real T>
[[nodiscard]] const TensorView<const T>& view_of(const TensorView<const T>& x) noexcept {
  return x;
}
}  // namespace detail

}  // namespace tq
