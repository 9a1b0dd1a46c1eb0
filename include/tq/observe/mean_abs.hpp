// SPDX-License-Identifier: MIT
#pragma once
// MeanAbs: the mean magnitude of the finite values seen.

#include <tq/kernels/backend.hpp>
#include <tq/observe/concepts.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq {

/// Sum of |x| and count of the finite values of a stream. NaN and infinities are skipped and
/// counted. The sum is kept as an exact integer of steps of 2^-149, so that it depends neither on
/// the order of the values nor on how the stream was cut, up to 2^64 values.
class MeanAbs {
 public:
  template <Backend B = default_backend>
  void add(std::span<const float> x) noexcept {
    // Digits are 64 bits wide for 32 bits of value: 2^31 additions need no carry.
    constexpr std::size_t piece = std::size_t{1} << 31;
    for (; x.size() > piece; x = x.subspan(piece)) add_piece<B>(x.first(piece));
    add_piece<B>(x);
  }

  void merge(const MeanAbs& other) noexcept {
    for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += other.digits_[i];
    carry();
    finite_ += other.finite_;
    nan_ += other.nan_;
    infinite_ += other.infinite_;
  }

  /// True while no finite value was seen.
  [[nodiscard]] bool empty() const noexcept { return finite_ == 0; }
  /// The sum of the magnitudes of the finite values.
  [[nodiscard]] double sum() const noexcept {
    double total = 0;
    for (std::size_t i = 0; i < digits_.size(); ++i)
      total += std::ldexp(static_cast<double>(digits_[i]), 32 * static_cast<int>(i) - 149);
    return total;
  }
  /// sum() over the number of finite values. Precondition: not empty().
  [[nodiscard]] double mean_abs() const noexcept { return sum() / static_cast<double>(finite_); }
  /// Values seen, the skipped ones included.
  [[nodiscard]] std::uint64_t count() const noexcept { return finite_ + nan_ + infinite_; }
  [[nodiscard]] std::uint64_t nan_count() const noexcept { return nan_; }
  [[nodiscard]] std::uint64_t infinite_count() const noexcept { return infinite_; }

 private:
  // A float is a significand of 24 bits, 0 to 253 steps to the left; 64 more bits for their number.
  static constexpr std::size_t size = 11;

  // Backend is in the name, not in the code: one symbol per instruction set.
  template <Backend B>
  void add_piece(std::span<const float> x) noexcept {
    std::uint64_t nan = 0, infinite = 0;
    for (const float v : x) {
      const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(v) & 0x7fffffffu;
      if (magnitude >= 0x7f800000u) {
        ++(magnitude > 0x7f800000u ? nan : infinite);
        continue;
      }
      const std::uint32_t exponent = magnitude >> 23, fraction = magnitude & 0x7fffffu;
      const std::uint32_t shift = exponent == 0 ? 0 : exponent - 1;
      const std::uint64_t steps = std::uint64_t{exponent == 0 ? fraction : fraction | 0x800000u}
                                  << shift % 32;
      digits_[shift / 32] += steps & 0xffffffffu;
      digits_[shift / 32 + 1] += steps >> 32;
    }
    carry();
    finite_ += x.size() - nan - infinite;
    nan_ += nan;
    infinite_ += infinite;
  }

  void carry() noexcept {
    for (std::size_t i = 0; i + 1 < digits_.size(); ++i) {
      digits_[i + 1] += digits_[i] >> 32;
      digits_[i] &= 0xffffffffu;
    }
  }

  std::array<std::uint64_t, size> digits_{};  // of base 2^32, the lowest first
  std::uint64_t finite_ = 0, nan_ = 0, infinite_ = 0;
};

}  // namespace tq
