// SPDX-License-Identifier: MIT
#pragma once
// TensorView: a pointer, a shape and strides. It owns nothing and everything converts to it.

#include <tq/core/shape.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace tq {

/// Distance in elements between neighbours along each axis.
using Strides = std::array<std::ptrdiff_t, max_rank>;

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

  /// A span, vector, array or other contiguous range, as a tensor of rank 1.
  template <class R>
  requires(!std::same_as<std::remove_cvref_t<R>, TensorView>) &&
      std::constructible_from<std::span<T>, R&&> constexpr TensorView(
          R&& range)  // NOLINT(google-explicit-constructor)
      : TensorView(std::span<T>(range).data(), Shape{std::span<T>(range).size()}) {}

  // A template, so that it never takes the place of the copy constructor.
  template <class U>
  requires(std::is_const_v<T>&& std::same_as<U, std::remove_const_t<T>>) constexpr TensorView(
      const TensorView<U>& other) noexcept  // NOLINT(google-explicit-constructor)
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

 private:
  constexpr void take(const Strides& strides) noexcept {
    for (int i = 0; i < max_rank && i < shape_.rank(); ++i)
      strides_[static_cast<std::size_t>(i)] = strides[static_cast<std::size_t>(i)];
  }

  T* data_;
  Shape shape_;
  Strides strides_{};
};

/// What the operations read.
using ConstTensorView = TensorView<const float>;

}  // namespace tq
