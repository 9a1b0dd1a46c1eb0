// SPDX-License-Identifier: MIT
#pragma once
// Exact sums of floats: integers of many digits, so that neither the order of the values nor the
// way a stream was cut shows in the result.

#include <tq/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::detail {

inline constexpr std::uint64_t low_digit = 0xffffffffu;

// Digits of base 2^32, the lowest first, each below 2^32: the integer in double, times 2^exponent.
[[nodiscard]] inline double digits_value(std::span<const std::uint64_t> digits,
                                         int exponent) noexcept {
  double total = 0;
  for (std::size_t i = 0; i < digits.size(); ++i)
    total += std::ldexp(static_cast<double>(digits[i]), 32 * static_cast<int>(i) + exponent);
  return total;
}

template <std::size_t N, std::size_t A, std::size_t B>
[[nodiscard]] constexpr std::array<std::uint64_t, N> digits_product(
    const std::array<std::uint64_t, A>& a, const std::array<std::uint64_t, B>& b) noexcept {
  std::array<std::uint64_t, N> out{};
  for (std::size_t i = 0; i < A; ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; i + j < N; ++j) {
      carry += out[i + j] + (j < B ? a[i] * b[j] : 0);
      out[i + j] = carry & low_digit;
      carry >>= 32;
    }
  }
  return out;
}

// a - b. Precondition: a >= b.
template <std::size_t N>
[[nodiscard]] constexpr std::array<std::uint64_t, N> digits_difference(
    std::array<std::uint64_t, N> a, const std::array<std::uint64_t, N>& b) noexcept {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const std::uint64_t take = b[i] + borrow;
    borrow = a[i] < take;
    a[i] = (a[i] + (borrow << 32)) - take;
  }
  return a;
}

// A sum of non-negative integers times powers of two from 2^Lowest on, as N digits. Up to 2^31
// `add`s without `carry`.
template <int Lowest, std::size_t N>
class exact_sum {
 public:
  static constexpr int lowest = Lowest;
  using digits_type = std::array<std::uint64_t, N>;

  exact_sum() = default;
  explicit exact_sum(const digits_type& digits) noexcept : digits_(digits) {}

  void add(std::uint64_t n, int exponent) noexcept {
    const auto at = static_cast<std::size_t>(exponent - Lowest);
    const std::uint64_t low = (n & low_digit) << at % 32, high = (n >> 32) << at % 32;
    std::uint64_t* digit = &digits_[at / 32];
    digit[0] += low & low_digit;
    digit[1] += (low >> 32) + (high & low_digit);
    digit[2] += high >> 32;
  }
  void add(const exact_sum& other) noexcept {
    for (std::size_t i = 0; i < N; ++i) digits_[i] += other.digits_[i];
    carry();
  }
  void carry() noexcept {
    for (std::size_t i = 0; i + 1 < N; ++i) {
      digits_[i + 1] += digits_[i] >> 32;
      digits_[i] &= low_digit;
    }
  }

  [[nodiscard]] const digits_type& digits() const noexcept { return digits_; }
  [[nodiscard]] double value() const noexcept { return digits_value(digits_, Lowest); }
  friend bool operator==(const exact_sum&, const exact_sum&) = default;

 private:
  digits_type digits_{};
};

// Throws: `errc::malformed` when a stored digit is none.
inline void require_digits(const char* where, std::span<const std::uint64_t> digits) {
  for (const std::uint64_t d : digits)
    if (d > low_digit) raise_expected(errc::malformed, where, {"digits below 2^32"}, {d});
}

// |x| in steps of 2^-149: a significand of 24 bits, 0 to 253 bits to the left, and 64 bits for
// their number.
using magnitude_sum = exact_sum<-149, 11>;
// x^2 in steps of 2^-298.
using square_sum = exact_sum<-298, 21>;

// The sums of one stretch of floats by sign and exponent, where they are plain integers. NaN and
// infinities stay out.
template <class Backend, bool Squares>
class exponent_sums {
 public:
  static constexpr std::size_t most = std::size_t{1}
                                      << 16;  // values, so that squares of 48 bits fit 64

  void add(const float* x, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[i]), at = bits >> 23;
      const std::uint64_t fraction = bits & 0x7fffffu,
                          significand = (at & 0xff) != 0 ? fraction | 0x800000u : fraction;
      const std::size_t table = i % 2;  // neighbours of one exponent need not wait for one another
      sums_[table][at] += significand;
      if constexpr (Squares) squares_[table][at] += significand * significand;
    }
  }

  template <class F>
  void each(F&& f) const {
    for (std::size_t at = 0; at < 512; ++at) {
      const std::size_t e = at & 0xff;
      const std::uint64_t sum = sums_[0][at] + sums_[1][at];
      if (e == 0xff || sum == 0) continue;
      std::uint64_t squares = 0;
      if constexpr (Squares) squares = squares_[0][at] + squares_[1][at];
      f(at >= 256, static_cast<int>(e == 0 ? 1 : e) - 150, sum, squares);
    }
  }

 private:
  std::uint64_t sums_[2][512]{};
  std::uint64_t squares_[2][Squares ? 512 : 1]{};
};

// How many values are 0. Backend is in the name, not in the code.
template <class Backend>
[[nodiscard]] inline std::uint64_t count_of_zeros(std::span<const float> x) noexcept {
  constexpr std::size_t block = 256;
  std::uint64_t zeros = 0;
  std::size_t i = 0;
  for (; i + block <= x.size(); i += block) {
    std::uint32_t here = 0;  // a loop that compilers make one of registers
    for (std::size_t k = 0; k < block; ++k) here += x[i + k] == 0.0f ? 1u : 0u;
    zeros += here;
  }
  for (; i < x.size(); ++i) zeros += x[i] == 0.0f ? 1u : 0u;
  return zeros;
}

// Calls f(negative, exponent, sum, sum of squares) for parts that make up the finite values of x:
// significands, which are integers of at most 2^40 and their squares, in units of 2^exponent and of
// its square. Backend is in the name, not in the code: one symbol per instruction set.
template <class Backend, bool Squares, class F>
void for_each_sum(std::span<const float> x, F&& f) {
  if (x.size() < 1024) {  // not worth the tables
    for (const float v : x) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(v), e = bits >> 23 & 0xff;
      if (e == 0xff) continue;
      const std::uint64_t significand = (bits & 0x7fffffu) | (e != 0 ? 0x800000u : 0u);
      f((bits >> 31) != 0, static_cast<int>(e == 0 ? 1 : e) - 150, significand,
        significand * significand);
    }
    return;
  }
  for (std::size_t i = 0; i < x.size(); i += exponent_sums<Backend, Squares>::most) {
    exponent_sums<Backend, Squares> sums;
    sums.add(x.data() + i, std::min(exponent_sums<Backend, Squares>::most, x.size() - i));
    sums.each(f);
  }
}

}  // namespace tq::detail
