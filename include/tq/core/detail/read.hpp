// SPDX-License-Identifier: MIT
#pragma once
// read: a view of whatever an operation reads. output: a view of whatever it writes to.

#include <tq/core/readable.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq::detail {

template <class T>
struct ReadView {
  TensorView<const T> value;
  [[nodiscard]] constexpr const TensorView<const T>& view() const noexcept { return value; }
};
// The value of an expression.
template <class Held>
struct ReadHeld {
  Held held;
  [[nodiscard]] auto view() const {
    return TensorView<const std::remove_const_t<element_of<const Held>>>(view_of(held));
  }
};
// The caller's view. It is not copied: where it was just made, a copy waits until all of it is
// written.
template <class T>
struct ReadInPlace {
  const TensorView<const T>& value;
  [[nodiscard]] constexpr const TensorView<const T>& view() const noexcept { return value; }
};

/// The elements of a tensor, read as T; `x` must outlive the result.
template <class T, class X>
[[nodiscard]] constexpr auto read_as(const X& x) {
  if constexpr (std::same_as<X, TensorView<const T>>) return ReadInPlace<T>{x};
  else if constexpr (NeedsHold<X>)
    return ReadHeld<decltype(tensor_adapter<X>::hold(x))>{tensor_adapter<X>::hold(x)};
  else if constexpr (std::same_as<std::remove_const_t<element_of<const X>>, T>)
    return ReadView<T>{view_of(x)};
  else return ReadView<T>{x};
}
template <Readable X>
[[nodiscard]] constexpr auto read(const X& x) {
  return read_as<real_of<X>>(x);
}

/// A view of an output of elements T; `out` must outlive the result.
template <class T, class Out>
[[nodiscard]] constexpr decltype(auto) output(Out&& out) {
  if constexpr (std::same_as<std::remove_cvref_t<Out>, TensorView<T>>)
    return static_cast<const TensorView<T>&>(out);
  else if constexpr (std::same_as<element_of<Out>, T>) return view_of(out);
  else return TensorView<T>(std::forward<Out>(out));
}

// The elements of an output of real numbers: its own, or float where it converts to a view of them.
template <class Out>
struct real_output {
  using type = float;
};
template <class Out>
  requires Real<element_of<Out>>
struct real_output<Out> {
  using type = element_of<Out>;
};
template <class Out>
using real_output_t = typename real_output<Out>::type;
template <class Out>
concept RealOutput = OutputOf<Out, real_output_t<Out>>;

// True if the adapter of X makes new tensors of T.
template <class X, class T>
concept HasLike = requires(const X& x) { tensor_adapter<X>::template like<T>(x); };
// A new tensor of T for the result of an operation on `x`: of the kind that the adapter of `x`
// makes, or a vector.
template <class T, class X>
[[nodiscard]] auto new_like(const X& x, std::size_t size) {
  if constexpr (HasLike<X, T>) return tensor_adapter<X>::template like<T>(x);
  else return std::vector<T>(size);
}
template <class T, class Result>
[[nodiscard]] TensorView<T> view_like(Result& result, const Shape& shape) {
  if constexpr (std::same_as<Result, std::vector<T>>) return {result.data(), shape};
  else return view_of(result);
}

}  // namespace tq::detail
