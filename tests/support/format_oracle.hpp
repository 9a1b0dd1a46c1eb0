// SPDX-License-Identifier: MIT
#pragma once
// Number formats once more, from their definitions and in double: the values of all codes by the
// textbook formula, codes by searching them. It shares nothing with the library but the names of
// types and policies.
//
// Double is exact here: values have few bits, so have the means of neighbours, and twice a float or
// double is one again.

#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace oracle {

enum class Specials { ieee, nan_only, negative_zero_nan, finite, exponent, fixed, table };

/// The definition of a format, and the values that follow from it.
struct Format {
  Specials specials;
  int bits, exponent = 0, mantissa = 0, bias = 0;
  std::vector<double> values{};  // of every code
  std::vector<double>
      magnitudes{};  // floats: of codes 0, 1, ... to the largest finite one, and of the one after
  double least =
      0;  // table: below, everything gets the first code; used where a table has its own threshold

  [[nodiscard]] std::uint32_t sign() const { return 1u << (bits - 1); }
  [[nodiscard]] std::uint32_t largest() const {
    return static_cast<std::uint32_t>(magnitudes.size() - 2);
  }
  [[nodiscard]] double value(std::uint32_t code) const { return values[code]; }
};

namespace detail {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

inline Format floats(Specials specials, int exponent, int mantissa, int bias) {
  Format f{specials, 1 + exponent + mantissa, exponent, mantissa, bias};
  const std::uint32_t half = 1u << (exponent + mantissa), fractions = 1u << mantissa;
  const auto plain = [&](std::uint32_t code) {
    const int e = static_cast<int>(code / fractions);
    const double m = static_cast<double>(code % fractions) / fractions;
    return e == 0 ? std::ldexp(m, 1 - bias) : std::ldexp(1 + m, e - bias);
  };
  std::uint32_t finite = half;  // codes of finite magnitudes
  if (specials == Specials::ieee) finite = half - fractions;
  if (specials == Specials::nan_only) finite = half - 1;
  for (std::uint32_t c = 0; c <= finite; ++c) f.magnitudes.push_back(plain(c));
  for (std::uint32_t c = 0; c < 2 * half; ++c) {
    const std::uint32_t m = c % half;
    double v = m < finite                                  ? f.magnitudes[m]
               : specials == Specials::ieee && m == finite ? infinity
                                                           : nan;
    if (c >= half) v = specials == Specials::negative_zero_nan && m == 0 ? nan : -v;
    f.values.push_back(v);
  }
  return f;
}

}  // namespace detail

// The table of formats: exponent bits, mantissa bits, bias.
template <class T>
Format format() {
  using enum Specials;
  if constexpr (std::same_as<T, tq::float16>) return detail::floats(ieee, 5, 10, 15);
  else if constexpr (std::same_as<T, tq::bfloat16>) return detail::floats(ieee, 8, 7, 127);
  else if constexpr (std::same_as<T, tq::float8_e4m3fn>) return detail::floats(nan_only, 4, 3, 7);
  else if constexpr (std::same_as<T, tq::float8_e5m2>) return detail::floats(ieee, 5, 2, 15);
  else if constexpr (std::same_as<T, tq::float8_e4m3fnuz>)
    return detail::floats(negative_zero_nan, 4, 3, 8);
  else if constexpr (std::same_as<T, tq::float8_e5m2fnuz>)
    return detail::floats(negative_zero_nan, 5, 2, 16);
  else if constexpr (std::same_as<T, tq::float6_e2m3fn>) return detail::floats(finite, 2, 3, 1);
  else if constexpr (std::same_as<T, tq::float6_e3m2fn>) return detail::floats(finite, 3, 2, 3);
  else if constexpr (std::same_as<T, tq::float4_e2m1fn>) return detail::floats(finite, 2, 1, 1);
  else if constexpr (std::same_as<T, tq::float8_e8m0fnu>) {
    Format f{exponent, 8};
    for (int c = 0; c < 255; ++c) f.values.push_back(std::ldexp(1.0, c - 127));
    f.values.push_back(detail::nan);
    return f;
  } else if constexpr (std::same_as<T, tq::fixed8>) {
    Format f{fixed, 8};
    for (int c = 0; c < 256; ++c) f.values.push_back((c < 128 ? c : c - 256) / 64.0);
    return f;
  } else {  // the entries of a table are its definition
    Format f{table, 1};
    while ((std::size_t{1} << f.bits) < T::format::values.size()) ++f.bits;
    for (const float v : T::format::values) f.values.push_back(static_cast<double>(v));
    f.values.resize(std::size_t{1} << f.bits, detail::nan);
    f.least = std::same_as<T, tq::binary> ? -detail::infinity : 0;
    return f;
  }
}
template <class T>
const Format& cached_format() {
  static const Format f = format<T>();
  return f;
}

namespace detail {

// Whether |x| between the neighbours lo < hi becomes hi; `odd` says that hi has the even code.
inline bool up(const tq::NearestEven&, double lo, double x, double hi, bool, bool odd,
               std::uint64_t) {
  return 2 * x > lo + hi || (2 * x == lo + hi && odd);
}
inline bool up(const tq::HalfAway&, double lo, double x, double hi, bool, bool, std::uint64_t) {
  return 2 * x >= lo + hi;
}
inline bool up(const tq::HalfUp&, double lo, double x, double hi, bool negative, bool,
               std::uint64_t) {
  return negative ? 2 * x > lo + hi : 2 * x >= lo + hi;
}
inline bool up(const tq::TowardZero&, double, double, double, bool, bool, std::uint64_t) {
  return false;
}
inline bool up(const tq::Floor&, double lo, double x, double, bool negative, bool, std::uint64_t) {
  return negative && x != lo;
}
inline bool up(const tq::Stochastic& r, double lo, double x, double hi, bool negative, bool,
               std::uint64_t index) {
  // The distance from the value below, in steps; draws have no more bits than a float.
  const double part = (negative ? hi - x : x - lo) / (hi - lo);
  const bool above = static_cast<double>(static_cast<float>(part)) > draw(r.seed, index);
  return negative ? !above && x != lo : above;
}

}  // namespace detail

/// The code of x.
template <class R>
std::uint32_t encode(const Format& f, double x, const R& rounding, bool saturate,
                     std::uint64_t index = 0) {
  const bool negative = std::signbit(x);
  const double size = std::fabs(x);
  switch (f.specials) {
    case Specials::exponent: {
      if (!(x > 0)) return 255;
      if (x >= 1.5 * f.values[254]) return saturate ? 254 : 255;
      if (x < f.values[1])
        return x > f.values[0] ? 1 : 0;  // ml_dtypes rounds float32's subnormals up
      std::uint32_t best = 0;
      // Below 2^-126, a subnormal float32, ml_dtypes and ONNX go up from everything above 2^-127.
      if (x > f.values[0] && x < f.values[1]) return 1;
      while (best < 254 && 2 * x >= f.values[best] + f.values[best + 1]) ++best;
      return best;
    }
    case Specials::fixed: {
      double steps =
          is_nan(x) ? 0 : round(rounding, std::min(std::max(64 * x, -127.0), 127.0), index);
      if (steps < 0) steps += 256;
      return static_cast<std::uint32_t>(steps);
    }
    case Specials::table: {
      const double at = is_nan(x) ? 0 : x;
      if (std::isinf(f.least)) return at < 0 ? 0 : 1;
      std::uint32_t best = 0;
      for (std::uint32_t c = 1; c < f.values.size(); ++c) {
        const double v = f.values[c], b = f.values[best];
        if (is_nan(v) || v == b) continue;
        // Which of two values is nearer says their mean; the lower one at a tie.
        if (v < b ? 2 * at <= v + b : 2 * at > v + b) best = c;
      }
      return best;
    }
    default: break;
  }
  const std::uint32_t sign = negative ? f.sign() : 0;
  const auto not_a_number = [&]() -> std::uint32_t {
    if (f.specials == Specials::negative_zero_nan) return f.sign();
    if (f.specials == Specials::finite) return negative ? 0 : f.sign();
    if (f.specials == Specials::nan_only) return sign + f.largest() + 1;
    return sign + f.largest() + 1 + (1u << (f.mantissa - 1));
  };
  if (is_nan(x)) return not_a_number();
  std::uint32_t code = f.largest() + 1;
  if (size < f.magnitudes.back()) {
    // std::ranges, as std::upper_bound looks at all elements where the standard library checks.
    const auto above = std::ranges::upper_bound(f.magnitudes, size);
    code = static_cast<std::uint32_t>(above - f.magnitudes.begin()) - 1;
    if (size != *(above - 1) &&
        detail::up(rounding, *(above - 1), size, *above, negative, code % 2 == 1, index))
      ++code;
  }
  if (code > f.largest()) {
    if (saturate || f.specials == Specials::finite) code = f.largest();
    else if (f.specials != Specials::ieee) return not_a_number();
  }
  return code == 0 && f.specials == Specials::negative_zero_nan ? 0 : sign + code;
}

/// The points where codes change, and the ends: what is interesting to encode.
inline std::vector<double> marks(const Format& f) {
  std::vector<double> sorted;
  for (const double v : f.values)
    if (std::isfinite(v)) sorted.push_back(v);
  if (!f.magnitudes.empty()) {
    sorted.push_back(f.magnitudes.back());
    sorted.push_back(-f.magnitudes.back());
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> out = sorted;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
    out.push_back((sorted[i] + sorted[i + 1]) / 2);
  return out;
}

/// Floats that are hard on the format with these marks, multiplied by a scale.
inline float value_near(const std::vector<double>& marks, float scale, inputs::Random& r) {
  const int sign = r.chance(50) ? 1 : -1;
  switch (r.below(24)) {
    case 0: return std::copysign(std::numeric_limits<float>::quiet_NaN(), static_cast<float>(sign));
    case 1: return static_cast<float>(sign) * std::numeric_limits<float>::infinity();
    case 2: return sign > 0 ? 0.0f : -0.0f;
    case 3: return static_cast<float>(sign) * std::numeric_limits<float>::max();
    case 4:
      return static_cast<float>(sign) *
             std::bit_cast<float>(static_cast<std::uint32_t>(1 + r.below(0x7fffff)));
    case 5: return inputs::any_bits(r);
    default:
      return inputs::nudge(
          static_cast<float>(marks[r.below(marks.size())] * static_cast<double>(scale)),
          r.between(-2, 2));
  }
}
/// The same without what sends whole blocks down the rare path.
inline float ordinary_value_near(const std::vector<double>& marks, float scale, inputs::Random& r) {
  const float x =
      inputs::nudge(static_cast<float>(marks[r.below(marks.size())] * static_cast<double>(scale)),
                    r.between(-2, 2));
  return std::isfinite(x) ? x : scale;
}

}  // namespace oracle
