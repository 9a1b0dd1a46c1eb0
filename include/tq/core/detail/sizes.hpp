// SPDX-License-Identifier: MIT
#pragma once
// Arithmetic of sizes that cannot wrap: products, sums and rounding of extents, counts and bytes.

#include <tq/error.hpp>

#include <cstddef>
#include <limits>

namespace tq::detail {

/// The largest size there is, which stands for every size beyond it.
inline constexpr std::size_t most_size = std::numeric_limits<std::size_t>::max();

/// More elements or bytes than this are in no memory: what a process can address with 47 bits, or
/// half of all addresses of 32 bits.
inline constexpr std::size_t most_in_memory =
    sizeof(std::size_t) >= 8 ? std::size_t{1} << (47 % (8 * sizeof(std::size_t))) : most_size / 2;

// The saturating forms: `most_size` where the result is larger.

[[nodiscard]] constexpr std::size_t product_or_most(std::size_t a, std::size_t b) noexcept {
  if ((a | b) >> (4 * sizeof(a)) == 0) return a * b;  // seldom takes a division
  return b != 0 && a > most_size / b ? most_size : a * b;
}
[[nodiscard]] constexpr std::size_t sum_or_most(std::size_t a, std::size_t b) noexcept {
  return a > most_size - b ? most_size : a + b;
}
/// The number of units of `unit` that hold `n`; of units of nothing, `most_size`.
[[nodiscard]] constexpr std::size_t units_for(std::size_t n, std::size_t unit) noexcept {
  return unit == 0 ? most_size : n / unit + (n % unit != 0 ? 1 : 0);
}
/// `n`, rounded up to a multiple of `unit`; of units of nothing, `most_size`.
[[nodiscard]] constexpr std::size_t round_up_or_most(std::size_t n, std::size_t unit) noexcept {
  return unit == 0 ? most_size : product_or_most(units_for(n, unit), unit);
}

// The forms that throw `errc::bad_argument`, with texts such as "tq::f: expected extents that
// memory can hold, got 4294967296 x 4294967296".

[[noreturn]] inline void refuse_size(TextPart function, const char* what, TextParts got) {
  raise_expected(errc::bad_argument, function, {what, " that memory can hold"}, got);
}
constexpr std::size_t require_product(const char* function, const char* what, std::size_t a,
                                      std::size_t b) {
  const std::size_t n = product_or_most(a, b);
  if (n > most_in_memory) refuse_size(function, what, {a, " x ", b});
  return n;
}
constexpr std::size_t require_sum(const char* function, const char* what, std::size_t a,
                                  std::size_t b) {
  const std::size_t n = sum_or_most(a, b);
  if (n > most_in_memory) refuse_size(function, what, {a, " + ", b});
  return n;
}
/// `n`, rounded up to a multiple of `unit`.
constexpr std::size_t require_round_up(const char* function, const char* what, std::size_t n,
                                       std::size_t unit) {
  const std::size_t up = round_up_or_most(n, unit);
  if (up > most_in_memory) refuse_size(function, what, {n, " in units of ", unit});
  return up;
}
/// `a - b`; throws `errc::bad_argument` where `b` is larger.
constexpr std::size_t require_difference(const char* function, const char* what, std::size_t a,
                                         std::size_t b) {
  if (b > a) raise_expected(errc::bad_argument, function, {"at most ", a, " ", what}, {b});
  return a - b;
}
/// `n`; throws `errc::bad_argument` where no memory holds so many.
constexpr std::size_t require_in_memory(const char* function, const char* what, std::size_t n) {
  if (n > most_in_memory) refuse_size(function, what, {n});
  return n;
}

}  // namespace tq::detail
