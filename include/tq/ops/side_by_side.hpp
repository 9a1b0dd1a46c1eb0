// SPDX-License-Identifier: MIT
#pragma once
// SideBySide: the numbers of what is stored, as arrays of float32 and of int32.

#include <tq/core/buffer.hpp>
#include <tq/kernels/backend.hpp>
#include <tq/ops/stored_planes.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace tq::detail {

template <class T>
[[nodiscard]] std::span<const T> numbers_of(std::span<const T> numbers) noexcept {
  return numbers;
}
template <class Stored>
[[nodiscard]] auto numbers_of(const Stored& stored) noexcept {
  return stored.values();
}

// The numbers of what is stored, side by side: decoded, many of them into memory of their own.
template <Backend B, class Stored>
class SideBySide {
 public:
  using value_type = typename decltype(numbers_of(std::declval<const Stored&>()))::value_type;
  explicit SideBySide(const Stored& stored) {
    const std::size_t size = numbers_of(stored).size();
    if (size > few) many_ = Buffer<value_type>(size);
    value_type* const to = size > few ? many_.data() : few_;
    using read = reads<typename B::arch, Stored>;
    if constexpr (std::same_as<value_type, float>) read::scales(&stored, 0, size, 1, to);
    else read::zero_points(&stored, 0, size, 1, to);
  }
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;
  ~SideBySide() = default;
  [[nodiscard]] const value_type* data() const noexcept { return many_.size() != 0 ? many_.data() : few_; }

 private:
  static constexpr std::size_t few = 1024;
  Buffer<value_type> many_;
  alignas(64) value_type few_[few];
};

// Where they are, if they are stored so.
template <Backend B, class Stored>
  requires requires(const Stored& stored) { numbers_of(stored).data(); }
class SideBySide<B, Stored> {
 public:
  using value_type = typename decltype(numbers_of(std::declval<const Stored&>()))::value_type;
  explicit SideBySide(const Stored& stored) noexcept : data_(numbers_of(stored).data()) {}
  [[nodiscard]] const value_type* data() const noexcept { return data_; }

 private:
  const value_type* data_;
};

}  // namespace tq::detail
