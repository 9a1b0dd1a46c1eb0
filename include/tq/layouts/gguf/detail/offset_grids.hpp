// SPDX-License-Identifier: MIT
#pragma once
// OffsetGrids: the search for scales and minimums of sub-blocks, a lane for each.

#include <tq/layouts/gguf/detail/grid_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf::detail {

// A grid that is tried first: `low` steps of it lie below the least value, `high` above the
// greatest. Or a move of the stored codes of scale and minimum.
struct Try {
  float low, high;
};

// P sub-blocks of N values x ~ scale * q - minimum, with codes q of 0 to Top. Unless `AnyOffset`,
// minimums are at least 0.
template <class Arch, std::size_t N, std::size_t P, int Top, bool Weighted, bool AnyOffset>
class OffsetGrids {
 public:
  using Values = GridValues<Arch, N, P, Weighted>;
  using Lanes = typename Values::Lanes;
  using Words = typename Values::Words;
  using Mask = typename Lanes::Mask;
  static constexpr std::size_t width = Lanes::width;

  // Sums of w q, w q q and w (x - mean) q, with codes q and values x.
  struct Sums {
    Lanes q, qq, xq;
  };
  // Numbers of the sub-blocks of a register.
  struct Part {
    std::size_t first;
    Lanes low, range, unit;  // of the values; `unit` is that of the fine steps
    Lanes sum_w, inverse_w;  // of the weights
    Lanes fine_mean, mean;   // weighted, in fine steps from `low` and as a value

    [[nodiscard]] Lanes spread(const Sums& s) const noexcept {
      return s.qq - s.q * s.q * inverse_w;
    }
    // The sum of w x q.
    [[nodiscard]] Lanes raw(const Sums& s) const noexcept { return mean * s.q + s.xq; }
  };

  alignas(64) float scale[P];
  alignas(64) float minimum[P];
  alignas(64) float relative_weight[P];

  void load(const float* x, const float* weights) noexcept {
    float steps[P], lows[P], highs[P];
    bounds_of<Arch, N, P>(x, lows, highs);
    for (std::size_t j = 0; j < P; ++j) {
      float low = lows[j];
      const float high = highs[j];
      if (!AnyOffset && !(low < 0.0f)) low = 0.0f;  // no stored offset is positive
      low_[j] = low, range_[j] = high - low;
      steps[j] = range_[j] > 1e-30f ? fine / range_[j] : 0.0f;
      relative_weight[j] = 1.0f;
      one_sign_[j] = low >= 0.0f || high <= 0.0f;
    }
    values_.load(x, low_, steps);
    if constexpr (Weighted) values_.load_weights(weights, relative_weight);
    for (std::size_t g = 0; g < P; g += width) {
      const Lanes sum = larger(values_.sum_w(g), 1.0f);
      const Lanes mean = values_.sum_x(g) / sum;
      sum.store(sum_w_ + g), mean.store(fine_mean_ + g);
    }
  }
  // True if a sub-block has no values of one of the signs, and if any has not.
  [[nodiscard]] bool has_one_sign(std::size_t j) const noexcept { return one_sign_[j]; }
  [[nodiscard]] bool has_one_sign() const noexcept {
    return std::find(one_sign_, one_sign_ + P, true) != one_sign_ + P;
  }
  [[nodiscard]] TQ_FORCE_INLINE Part part(std::size_t g) const noexcept {
    Part p;
    p.first = g;
    p.low = Lanes::load(low_ + g), p.range = Lanes::load(range_ + g);
    p.unit = p.range * (1.0f / fine);
    p.sum_w = Lanes::load(sum_w_ + g), p.inverse_w = Lanes(1.0f) / p.sum_w;
    p.fine_mean = Lanes::load(fine_mean_ + g);
    p.mean = p.low + p.fine_mean * p.unit;
    return p;
  }

  // The sums of the grid whose code is `at_low` at the least value and `steps` more at the
  // greatest.
  [[nodiscard]] TQ_FORCE_INLINE Sums sums(const Part& p, Lanes steps, Lanes at_low) const noexcept {
    const auto multiplier =
        Words::twice(smaller(larger(steps, 0.0f) * (one * 65536.0f / fine), 65535.0f).rounded());
    const auto offset = Words::twice(
        smaller(larger(at_low * one + (one / 2 + 0.5f + bias), 0.0f), 65535.0f).rounded());
    const auto below = Words::fill(bias);
    const auto s = values_.sums(p.first, [&](typename Values::Numbers x) TQ_LAMBDA_INLINE {
      return Words::template right_unsigned<shift>(Words::subtract_unsigned(
          Words::add_unsigned(Words::high_unsigned(x, multiplier), offset), below));
    });
    return {s.q, s.qq, (s.xq - s.q * p.fine_mean) * p.unit};
  }

  // Finds scales and minimums that no rounding has touched, and the sums of their codes.
  void find(std::span<const Try> starts) noexcept {
    for (std::size_t g = 0; g < P; g += width) find(part(g), starts);
  }
  void keep(std::size_t g, const Sums& s) noexcept {
    s.q.store(q_ + g), s.qq.store(qq_ + g), s.xq.store(xq_ + g);
  }
  [[nodiscard]] TQ_FORCE_INLINE Sums kept(std::size_t g) const noexcept {
    return {Lanes::load(q_ + g), Lanes::load(qq_ + g), Lanes::load(xq_ + g)};
  }

 private:
  static constexpr float fine = 32767.0f, none = 1e-3f;
  static constexpr int shift = Top == 3    ? 12
                               : Top == 15 ? 10
                                           : 9,
                       bias = 65536 - ((Top + 1) << shift);
  static constexpr float one = static_cast<float>(1 << shift);
  // A later start must explain more by this factor: with few codes many grids fit values of two
  // kinds, and the scales of sub-blocks should agree.
  static constexpr float margin = Top == 3 ? 1.0001f : 1.0f;
  static constexpr std::size_t dense = 24;  // more starts for values that are all positive

  struct Grid {
    Lanes steps, at_low;
  };
  struct Best {
    Sums sums;
    Lanes gain;
  };

  // True where values are so far above 0 that the best offset may be.
  static Mask may_rise(const Part& p) noexcept {
    return p.low * static_cast<float>(Top) > Lanes(0.0f) - p.range;
  }
  // `yes` where the best offset of the codes would be positive, so that it is 0, else `no`.
  static TQ_FORCE_INLINE Lanes if_above(const Part& p, const Sums& s, Lanes spread, Lanes yes,
                                        Lanes no) noexcept {
    if constexpr (AnyOffset) return no;
    return Lanes::choose(may_rise(p),
                         Lanes::choose(p.mean * spread > s.xq * s.q * p.inverse_w, yes, no), no);
  }
  static TQ_FORCE_INLINE Lanes positive_quotient(Lanes a, Lanes b) noexcept {
    return Lanes::choose(b > Lanes(0.0f), a / b, 0.0f);
  }

  void find(const Part& p, std::span<const Try> starts) noexcept {
    Best best{{0.0f, 0.0f, 0.0f}, -3e38f};
    const auto is_signed = p.low < Lanes(0.0f);
    const bool more = !AnyOffset && Lanes::any(Lanes::choose(is_signed, 0.0f, 1.0f) > 0.5f);
    const std::size_t count = starts.size() + (more ? dense : 0);
    for (std::size_t k = 0; k <= count; ++k) {
      Grid grid;
      if (k == count) {
        grid = fitted(p, best.sums);
      } else {
        const Try start = starts[k < starts.size() ? k : 0];
        grid = {static_cast<float>(Top) + start.low + start.high, 0.0f - start.low};
        if (more) {
          const float share = static_cast<float>(k) / static_cast<float>(count);
          grid.steps =
              Lanes::choose(is_signed, grid.steps, static_cast<float>(Top) + 0.5f - 1.6f * share);
          grid.at_low = Lanes::choose(is_signed, grid.at_low, 0.0f);
        }
      }
      take(p, sums(p, grid.steps, grid.at_low), best);
    }
    finish(p, best.sums);
  }
  static TQ_FORCE_INLINE void take(const Part& p, const Sums& s, Best& best) noexcept {
    const Lanes spread = larger(p.spread(s), none), r = p.raw(s);
    const Lanes gain = if_above(
        p, s, spread, r * r / larger(s.qq, none) - p.sum_w * p.mean * p.mean, s.xq * s.xq / spread);
    const auto is_better = gain > best.gain * margin;
    best.gain = Lanes::choose(is_better, gain, best.gain);
    best.sums = {Lanes::choose(is_better, s.q, best.sums.q),
                 Lanes::choose(is_better, s.qq, best.sums.qq),
                 Lanes::choose(is_better, s.xq, best.sums.xq)};
  }
  // The grid that fits codes best.
  static TQ_FORCE_INLINE Grid fitted(const Part& p, const Sums& s) noexcept {
    const Lanes spread = p.spread(s), free = positive_quotient(spread, s.xq);
    const Lanes bound = positive_quotient(s.qq, p.raw(s));
    const Lanes steps = if_above(p, s, spread, bound, free);
    return {steps * p.range,
            if_above(p, s, spread, bound * p.low, free * (p.low - p.mean) + s.q * p.inverse_w)};
  }
  void finish(const Part& p, const Sums& s) noexcept {
    const Lanes zero = 0.0f, spread = p.spread(s);
    const Lanes free = Lanes::choose(spread > none, s.xq / larger(spread, none), zero);
    const Lanes offset = p.mean - free * p.inverse_w * s.q;
    const auto is_bound = AnyOffset ? zero > zero : offset > zero;
    const Lanes bound = Lanes::choose(s.qq > zero, p.raw(s) / s.qq, zero);
    larger(Lanes::choose(is_bound, bound, free), zero).store(scale + p.first);
    Lanes::choose(is_bound, zero, zero - offset).store(minimum + p.first);
    keep(p.first, s);
  }

  Values values_;
  bool one_sign_[P];
  alignas(64) float low_[P];
  alignas(64) float range_[P];
  alignas(64) float sum_w_[P];
  alignas(64) float fine_mean_[P];
  alignas(64) float q_[P];
  alignas(64) float qq_[P];
  alignas(64) float xq_[P];
};

}  // namespace tq::layouts::gguf::detail
