// SPDX-License-Identifier: MIT
#pragma once
// Emptied: a value that is T{} again after it was moved from.

#include <tq/config.hpp>

#include <type_traits>
#include <utility>

namespace tq::detail {

// Sizes and flags of a class that is moved by its members. Numbers keep their value when they are
// moved from, and then promise memory that is gone.
template <class T>
  requires std::is_trivially_copyable_v<T>
class Emptied {
 public:
  constexpr Emptied() = default;
  constexpr Emptied(T value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor)
  constexpr Emptied(const Emptied&) = default;
  constexpr Emptied(Emptied&& other) noexcept : value_(std::exchange(other.value_, T{})) {}
  constexpr Emptied& operator=(const Emptied&) = default;
  constexpr Emptied& operator=(Emptied&& other) noexcept {
    value_ = std::exchange(other.value_, T{});
    return *this;
  }
  ~Emptied() = default;

  constexpr operator const T&() const noexcept {  // NOLINT(google-explicit-constructor)
    return value_;
  }
  [[nodiscard]] constexpr const T& get() const noexcept { return value_; }

 private:
  T value_{};
};

}  // namespace tq::detail
