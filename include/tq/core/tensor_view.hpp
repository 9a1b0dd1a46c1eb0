// SPDX-License-Identifier: MIT
#pragma once
// TensorView: a pointer, a shape and strides. It owns nothing and everything converts to it.

#include <tq/config.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace tq {

/// Distance in elements between neighbours along each axis.
using Strides = std::array<std::ptrdiff_t, max_rank>;

template <class T>
class TensorView;

namespace detail {
// Writes row-major strides to the first `shape.rank()` of `strides`.
constexpr void set_row_major(Strides& strides, const Shape& shape) noexcept {
  std::size_t step = 1;  // may overflow where there are no elements
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = static_cast<std::ptrdiff_t>(step);
    step *= shape[i];
  }
}
}  // namespace detail

/// The strides of a dense tensor whose last axis is contiguous.
[[nodiscard]] constexpr Strides row_major_strides(const Shape& shape) noexcept {
  Strides s{};
  detail::set_row_major(s, shape);
  return s;
}

/// Whether neighbours along the axes are as far apart as in a dense tensor whose last axis is
/// contiguous.
[[nodiscard]] constexpr bool is_row_major(const Shape& shape, const Strides& strides) noexcept {
  std::size_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[static_cast<std::size_t>(i)] != static_cast<std::ptrdiff_t>(step))
      return false;
    step *= shape[i];
  }
  return true;
}

namespace detail {

[[noreturn]] inline void refuse_axis(const char* function, int axis, const Shape& shape) {
  raise_expected(errc::bad_axis, function, {"an axis of shape ", shape.extents()}, {axis});
}
[[nodiscard]] constexpr int require_axis(const char* function, int axis, const Shape& shape) {
  const std::optional<int> found = resolve_axis(axis, shape.rank());
  if (!found) refuse_axis(function, axis, shape);
  return *found;
}

[[noreturn]] inline void refuse_slice(const Shape& shape, int axis, std::size_t begin,
                                      std::size_t end) {
  raise_expected(
      errc::bad_argument, "tq::TensorView::slice",
      {"0 <= begin <= end <= ", shape[axis], " on axis ", axis, " of shape ", shape.extents()},
      {"begin ", begin, " and end ", end});
}

[[noreturn]] inline void refuse_reshape(errc code, const Shape& from, const Shape& to) {
  raise_text(code, {"tq::TensorView::reshaped: expected ",
                    (code == errc::shape_mismatch ? "a shape of as many elements as "
                                                  : "strides that need no copy, got shape "),
                    from.extents(), (code == errc::shape_mismatch ? ", got " : " to become "),
                    to.extents()});
}

// The strides with which the elements of `from` are a tensor of shape `to`, in row-major order.
// Axes of `from` that lie behind one another in memory are one axis, which axes of `to` share.
// Throws if an axis of `to` would need two of them.
[[nodiscard]] constexpr Strides reshaped_strides(const Shape& from, const Strides& strides,
                                                 const Shape& to) {
  if (from.size() != to.size()) refuse_reshape(errc::shape_mismatch, from, to);
  static_cast<void>(require_extents("tq::TensorView::reshaped", to));
  if (to.size() == 0) return row_major_strides(to);
  std::array<std::size_t, max_rank> extent{}, step{};  // of axes with a second element
  std::size_t axes = 0;
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] != 1) {
      extent[axes] = from[i];
      step[axes++] = static_cast<std::size_t>(strides[static_cast<std::size_t>(i)]);
    }
  Strides out{};
  int next = to.rank() - 1;
  for (std::size_t last = axes; last != 0;) {
    std::size_t first = last - 1, count = extent[first];
    while (first != 0 && step[first - 1] == step[first] * extent[first]) count *= extent[--first];
    std::size_t made = 1;  // elements along the axes of `to` that were given a stride
    for (; next >= 0 && (made < count || to[next] == 1); --next) {
      out[static_cast<std::size_t>(next)] = static_cast<std::ptrdiff_t>(made * step[last - 1]);
      made *= to[next];
    }
    if (made != count) refuse_reshape(errc::not_contiguous, from, to);
    last = first;
  }
  for (; next >= 0; --next) out[static_cast<std::size_t>(next)] = 1;  // of extent 1
  return out;
}

// An argument from which a view of elements T is made.
template <class R, class T>
concept Viewable = !std::same_as<std::remove_cvref_t<R>, TensorView<T>> &&
                   std::constructible_from<std::span<T>, R>;
// The same where the elements die with the object.
template <class R, class T>
concept ViewableOwner =
    Viewable<R, T> && !std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>;

}  // namespace detail

/// A view of `shape.size()` elements; element (i, j, ...) is data[i * stride(0) + j * stride(1) +
/// ...].
template <class T>
class TensorView {
 public:
  using element_type = T;

  /// Dense, row-major.
  constexpr TensorView(T* data, const Shape& shape) noexcept : data_(data), shape_(shape) {
    detail::set_row_major(strides_, shape);
  }
  constexpr TensorView(T* data, const Shape& shape, const Strides& strides) noexcept
      : data_(data), shape_(shape) {
    take(strides);
  }
  // As Shape does, of the strides there are.
  constexpr TensorView(const TensorView& other) noexcept
      : TensorView(other.data_, other.shape_, other.strides_) {}
  constexpr TensorView& operator=(const TensorView& other) noexcept {
    data_ = other.data_;
    shape_ = other.shape_;
    strides_ = {};
    take(other.strides_);
    return *this;
  }

  /// A span or another range that does not own its elements, as a tensor of rank 1.
  template <class R>
    requires detail::Viewable<R&&, T>
  constexpr TensorView(R&& range)  // NOLINT(google-explicit-constructor)
      : TensorView(std::span<T>(range).data(), Shape{std::span<T>(range).size()}) {}
  /// A vector, array or another contiguous range, as a tensor of rank 1. A temporary becomes an
  /// argument of a call, which it outlives.
  template <class R>
    requires detail::ViewableOwner<R&&, T>
  constexpr TensorView(R&& range TQ_LIFETIMEBOUND)  // NOLINT(google-explicit-constructor)
      : TensorView(std::span<T>(range).data(), Shape{std::span<T>(range).size()}) {}
  /// Does not compile: a view with a name outlives the temporary.
  template <class R>
    requires detail::ViewableOwner<R&&, T> && (!std::is_lvalue_reference_v<R>)
  explicit TensorView(R&&) : TensorView(nullptr, Shape{0}) {
    static_assert(!sizeof(R),
                  "tq::TensorView: the view would outlive this temporary: give it a name first");
  }

  // A template, so that it never takes the place of the copy constructor.
  template <class U>
    requires(std::is_const_v<T> && std::same_as<U, std::remove_const_t<T>>)
  constexpr TensorView(const TensorView<U>& other) noexcept  // NOLINT(google-explicit-constructor)
      : TensorView(other.data(), other.shape(), other.strides()) {}

  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] constexpr const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] constexpr const Strides& strides() const noexcept { return strides_; }
  [[nodiscard]] constexpr std::ptrdiff_t stride(int axis) const noexcept {
    return strides_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return shape_.size(); }

  /// True when the elements are dense and row-major, so that `flat()` sees them in order.
  [[nodiscard]] constexpr bool is_contiguous() const noexcept {
    return is_row_major(shape_, strides_) || size() == 0;
  }
  /// Precondition: `is_contiguous()`.
  [[nodiscard]] constexpr std::span<T> flat() const noexcept { return {data_, size()}; }

  /// The elements whose index along `axis` is in [begin, end); the other axes are as they were.
  /// Negative axes count from the last one. Throws: `errc::bad_axis`; `errc::bad_argument` unless
  /// begin <= end <= the extent of the axis.
  [[nodiscard]] constexpr TensorView slice(int axis, std::size_t begin, std::size_t end) const {
    const int a = detail::require_axis("tq::TensorView::slice", axis, shape_);
    if (begin > end || end > shape_[a]) detail::refuse_slice(shape_, a, begin, end);
    TensorView out = *this;
    out.shape_[a] = end - begin;
    if (out.size() != 0) out.data_ += static_cast<std::ptrdiff_t>(begin) * stride(a);
    return out;
  }
  /// The same elements with the axes in reverse order: of shape (columns, rows) for a matrix.
  [[nodiscard]] constexpr TensorView transposed() const noexcept {
    TensorView out = *this;
    for (int a = 0, b = shape_.rank() - 1; a < b; ++a, --b) out.exchange(a, b);
    return out;
  }
  /// The same elements with two axes exchanged. Negative axes count from the last one. Throws:
  /// `errc::bad_axis`.
  [[nodiscard]] constexpr TensorView transposed(int first, int second) const {
    constexpr const char* function = "tq::TensorView::transposed";
    const int a = detail::require_axis(function, first, shape_);
    const int b = detail::require_axis(function, second, shape_);
    TensorView out = *this;
    out.exchange(a, b);
    return out;
  }
  /// The same elements, in row-major order, as a tensor of `shape`. Throws: `errc::shape_mismatch`
  /// for another number of elements; `errc::not_contiguous` where strides cannot express `shape`;
  /// `errc::bad_argument` for extents that memory cannot hold.
  [[nodiscard]] constexpr TensorView reshaped(const Shape& shape) const {
    return {data_, shape, detail::reshaped_strides(shape_, strides_, shape)};
  }

 private:
  constexpr void take(const Strides& strides) noexcept {
    for (int i = 0; i < max_rank && i < shape_.rank(); ++i)
      strides_[static_cast<std::size_t>(i)] = strides[static_cast<std::size_t>(i)];
  }

  constexpr void exchange(int a, int b) noexcept {
    std::swap(shape_[a], shape_[b]);
    std::swap(strides_[static_cast<std::size_t>(a)], strides_[static_cast<std::size_t>(b)]);
  }

  T* data_;
  Shape shape_;
  Strides strides_{};
};

/// The view of float32 that operations read.
using ConstTensorView = TensorView<const float>;

}  // namespace tq
