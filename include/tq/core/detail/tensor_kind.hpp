// SPDX-License-Identifier: MIT
#pragma once
// How a type is a tensor: found once for each type, and the view that follows from it.

#include <tq/core/tensor_adapter.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace tq::detail {

enum class TensorKind : std::uint8_t { none, view, adl, adapter, mdspan, strided, range, converts };

template <class X>
inline constexpr bool is_tensor_view = false;
template <class T>
inline constexpr bool is_tensor_view<TensorView<T>> = true;

// The element inside arrays of arrays, and their extents.
template <class T>
struct nested {
  using element = T;
  static constexpr int rank = 0;
  static constexpr std::size_t count = 1;
  static constexpr void extents(Shape&, int) noexcept {}
};
template <class T, std::size_t N>
struct nested<T[N]> {
  using element = typename nested<T>::element;
  static constexpr int rank = 1 + nested<T>::rank;
  static constexpr std::size_t count = N * nested<T>::count;
  static constexpr void extents(Shape& s, int axis) noexcept {
    s[axis] = N;
    nested<T>::extents(s, axis + 1);
  }
};
template <class T, std::size_t N>
struct nested<std::array<T, N>> : nested<T[N]> {};
template <class T>
struct nested<std::array<T, 0>> {
  using element = typename nested<T>::element;
  static constexpr int rank = 1 + nested<T>::rank;
  static constexpr std::size_t count = 0;
  static constexpr void extents(Shape& s, int axis) noexcept {
    s[axis] = 0;
    nested<T>::extents(s, axis + 1);
  }
};

// The name `tq_as_tensor`, so that argument-dependent lookup begins. A declaration without
// parameters would end it with g++ 11.
struct adl_only {};
void tq_as_tensor(const adl_only&);
template <class X>
concept HasAdl = requires(X& x) { tq_as_tensor(x); };
template <HasAdl X>
using adl_view = std::remove_cvref_t<decltype(tq_as_tensor(std::declval<X&>()))>;

template <class X>
concept HasAdapter = requires {
  { tensor_adapter<X>::owns } -> std::convertible_to<bool>;
};
// An expression without elements in memory.
template <class X>
concept NeedsHold = requires(const X& x) { tensor_adapter<std::remove_cv_t<X>>::hold(x); };

// std::mdspan and its predecessors.
template <class X>
concept MdspanLike = requires(const X& x) {
  typename X::extents_type;
  requires std::same_as<typename X::data_handle_type, typename X::element_type*>;
  x.data_handle();
  x.stride(0);
};

// xtensor and other libraries with these members. Strides are in elements.
template <class X>
concept StridedLike = requires(X& x) {
  requires std::is_pointer_v<decltype(x.data())>;
  *x.data();
  *x.shape().begin();
  x.shape().size();
  *x.strides().begin();
};

template <class X>
using row_of = std::remove_pointer_t<decltype(std::data(std::declval<X&>()))>;
// A span, vector, array or other contiguous range.
template <class X>
concept DataRange = std::constructible_from<std::span<row_of<X>>, X&>;

template <class X>
[[nodiscard]] consteval TensorKind find_tensor_kind() {
  using Plain = std::remove_cv_t<X>;
  if constexpr (is_tensor_view<Plain>) return TensorKind::view;
  else if constexpr (HasAdl<X>) return TensorKind::adl;
  else if constexpr (HasAdapter<Plain>) return TensorKind::adapter;
  else if constexpr (MdspanLike<Plain>) return TensorKind::mdspan;
  else if constexpr (StridedLike<X>) return TensorKind::strided;
  else if constexpr (DataRange<X>) return TensorKind::range;
  else if constexpr (std::convertible_to<const X&, ConstTensorView>) return TensorKind::converts;
  else return TensorKind::none;
}
/// `X` is without reference, perhaps const.
template <class X>
inline constexpr TensorKind tensor_kind = find_tensor_kind<X>();

// True if the elements may die with an object of this type. An object that converts to a view is
// taken for a view.
template <class X>
[[nodiscard]] consteval bool is_owner() {
  using Plain = std::remove_cv_t<X>;
  constexpr TensorKind kind = tensor_kind<X>;
  if constexpr (kind == TensorKind::view || kind == TensorKind::mdspan ||
                kind == TensorKind::converts)
    return false;
  else if constexpr (kind == TensorKind::adapter) return tensor_adapter<Plain>::owns;
  else return !std::ranges::enable_borrowed_range<Plain>;
}

[[noreturn]] inline void refuse_rank(std::size_t rank) {
  raise_expected(errc::rank_too_large, "tq::as_tensor", {"a rank of at most ", max_rank}, {rank});
}
template <std::integral T>
[[nodiscard]] constexpr std::size_t extent_of(T extent) {
  if (std::cmp_less(extent, 0))
    raise_expected(errc::bad_argument, "tq::as_tensor", {"extents of 0 or more"}, {extent});
  return static_cast<std::size_t>(extent);
}

template <class X>
[[nodiscard]] constexpr auto strided_view(X& x) {
  std::array<std::size_t, max_rank> extents{};
  std::size_t rank = 0, known = 0;
  for (const auto e : x.shape()) {
    if (rank == extents.size()) refuse_rank(static_cast<std::size_t>(x.shape().size()));
    extents[rank++] = extent_of(e);
  }
  Strides strides{};
  for (const auto s : x.strides())
    if (known < rank) strides[known++] = static_cast<std::ptrdiff_t>(s);
  if (known != rank)
    raise_expected(errc::shape_mismatch, "tq::as_tensor", {"as many strides as extents"},
                   {known, " strides and ", rank, " extents"});
  const Shape shape(std::span<const std::size_t>(extents.data(), rank));
  static_cast<void>(require_extents("tq::as_tensor", shape));
  auto* data = x.data();
  if constexpr (requires { x.data_offset(); }) {
    if (shape.size() != 0) data += static_cast<std::ptrdiff_t>(x.data_offset());
  }
  return TensorView<std::remove_pointer_t<decltype(data)>>(data, shape, strides);
}

template <class X>
[[nodiscard]] constexpr auto mdspan_view(const X& x) {
  constexpr auto rank = static_cast<std::size_t>(X::rank());
  static_assert(rank <= std::size_t{max_rank}, "tq::as_tensor: this mdspan has more than 8 axes");
  std::array<std::size_t, rank> extents{};
  Strides strides{};
  for (std::size_t i = 0; i < rank; ++i) {
    using Rank = typename X::rank_type;
    extents[i] = static_cast<std::size_t>(x.extent(static_cast<Rank>(i)));
    strides[i] = static_cast<std::ptrdiff_t>(x.stride(static_cast<Rank>(i)));
  }
  return TensorView<typename X::element_type>(
      x.data_handle(), Shape(std::span<const std::size_t>(extents)), strides);
}

template <class X>
[[nodiscard]] constexpr auto range_view(X& x) {
  auto* data = std::data(x);
  using Row = std::remove_pointer_t<decltype(data)>;
  using Inner = nested<std::remove_cv_t<Row>>;
  using T = std::conditional_t<std::is_const_v<Row>, const typename Inner::element,
                               typename Inner::element>;
  static_assert(Inner::rank < max_rank, "tq::as_tensor: these arrays have more than 8 axes");
  Shape shape{std::size(x)};
  if constexpr (Inner::rank == 0) {
    return TensorView<T>(data, shape);
  } else {
    static_assert(Inner::count == 0 || sizeof(Row) == Inner::count * sizeof(T));
    shape = Shape(std::span<const std::size_t>(std::array<std::size_t, 1 + Inner::rank>{}));
    shape[0] = std::size(x);
    Inner::extents(shape, 1);
    return TensorView<T>(reinterpret_cast<T*>(data), shape);
  }
}

// A view of an object that stays in its place. Precondition: the object has elements in memory.
template <class X>
[[nodiscard]] constexpr auto view_of(X& x) {
  constexpr TensorKind kind = tensor_kind<X>;
  if constexpr (kind == TensorKind::view) return std::remove_cv_t<X>(x);
  else if constexpr (kind == TensorKind::adl) {
    static_assert(is_tensor_view<adl_view<X>>,
                  "tq::as_tensor: tq_as_tensor of this type must return a tq::TensorView");
    return tq_as_tensor(x);
  } else if constexpr (kind == TensorKind::adapter)
    return tensor_adapter<std::remove_cv_t<X>>::view(x);
  else if constexpr (kind == TensorKind::mdspan) return mdspan_view(x);
  else if constexpr (kind == TensorKind::strided) return strided_view(x);
  else if constexpr (kind == TensorKind::range) return range_view(x);
  else return ConstTensorView(x);
}

template <class X>
struct element {
  using type = void;
};
template <class X>
  requires(tensor_kind<X> != TensorKind::none && !NeedsHold<X>)
struct element<X> {
  using type = typename decltype(detail::view_of(std::declval<X&>()))::element_type;
};
template <NeedsHold X>
struct element<X> {
  using held = decltype(tensor_adapter<std::remove_cv_t<X>>::hold(std::declval<const X&>()));
  using type = typename element<const held>::type;
};

}  // namespace tq::detail
