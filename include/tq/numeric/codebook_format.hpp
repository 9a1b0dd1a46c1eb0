// SPDX-License-Identifier: MIT
#pragma once
// Code books: codes that are indices into a table of real values.

#include <tq/numeric/overflow.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tq {

/// A table of 2 to 256 finite values, in any order; code i means values[i]. Smallest model:
///
///     struct my_table {
///       static constexpr std::string_view name = "mine";
///       static constexpr std::array<float, 4> values{-1.0f, -0.25f, 0.25f, 1.0f};
///     };
/// A table may also give `thresholds`, one less than values: the code of x is that of the k-th
/// smallest value, k the number of thresholds below x. Without it they lie in the middle, and a tie
/// goes to the lower value.
template <class T>
concept CodebookTable = requires {
  { T::name } -> std::convertible_to<std::string_view>;
  { T::values[0] } -> std::convertible_to<float>;
  requires T::values.size() >= 2 && T::values.size() <= 256;
};

namespace detail {
// The largest float that is not above x.
constexpr float float_not_above(double x) noexcept {
  const auto f = static_cast<float>(x);
  if (double(f) <= x) return f;
  const auto bits = std::bit_cast<std::uint32_t>(f);
  return std::bit_cast<float>(f > 0 ? bits - 1u : f < 0 ? bits + 1u : 0x80000001u);
}
// The largest double that is not above the mean of two floats.
constexpr double mean_not_above(double a, double b) noexcept {
  const double sum = a + b, second = sum - a;
  const double lost = (a - (sum - second)) + (b - second);  // exact
  if (!(lost < 0)) return sum / 2;
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  return std::bit_cast<double>(sum > 0 ? bits - 1u : bits + 1u) / 2;
}
// How many of N ascending limits are below x. A loop of its own, since std::lower_bound is no
// constant expression in g++ 12 with _GLIBCXX_DEBUG and -fsanitize=undefined.
template <class T, std::size_t N>
constexpr std::size_t count_below(const std::array<T, N>& limits, T x) noexcept {
  std::size_t first = 0, rest = N;
  while (rest != 0) {
    const std::size_t half = rest / 2;
    if (limits[first + half] < x) {
      first += half + 1;
      rest -= half + 1;
    } else {
      rest = half;
    }
  }
  return first;
}
}  // namespace detail

/// The code book of a table: encoding by nearest value, decoding by index.
template <CodebookTable Table>
struct CodebookFormat {
  static constexpr std::size_t size = Table::values.size();
  static constexpr int bits = std::bit_width(size - 1);
  static constexpr std::array<float, size> values = Table::values;

  /// The codes in ascending order of their values.
  static constexpr std::array<std::uint8_t, size> order = [] {
    std::array<std::uint8_t, size> codes{};
    for (std::size_t i = 0; i < size; ++i) codes[i] = static_cast<std::uint8_t>(i);
    std::sort(codes.begin(), codes.end(), [](std::uint8_t a, std::uint8_t b) {
      return values[a] != values[b] ? values[a] < values[b] : a < b;
    });
    return codes;
  }();

  /// means[k] is the largest double that does not go to a value above the k-th smallest.
  static constexpr std::array<double, size - 1> means = [] {
    std::array<double, size - 1> m{};
    for (std::size_t k = 0; k + 1 < size; ++k) {
      if constexpr (requires { Table::thresholds; }) {
        m[k] = double(Table::thresholds[k]);
      } else {
        const double low = double(values[order[k]]);
        std::size_t next = k + 1;  // of equal values only the first is used
        while (next < size && double(values[order[next]]) == low) ++next;
        m[k] = next < size ? detail::mean_not_above(low, double(values[order[next]]))
                           : std::numeric_limits<double>::infinity();
      }
    }
    return m;
  }();
  /// The same in float.
  static constexpr std::array<float, size - 1> thresholds = [] {
    std::array<float, size - 1> t{};
    for (std::size_t k = 0; k + 1 < size; ++k)
      t[k] = means[k] <= double(std::numeric_limits<float>::max())
                 ? detail::float_not_above(means[k])
                 : std::numeric_limits<float>::infinity();
    return t;
  }();

  static constexpr bool has_nan = false;
  static constexpr float max_finite = [] {
    float top = 0;
    for (const float v : values) top = std::max(top, v < 0 ? -v : v);
    return top;
  }();

  /// The code of the value nearest to `x`, of 0 for NaN. Rounding policies do not apply: the grid
  /// has no steps.
  [[nodiscard]] static constexpr std::uint32_t encode(float x) noexcept {
    if (!(x == x)) x = 0.0f;
    return order[detail::count_below(thresholds, x)];
  }
  template <OverflowPolicy O, Rounding R>
    requires std::same_as<R, NearestEven>
  [[nodiscard]] static constexpr std::uint32_t encode(float x, const R&, std::uint64_t) noexcept {
    return encode(x);
  }

  /// As above, of doubles that need not be floats.
  [[nodiscard]] static constexpr std::uint32_t encode(double x) noexcept {
    if (!(x == x)) x = 0.0;
    return order[detail::count_below(means, x)];
  }
  template <OverflowPolicy O, Rounding R>
    requires std::same_as<R, NearestEven>
  [[nodiscard]] static constexpr std::uint32_t encode(double x, const R&, std::uint64_t) noexcept {
    return encode(x);
  }

  /// Codes beyond the table are NaN; bits above the format's are ignored.
  [[nodiscard]] static constexpr float decode(std::uint32_t code) noexcept {
    code &= (1u << bits) - 1u;
    return code < size ? values[code] : std::bit_cast<float>(0x7fc00000u);
  }
};

}  // namespace tq
