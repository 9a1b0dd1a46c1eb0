// SPDX-License-Identifier: MIT
#pragma once
// BestOffset: the search for a super-block with scales and minimums that has the least error as it
// is stored.

#include <tq/layouts/gguf/detail/grid_values.hpp>
#include <tq/layouts/gguf/detail/real.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf::detail {

// A grid that is tried first: `low` steps of it lie below the least value, `high` above the
// greatest. Or a move of the stored codes of scale and minimum.
struct Try {
  double low, high;
};

// 1. For every sub-block: the best of a few starting grids, improved once by least squares.
// 2. d and dmin, which are then rounded; from here on only stored numbers count.
// 3. For every sub-block: the best stored codes of scale and minimum near those of step 1.
// 4. d and dmin once more by least squares, then the codes of all values.
template <class Format, bool Weighted>
class BestOffset {
 public:
  using Fields = typename Format::Fields;

  static Fields find(const float* x, const float* weights, std::span<const Try> starts,
                     std::span<const Try> moves) noexcept {
    BestOffset search;
    for (std::size_t j = 0; j < parts; ++j) {
      Part& part = search.parts_[j];
      load(part, x + N * j, Weighted ? weights + N * j : nullptr);
      find_grid(part, starts);
    }
    search.round_scales();
    for (Part& part : search.parts_) search.round_codes(part, moves);
    search.refit();
    Fields fields;
    fields.d = search.d_, fields.dmin = search.dmin_;
    for (std::size_t j = 0; j < parts; ++j) {
      fields.scales[j] = search.parts_[j].a;
      fields.minimums[j] = search.parts_[j].b;
    }
    fields.take_codes(x, top);
    return fields;
  }

 private:
  static constexpr std::size_t N = Format::sub_block, parts = 256 / N;
  static constexpr int top = Format::top, top_scale = Format::top_scale;
  static constexpr int shift = top == 3 ? 27 : top == 15 ? 25 : 24;
  static constexpr double one = static_cast<double>(1 << shift), fine = 32767.0, none = 1e-3;

  // Sums of w q, w q q and w (x - mean) q, with codes q and values x.
  struct Sums {
    Real q, qq, xq;
  };
  struct Part {
    GridValues<N, Weighted> values;
    Real low, range, unit;  // of the values; `unit` is that of the fine steps
    Real sum_w, inverse_w;  // of the weights
    Real fine_mean, mean;   // weighted, in fine steps from `low` and as a value
    Real scale, minimum;    // found before rounding
    int a = 0, b = 0;       // the stored codes of scale and minimum
    Sums sums;              // of the codes that are best so far
  };

  static void load(Part& p, const float* x, const float* weights) noexcept {
    const Bounds range = bounds(x, N);
    const float low = std::min(range.low, 0.0f);  // no stored offset is positive
    const float width = range.high - low;
    const float steps = width > 1e-30f ? static_cast<float>(fine) / width : 0.0f;
    p.values.load(x, low, steps, weights);
    p.low = low, p.range = width, p.unit = p.range / fine;
    p.sum_w = std::max(p.values.sum_w, 1), p.inverse_w = 1.0 / p.sum_w;
    p.fine_mean = Real(p.values.sum_x) * p.values.product_unit * p.inverse_w;
    p.mean = p.low + p.fine_mean * p.unit;
  }

  // The sums of the grid whose code is `at_low` at the least value and `steps` more at the
  // greatest.
  static Sums sums(const Part& p, Real steps, Real at_low) noexcept {
    const GridSums s = p.values.sums(grid_step(steps * (one / fine)),
                                     grid_offset((at_low + 0.5) * one), shift, 0, top);
    const Real q = s.q;
    return {q, s.qq, (Real(s.xq) * p.values.product_unit - q * p.fine_mean) * p.unit};
  }
  static Real spread(const Part& p, const Sums& s) noexcept {
    return s.qq - s.q * s.q * p.inverse_w;
  }
  // True where the best offset of these codes would be positive, so that it is 0.
  static bool is_above(const Part& p, const Sums& s, Real spread) noexcept {
    return p.mean * spread > s.xq * s.q * p.inverse_w;
  }
  // Σ w x q.
  static Real raw(const Part& p, const Sums& s) noexcept { return p.mean * s.q + s.xq; }

  static void find_grid(Part& p, std::span<const Try> starts) noexcept {
    Real best = -1e300;
    const auto take = [&](const Sums& s) {
      const Real width = larger(spread(p, s), none), r = raw(p, s);
      const Real gain = is_above(p, s, width)
                            ? r * r / larger(s.qq, none) - p.sum_w * p.mean * p.mean
                            : s.xq * s.xq / width;
      if (gain > best) best = gain, p.sums = s;
    };
    const bool is_positive = !(p.low < 0.0);
    for (std::size_t k = 0; k < starts.size(); ++k)
      if (is_positive)
        take(sums(p, top + 0.5 - 1.6 * static_cast<double>(k) / static_cast<double>(starts.size()),
                  0.0));
      else take(sums(p, top + starts[k].low + starts[k].high, -starts[k].low));
    improve(p, take);
    const Real width = spread(p, p.sums), r = raw(p, p.sums);
    const Real scale = width > none ? p.sums.xq / width : Real();
    const Real offset = p.mean - scale * p.inverse_w * p.sums.q;
    if (offset > 0.0) {
      p.scale = p.sums.qq > 0.0 ? larger(r / p.sums.qq, 0.0) : Real();
      p.minimum = 0.0;
    } else {
      p.scale = larger(scale, 0.0), p.minimum = 0.0 - offset;
    }
  }
  // The grid that fits the best codes, tried once.
  template <class Take>
  static void improve(const Part& p, Take&& take) noexcept {
    const Sums& s = p.sums;
    const Real width = spread(p, s), r = raw(p, s);
    Real steps = s.xq > 0.0 ? width / s.xq : Real();
    Real at_low = steps * (p.low - p.mean) + s.q * p.inverse_w;
    if (is_above(p, s, width)) {
      steps = r > 0.0 ? s.qq / r : Real();
      at_low = steps * p.low;
    }
    take(sums(p, steps * p.range, at_low));
  }

  void round_scales() noexcept {
    Real scale, minimum;
    for (const Part& p : parts_) {
      scale = larger(scale, p.scale);
      minimum = larger(minimum, p.minimum);
    }
    d_ = rounded_to_half(static_cast<float>((scale / top_scale).value));
    dmin_ = rounded_to_half(static_cast<float>((minimum / top_scale).value));
  }

  void round_codes(Part& p, std::span<const Try> moves) const noexcept {
    const Real d = double{d_}, dmin = double{dmin_}, per_dmin = inverse(dmin);
    const Real step = d * p.sums.q * p.inverse_w;  // of the minimum, for each code of the scale
    const int a = rounded_in(p.scale * inverse(d), 0, top_scale);
    Real least = 1e300;
    Sums best;
    for (const Try& move : moves) {
      const int try_a = std::clamp(a + static_cast<int>(move.low), 0, top_scale);
      const int try_b =
          rounded_in(Real(rounded_in((step * try_a - p.mean) * per_dmin, 0, top_scale)) + move.high,
                     0, top_scale);
      const Real scale = d * try_a, minimum = dmin * try_b, per = inverse(scale);
      const Sums s = sums(p, per * p.range, per * (p.low + minimum));
      const Real m = minimum + p.mean;
      const Real error = scale * (scale * s.qq - 2.0 * (m * s.q + s.xq)) + p.sum_w * m * m;
      if (error < least) {
        least = error;
        p.a = try_a, p.b = try_b;
        best = s;
      }
    }
    p.sums = best;
  }

  // Least squares for d and dmin under all stored codes.
  void refit() noexcept {
    Real aa, ab, bb, ax, bx;
    for (const Part& p : parts_) {
      const Real a = Real(p.a) * p.values.relative_weight, b = Real(p.b) * p.values.relative_weight;
      aa = aa + a * p.a * p.sums.qq;
      ab = ab - a * p.b * p.sums.q;
      bb = bb + b * p.b * p.sum_w;
      ax = ax + a * raw(p, p.sums);
      bx = bx - b * p.mean * p.sum_w;
    }
    const Real determinant = aa * bb - ab * ab;
    if (determinant > 1e-5 * aa * bb) {
      const Real d = (ax * bb - bx * ab) / determinant, dmin = (bx * aa - ax * ab) / determinant;
      if (!(d > 0.0) || dmin < 0.0) return;
      d_ = rounded_to_half(static_cast<float>(d.value));
      dmin_ = rounded_to_half(static_cast<float>(dmin.value));
    } else if (aa > 0.0 && ax > 0.0) {
      d_ = rounded_to_half(static_cast<float>((ax / aa).value));
    }
  }

  std::array<Part, parts> parts_;
  float d_ = 0.0f, dmin_ = 0.0f;
};

}  // namespace tq::layouts::gguf::detail
