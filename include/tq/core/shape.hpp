// SPDX-License-Identifier: MIT
#pragma once
// The extents of a tensor, outermost axis first.

#include <tq/core/detail/sizes.hpp>
#include <tq/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace tq {

/// The largest rank a `Shape` can hold.
inline constexpr int max_rank = 8;

/// Extents of a tensor of rank 0 to `max_rank`; rank 0 is a scalar of one element. Never allocates.
class Shape {
 public:
  constexpr Shape() = default;
  // Copies only the extents there are. Vector registers would read all eight, and wait for those
  // written just before.
  constexpr Shape(const Shape& other) noexcept : rank_(other.rank_) { take(other); }
  constexpr Shape& operator=(const Shape& other) noexcept {
    rank_ = other.rank_;
    take(other);
    return *this;
  }
  /// Throws: `errc::rank_too_large`.
  constexpr Shape(std::initializer_list<std::size_t> extents)
      : Shape(std::span<const std::size_t>(extents.begin(), extents.size())) {}
  /// Throws: `errc::rank_too_large`.
  constexpr explicit Shape(std::span<const std::size_t> extents) {
    require_rank(extents.size());
    for (const std::size_t e : extents) extents_[static_cast<std::size_t>(rank_++)] = e;
  }
  /// Takes extents that other libraries count in signed integers. Throws: as above;
  /// `errc::bad_argument` where one is negative.
  template <std::signed_integral T>
  constexpr Shape(std::initializer_list<T> extents) {
    require_rank(extents.size());
    for (const T e : extents) {
      if (e < 0)
        detail::raise_expected(errc::bad_argument, "tq::Shape", {"extents of 0 or more"}, {e});
      extents_[static_cast<std::size_t>(rank_++)] = static_cast<std::size_t>(e);
    }
  }

  [[nodiscard]] constexpr int rank() const noexcept { return rank_; }
  [[nodiscard]] constexpr std::size_t operator[](int axis) const noexcept {
    return extents_[static_cast<std::size_t>(axis)];
  }
  [[nodiscard]] constexpr std::size_t& operator[](int axis) noexcept {
    return extents_[static_cast<std::size_t>(axis)];
  }
  /// The number of elements of axes [from, to); the largest size where that is larger.
  [[nodiscard]] constexpr std::size_t product(int from, int to) const noexcept {
    std::size_t p = 1;
    for (int i = from; i < to; ++i) p = detail::product_or_most(p, (*this)[i]);
    return p;
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return product(0, rank_); }
  [[nodiscard]] constexpr std::span<const std::size_t> extents() const noexcept {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  // Not the default, which calls memcmp over max_rank extents for every check of an argument.
  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  static constexpr void require_rank(std::size_t rank) {
    if (rank > std::size_t{max_rank})
      detail::raise_expected(errc::rank_too_large, "tq::Shape", {"a rank of at most ", max_rank},
                             {rank});
  }

  constexpr void take(const Shape& other) noexcept {
    for (int i = 0; i < max_rank && i < rank_; ++i) (*this)[i] = other[i];
  }

  std::array<std::size_t, max_rank> extents_{};
  int rank_ = 0;
};

namespace detail {
// How many blocks of `block` elements lie along `extent` elements; the last one may be shorter.
// Seldom takes a division.
[[nodiscard]] constexpr std::size_t blocks_along(std::size_t extent, std::size_t block) noexcept {
  return block == 1 ? extent : block == extent ? 1 : units_for(extent, block);
}
// Whether memory can hold the elements.
[[nodiscard]] constexpr bool has_size(const Shape& shape) noexcept {
  return shape.size() <= most_in_memory;
}
}  // namespace detail

/// The axis counted from the front (negative ones count from the back), or nothing when it does not
/// exist.
[[nodiscard]] constexpr std::optional<int> resolve_axis(int axis, int rank) noexcept {
  const int a = axis < 0 ? axis + rank : axis;
  return a >= 0 && a < rank ? std::optional<int>(a) : std::nullopt;
}

/// "[2, 3, 4]": for messages and reports.
[[nodiscard]] inline std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i)
    text.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
  return text + "]";
}

namespace detail {
// Throws `errc::bad_argument` unless memory can hold the elements. The text is made apart, so that
// the check itself is short.
[[noreturn]] inline void refuse_extents(TextPart function, const Shape& shape) {
  refuse_size(function, "extents", {shape.extents()});
}
// The number of elements.
constexpr std::size_t require_extents(const char* function, const Shape& shape) {
  const std::size_t n = shape.size();
  if (n > most_in_memory) refuse_extents(function, shape);
  return n;
}
}  // namespace detail

}  // namespace tq
