// SPDX-License-Identifier: MIT
#pragma once
// One test for every kernel of the backward pass: all forms of spans against formulas in double,
// with guards around the gradients and the sums. Kernels take long to compile, so what surrounds
// them is compiled once, not per kernel.

#include <tq/core/float_elements.hpp>
#include <tq/kernels/backward.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"
#include "support/oracle.hpp"

namespace backward_cases {

using Arch = tq::arch::native;
#if TQ_HAS_SIMD
inline constexpr std::size_t block = 4 * tq::arch::width<Arch>;
#else
inline constexpr std::size_t block = 32;
#endif

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// An element as the papers see it, in double: v = x / s in float32, r = round(v) before clamping
/// (v itself for coded elements), code = what it became, lo and hi the ends of the codes less the
/// zero point.
struct Element {
  double gy, v, r, code, lo, hi, s, z;
  [[nodiscard]] bool nan() const { return oracle::is_nan(v); }
  [[nodiscard]] bool clipped() const { return r < lo || r > hi; }
};

/// dL/dx, dy/ds and dy/doffset.
struct Slopes {
  double input = 0, scale = 0, offset = 0;
};

// --- the policies from their definitions: `code` by the rounded value, `value` by the value before
// -------------------

inline Slopes straight_through(const Element& e) { return {e.gy}; }
inline Slopes clipped(const Element& e) { return {e.nan() || e.clipped() ? 0 : e.gy}; }
inline Slopes strict(const Element& e) { return {e.lo < e.v && e.v < e.hi ? e.gy : 0}; }
inline Slopes learned_step(const Element& e) {
  if (e.nan()) return {};
  if (e.v <= e.lo) return {0, e.lo};
  if (e.v >= e.hi) return {0, e.hi};
  return {e.gy, e.code - e.v};
}
inline Slopes learned_step_plus(const Element& e) {
  Slopes s = learned_step(e);
  if (e.nan() || (e.lo < e.v && e.v < e.hi)) return s;
  s.scale += e.z;
  s.offset = 1;
  return s;
}
inline Slopes by_rounded(const Element& e) {
  if (e.nan()) return {};
  if (e.r < e.lo) return {0, e.lo};
  if (e.r > e.hi) return {0, e.hi};
  return {e.gy, e.code - e.v};
}
inline Slopes learned_affine(const Element& e) {
  Slopes s = by_rounded(e);
  if (!e.nan() && e.clipped()) s.offset = -e.s;
  return s;
}
inline Slopes pact(const Element& e) {
  return {e.v >= 0 && e.v < e.hi ? e.gy : 0, e.v >= e.hi ? 1.0 : 0.0};
}
/// On top of another, with delta 1/5.
template <Slopes (*Base)(const Element&)>
Slopes ewgs(const Element& e) {
  Slopes s = Base(e);
  if (!e.nan() && !e.clipped())
    s.input *= 1 + 0.2 * (e.gy < 0 ? -1 : 1) * (e.v - e.code) / (e.hi - e.lo);
  return s;
}

/// A policy of the test's own, with everything a point offers.
struct Probe {
  static constexpr std::string_view name = "probe";
  static constexpr int learned = 2;
  template <class Point>
  static auto input(const Point& p) noexcept {
    return p.by_value(p.upstream, Point::one(), Point::zero());
  }
  template <class Point>
  static auto scale(const Point& p) noexcept {
    return p.by_code(p.code, p.zero_point, p.scale);
  }
  template <class Point>
  static auto offset(const Point& p) noexcept {
    return p.where_clipped(p.high) + p.within(p.low) + p.unless_clipped(p.one());
  }
};
inline Slopes probe(const Element& e) {
  if (e.nan()) return {};
  const bool within = e.lo < e.v && e.v < e.hi;
  return {e.v >= e.hi   ? 0
          : e.v <= e.lo ? 1
                        : e.gy,
          e.r > e.hi   ? e.s
          : e.r < e.lo ? e.z
                       : e.code,
          (e.clipped() ? e.hi : 1) + (within ? e.lo : 0)};
}

/// A kernel as plain functions, and what it is compared with.
struct Kernel {
  std::string name;
  int learned;
  bool integers;
  bool products;  // gx are products, which may be fused with other operations
  void (*run)(const tq::kernels::Gradients&, const tq::kernels::GradientRows&, tq::kernels::Bounds,
              std::uint64_t, tq::kernels::ParameterSums) noexcept;
  float (*quotient)(float, float);
  double (*round)(double, std::uint64_t);
  Slopes (*expected)(const Element&);
};

template <class R>
R rounding() {
  if constexpr (requires(R r) { r.seed; }) return R{0x1234567890u};
  else return R{};
}

/// N is a policy without state but that of its rounding, which is rounding<R>().
template <class Gradient, class N, bool Integers = true>
Kernel kernel(Slopes (*expected)(const Element&)) {
  using R = typename N::rounding_type;
  Kernel k{};
  for (const std::string_view part :
       {std::string_view(Gradient::name), R::name, N::scaling_type::name, N::nan_type::name})
    k.name += std::string(part) + " ";
  k.learned = Gradient::learned;
  k.integers = Integers;
  k.products = std::string_view(Gradient::name) == "ewgs";
  k.run = [](const tq::kernels::Gradients& g, const tq::kernels::GradientRows& rows,
             tq::kernels::Bounds bounds, std::uint64_t index,
             tq::kernels::ParameterSums sums) noexcept {
    tq::kernels::backward<Arch, Integers, N, Gradient>::run(g, rows, bounds, N{rounding<R>()},
                                                            index, sums);
  };
  k.quotient = [](float x, float s) { return oracle::quotient<typename N::scaling_type>(x, s); };
  k.round = [](double v, std::uint64_t index) { return oracle::round(rounding<R>(), v, index); };
  k.expected = expected;
  return k;
}

/// A span with its arrays. Every array of the target has guards on both sides, and every array of
/// sums too.
struct Trial {
  const Kernel& k;
  const cases::Case& c;
  cases::CodeRange codes;
  bool in_place = false;
  std::vector<float> gy, y;

  [[nodiscard]] Element element(std::size_t s, std::size_t t, std::size_t p) const {
    const float scale = c.scales[p];
    const std::int32_t zero = k.integers ? c.zero(p) : 0;
    Element e{};
    e.gy = static_cast<double>(gy[t]);
    e.s = static_cast<double>(scale);
    e.z = zero;
    e.lo = static_cast<double>(codes.min) - zero;
    e.hi = static_cast<double>(codes.max) - zero;
    e.v = e.r = e.code = static_cast<double>(k.quotient(c.source[s], scale));
    if (e.nan()) return e;
    if (k.integers) {
      e.r = std::isinf(e.v) ? e.v
                            : k.round(e.v, c.index + static_cast<std::uint64_t>(t) - c.target_at);
      e.code = std::min(std::max(e.r, e.lo), e.hi);
    } else {
      e.code = static_cast<double>(y[t] / scale);
    }
    return e;
  }

  // The rows of the target's arrays; sums lie as parameters do.
  [[nodiscard]] tq::kernels::GradientRows rows() const {
    const auto& [length, count, x, target, param_row, step] = c.form;
    return {length,
            count,
            x,
            target,
            target,
            target,
            target,
            c.scales.data(),
            c.has_zero ? c.zeros.data() : nullptr,
            param_row,
            step,
            param_row,
            step};
  }

  // The text of the first difference, or nothing.
  [[nodiscard]] std::string run() const {
    const float guard = std::bit_cast<float>(0xa5a5a5a5u);
    const double before = in_place ? -123.0 : 0.0;  // sums are added to what is there
    constexpr std::size_t margin = 40;
    std::vector<float> wanted = in_place ? gy : std::vector<float>(gy.size(), guard), got = wanted;
    const std::size_t params = c.form.params();
    struct Sum {
      double wanted, size = 0;
      std::size_t terms = 0;
    };
    std::vector<Sum> scale(params + 2 * margin, Sum{before, 0, 0}), offset = scale;
    const auto add = [](Sum& sum, double upstream, double slope) {
      sum.wanted += upstream * slope;
      sum.size += std::fabs(upstream * slope);
      ++sum.terms;
    };
    c.each([&](std::size_t s, std::size_t t, std::size_t p) {
      const Element e = element(s, t, p);
      const Slopes slopes = k.expected(e);
      wanted[t] = static_cast<float>(slopes.input);
      add(scale[margin + p], e.gy, slopes.scale);
      add(offset[margin + p], e.gy, slopes.offset);
      // The value of the last code is not finite, and neither is the code made of it.
      if (!k.integers && e.clipped() && !std::isfinite(e.code))
        scale[margin + p].size = offset[margin + p].size = inf;
    });
    std::vector<double> by_scale(scale.size(), before), by_offset = by_scale;
    const tq::kernels::Gradients g{c.x(), k.integers ? nullptr : y.data() + c.target_at,
                                   (in_place ? got.data() : gy.data()) + c.target_at,
                                   got.data() + c.target_at};
    k.run(g, rows(), {static_cast<float>(codes.min), static_cast<float>(codes.max)}, c.index,
          {k.learned > 0 ? by_scale.data() + margin : nullptr,
           k.learned > 1 ? by_offset.data() + margin : nullptr});
    std::ostringstream text;
    text << std::hexfloat << k.name << "codes " << codes.min << " to " << codes.max
         << (in_place ? ", in place, " : ", ") << c.form.text();
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (oracle::same(got[i], wanted[i])) continue;
      if (k.products && std::fabs(got[i] - wanted[i]) <= 1e-6f * std::fabs(wanted[i])) continue;
      text << ": dL/dx at "
           << static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(c.target_at)
           << " expected " << wanted[i] << ", got " << got[i];
      c.each([&](std::size_t s, std::size_t t, std::size_t p) {
        if (t == i)
          text << ", x " << c.source[s] << ", scale " << c.scales[p] << ", zero point "
               << c.zero(p);
      });
      return text.str();
    }
    const auto differs = [&](const Sum& sum, double value) {
      if (sum.terms == 0) return value != before;
      if (oracle::is_nan(sum.wanted)) return !oracle::is_nan(value);
      if (sum.size > 1e37) return false;  // beyond float32 on the way
      const double each = 1e-40 + 1e-15 * std::fabs(before);
      return !(std::fabs(value - sum.wanted) <=
               1e-5 * sum.size + each * static_cast<double>(sum.terms));
    };
    for (std::size_t i = 0; i < scale.size(); ++i)
      for (int which = 0; which < k.learned; ++which) {
        const Sum& sum = which == 0 ? scale[i] : offset[i];
        const double value = which == 0 ? by_scale[i] : by_offset[i];
        if (!differs(sum, value)) continue;
        text << ": sum " << which << " of parameter "
             << static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(margin) << " of "
             << params << " expected " << sum.wanted << ", got " << value << ", size " << sum.size;
        return text.str();
      }
    return {};
  }
};

inline std::vector<cases::CodeRange> ranges(bool is_unsigned) {
  if (is_unsigned) return {{0, 255}, {0, 15}, {0, 3}, {0, 65535}};
  return {{-128, 127}, {0, 255}, {-8, 7},         {0, 15},   {-127, 127},
          {-2, 1},     {-1, 1},  {-32768, 32767}, {0, 65535}};
}

/// Gradients of the output of all sizes, both zeros among them.
inline float upstream(inputs::Random& r) {
  switch (r.below(16)) {
    case 0: return 0.0f;
    case 1: return -0.0f;
    default: return static_cast<float>(std::ldexp(r.normal(), r.between(-8, 8)));
  }
}

inline Trial draw(const Kernel& k, const cases::Case& c, const cases::CodeRange& codes,
                  inputs::Random& r) {
  Trial t{k, c, codes, r.chance(40), {}, {}};
  t.gy.assign(c.target_size(), std::bit_cast<float>(0x5a5a5a5au));
  t.y = t.gy;
  const bool rare = r.chance(20);
  c.each([&](std::size_t s, std::size_t at, std::size_t p) {
    t.gy[at] = rare && r.below(50) == 0 ? (k.learned == 0 && r.chance(50) ? -inf : nan_value)
                                        : upstream(r);
    if (k.integers) return;
    // A value that a float type could have: a quarter of a step, within the range.
    const double v = static_cast<double>(c.source[s]) / static_cast<double>(c.scales[p]);
    const double near =
        std::min(std::max(std::nearbyint(4 * v) / 4, double{static_cast<double>(codes.min)}),
                 double{static_cast<double>(codes.max)});
    t.y[at] = oracle::is_nan(v) ? c.source[s]
                                : static_cast<float>(near * static_cast<double>(c.scales[p]));
  });
  return t;
}

// Values at the ends of the codes and their neighbours, where masks decide.
inline void put_kinks(cases::Case& c, const cases::CodeRange& codes, bool integers,
                      inputs::Random& r) {
  c.each([&](std::size_t s, std::size_t, std::size_t p) {
    if (!r.chance(30)) return;
    const std::int32_t zero = integers ? c.zero(p) : 0;
    const double end = static_cast<double>(r.chance(50) ? codes.min : codes.max) - zero;
    const double at = end + (r.chance(50) ? 0.0 : r.chance(50) ? 0.5 : -0.5);
    c.source[s] =
        inputs::nudge(static_cast<float>(at * static_cast<double>(c.scales[p])), r.between(-2, 2));
  });
}

/// All forms of spans, with scales, values, alignment and index drawn anew.
inline void check(const Kernel& k, const std::vector<cases::CodeRange>& all, std::uint64_t seed) {
  inputs::Random r(seed);
  std::string failures;
  int failed = 0, ran = 0;
  for (const cases::Form& form : cases::forms(block)) {
    const cases::CodeRange codes = all[r.below(all.size())];
    cases::Case c(form, codes, r);
    if (!k.integers) c.has_zero = false;
    if (r.chance(40)) put_kinks(c, codes, k.integers, r);
    const std::string text = draw(k, c, codes, r).run();
    ++ran;
    if (!text.empty() && ++failed <= 5) failures += text + "\n";
  }
  INFO(k.name << ": " << failed << " of " << ran << " spans differ\n" << failures);
  CHECK(failed == 0);
}

/// Quotients of the smallest numbers, 0 or beside it, where the first or the last code is 0.
inline void check_underflow(const Kernel& k, std::uint64_t seed) {
  inputs::Random r(seed);
  const cases::CodeRange codes{0, 3};
  const auto length = static_cast<std::ptrdiff_t>(2 * block + 3);
  const cases::Form form{2 * block + 3, 1, length, length, 0, 0};
  std::string failures;
  for (const std::int32_t zero : {0, 3})
    for (int round = 0; round < 20; ++round) {
      cases::Case c(form, codes, r);
      c.has_zero = true;
      c.zeros[0] = zero;
      c.scales[0] = std::ldexp(1.0f + 0.01f * static_cast<float>(round), 3 + round % 4);
      c.each([&](std::size_t s, std::size_t, std::size_t) {
        c.source[s] = std::ldexp(static_cast<float>(r.between(-300, 300)), -149);
      });
      failures += draw(k, c, codes, r).run();
    }
  INFO(k.name << "\n" << failures);
  CHECK(failures.empty());
}

/// NaN and infinities at every place of a stretch, alone among ordinary values; and NaN in the
/// gradient of the output.
inline void check_every_lane(const Kernel& k, const cases::CodeRange& codes, std::uint64_t seed) {
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  for (const std::size_t length : {2 * block + 3, block, block - 1}) {
    for (const std::size_t step : {0u, 1u}) {
      const auto stride = static_cast<std::ptrdiff_t>(length);
      for (std::size_t at = 0; at < length; ++at)
        for (const float special :
             {nan_value, inf, -inf, std::numeric_limits<float>::max(), 0.0f}) {
          cases::Case c({length, 1, stride, stride, 0, step}, codes, r);
          if (!k.integers) c.has_zero = false;
          for (float& s : c.scales) s = inputs::ordinary_scale(r);
          c.each([&](std::size_t s, std::size_t, std::size_t p) {
            c.source[s] = inputs::ordinary_value(r, c.scales[p]);
          });
          if (special != 0.0f) c.source[c.source_at + at] = special;
          Trial t = draw(k, c, codes, r);
          c.each([&](std::size_t, std::size_t target, std::size_t) { t.gy[target] = upstream(r); });
          if (special == 0.0f) t.gy[c.target_at + at] = nan_value;
          const std::string text = t.run();
          if (!text.empty() && ++failed <= 5)
            failures += text + ", special " + std::to_string(special) + "\n";
        }
    }
  }
  INFO(k.name << ": " << failed << " differ\n" << failures);
  CHECK(failed == 0);
}

}  // namespace backward_cases
