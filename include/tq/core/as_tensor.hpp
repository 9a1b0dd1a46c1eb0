// SPDX-License-Identifier: MIT
#pragma once
// as_tensor: a view of anything that lies in memory as a tensor does.

#include <tq/config.hpp>
#include <tq/core/detail/tensor_kind.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>

#include <type_traits>
#include <utility>

namespace tq {

namespace detail {

template <class X>
struct NotATensor {};

inline void require_flat(bool is_contiguous, const Shape& got, const Shape& shape) {
  static_cast<void>(require_extents("tq::as_tensor", shape));
  if (!is_contiguous)
    raise_expected(errc::not_contiguous, "tq::as_tensor",
                   {"contiguous elements for shape ", shape.extents()},
                   {"a strided tensor of shape ", got.extents()});
  if (got.size() != shape.size())
    raise_expected(errc::shape_mismatch, "tq::as_tensor",
                   {shape.size(), " elements for shape ", shape.extents()},
                   {"shape ", got.extents()});
}

template <class T>
[[nodiscard]] constexpr TensorView<T> with_shape(const TensorView<T>& x, const Shape& shape) {
  require_flat(x.is_contiguous(), x.shape(), shape);
  return {x.data(), shape};
}
template <class X>
[[nodiscard]] constexpr NotATensor<X> with_shape(const NotATensor<X>& x, const Shape&) {
  return x;
}

// An object that owns its elements, and is no expression.
template <class X>
concept NamedOwner = tensor_kind<X> != TensorKind::none && !NeedsHold<X> && is_owner<X>();

struct as_tensor_fn {
  /// A view of the elements of `x`, with their type and its shape. `x` must outlive the view: a
  /// temporary that owns its elements does not compile. A tensor is, in this order,
  ///
  /// - a `TensorView`;
  /// - an object for which argument-dependent lookup finds `tq_as_tensor(x)`, which returns a
  ///   `TensorView`: one function in the namespace of your tensor type;
  /// - an object with a specialization of `tq::tensor_adapter` (Eigen, OpenCV);
  /// - a `std::mdspan`, or another class with its members, with an accessor that gives pointers;
  /// - an object with the members `data()`, `shape()` and `strides()`, in elements, as xtensor has;
  /// - a contiguous range. Arrays inside it are further axes: `float[2][3]` and
  ///   `std::vector<std::array<float, 3>>` have two.
  /// - an object that converts to a view of float32.
  ///
  /// Throws: `errc::rank_too_large` for more than 8 axes; `errc::bad_argument` for extents that are
  /// negative or that memory cannot hold; what the functions of other libraries throw.
  template <class X>
  [[nodiscard]] constexpr auto operator()(X&& x) const {
    using Object = std::remove_reference_t<X>;
    constexpr bool is_tensor = tensor_kind<Object> != TensorKind::none,
                   has_memory = !NeedsHold<Object>;
    static_assert(
        is_tensor,
        "tq::as_tensor: this type is no tensor: give it a function tq_as_tensor(x) in its "
        "own namespace, or a specialization of tq::tensor_adapter");
    static_assert(has_memory,
                  "tq::as_tensor: this expression has no elements in memory: evaluate it first "
                  "(Eigen: .eval())");
    static_assert(!has_memory || !is_temporary_owner<X>,
                  "tq::as_tensor: the view would outlive this temporary: give it a name first");
    if constexpr (is_tensor && has_memory) return view_of(x);
    else return NotATensor<Object>{};
  }
  // The same of an object that owns its elements: compilers that know the attribute warn where the
  // view outlives it.
  template <NamedOwner X>
  [[nodiscard]] constexpr auto operator()(X& x TQ_LIFETIMEBOUND) const {
    return view_of(x);
  }
  /// The elements of a contiguous tensor `x`, of any shape, as one of `shape`. Throws: as above;
  /// `errc::shape_mismatch` for another number of elements; `errc::not_contiguous` for a strided
  /// tensor; `errc::bad_argument` where memory cannot hold `shape`.
  template <class X>
    requires(!std::is_pointer_v<std::remove_reference_t<X>>)
  [[nodiscard]] constexpr auto operator()(X&& x, const Shape& shape) const {
    return with_shape((*this)(std::forward<X>(x)), shape);
  }
  template <NamedOwner X>
  [[nodiscard]] constexpr auto operator()(X& x TQ_LIFETIMEBOUND, const Shape& shape) const {
    return with_shape(view_of(x), shape);
  }
  /// The elements at `data` as a dense row-major tensor of `shape`. Throws: `errc::bad_argument`
  /// where memory cannot hold `shape`.
  template <class T>
  [[nodiscard]] constexpr TensorView<T> operator()(T* data, const Shape& shape) const {
    static_cast<void>(require_extents("tq::as_tensor", shape));
    return {data, shape};
  }
};

}  // namespace detail

/// Views of tensors of any kind: see `detail::as_tensor_fn`.
inline constexpr detail::as_tensor_fn as_tensor{};

}  // namespace tq
