// SPDX-License-Identifier: MIT
#pragma once
// BestSymmetric: the search for a super-block with signed scales that has the least error as it is
// stored.

#include <tq/layouts/gguf/detail/grid_values.hpp>
#include <tq/layouts/gguf/detail/real.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf::detail {

// The steps of `BestOffset`, without minimums.
template <class Format, bool Weighted>
class BestSymmetric {
 public:
  using Fields = typename Format::Fields;

  // `starts`: how many steps more than the least code the value of largest magnitude is away from
  // 0; `moves` are added to the stored code of a scale.
  static Fields find(const float* x, const float* weights, std::span<const double> starts,
                     std::span<const int> moves) noexcept {
    BestSymmetric search;
    for (std::size_t j = 0; j < parts; ++j) {
      Part& part = search.parts_[j];
      load(part, x + N * j, Weighted ? weights + N * j : nullptr);
      find_grid(part, starts);
    }
    search.round_scales();
    for (Part& part : search.parts_) search.round_code(part, moves);
    search.refit();
    Fields fields;
    fields.d = search.d_;
    for (std::size_t j = 0; j < parts; ++j) fields.scales[j] = search.parts_[j].a;
    fields.take_codes(x, zero);
    return fields;
  }

 private:
  static constexpr std::size_t N = 16, parts = 16;
  static constexpr int zero = Format::zero, low_scale = Format::low_scale;
  static constexpr int shift = zero == 32 ? 24 : 27;
  static constexpr double one = static_cast<double>(1 << shift), fine = 32767.0;

  struct Sums {
    Real qq = 1.0, xq;  // of w q q and w x q, x in fine steps
  };
  struct Part {
    GridValues<N, Weighted> values;  // the value of largest magnitude is -32767
    Real unit, scale;                // of a fine step, with the sign of that value reversed
    int a = 0;
    Sums sums;
  };

  static void load(Part& p, const float* x, const float* weights) noexcept {
    const float most = extreme(x, N);
    const bool is_zero = !(std::fabs(most) > 1e-30f);
    p.values.load(x, 0.0f, is_zero ? 0.0f : static_cast<float>(-fine) / most, weights);
    p.unit = Real(double{most}) / -fine;
  }
  // The sums of the grid on which the value of largest magnitude is `reach` steps below 0.
  static Sums sums(const Part& p, Real reach) noexcept {
    const GridSums s = p.values.sums(grid_step(larger(reach, 0.0) * (one / fine)), 1 << (shift - 1),
                                     shift, -zero, zero - 1);
    return {larger(s.qq, 1e-3), Real(s.xq) * p.values.product_unit};
  }

  static void find_grid(Part& p, std::span<const double> starts) noexcept {
    const auto take = [&](const Sums& s) {
      if (s.xq * s.xq * p.sums.qq > p.sums.xq * p.sums.xq * s.qq) p.sums = s;
    };
    for (const double start : starts) take(sums(p, zero + start));
    if (p.sums.xq > 0.0) take(sums(p, fine * p.sums.qq / p.sums.xq));
    p.scale = p.sums.xq / p.sums.qq * p.unit;
  }

  // The largest scale takes the code that reaches farthest.
  void round_scales() noexcept {
    Real most;
    for (const Part& p : parts_)
      if (std::fabs(p.scale.value) > std::fabs(most.value)) most = p.scale;
    d_ = rounded_to_half(static_cast<float>((most / low_scale).value));
  }

  void round_code(Part& p, std::span<const int> moves) const noexcept {
    const Real d = double{d_};
    const int a = d_ != 0.0f ? rounded_in(p.scale / d, low_scale, -low_scale - 1) : 0;
    Real least = 1e300;
    Sums best;
    for (const int move : moves) {
      const int try_a = std::clamp(a + move, low_scale, -low_scale - 1);
      const Real scale = d * try_a;
      const bool is_zero = scale.value == 0.0;
      const Sums s = is_zero ? Sums{1e-3, 0.0} : sums(p, fine * p.unit / scale);
      const Real error = scale * (scale * s.qq - 2.0 * p.unit * s.xq);
      if (error < least) least = error, p.a = try_a, best = s;
    }
    p.sums = best;
  }

  void refit() noexcept {
    Real numerator, denominator;
    for (const Part& p : parts_) {
      const Real a = Real(p.a) * p.values.relative_weight;
      numerator = numerator + a * p.unit * p.sums.xq;
      denominator = denominator + a * p.a * p.sums.qq;
    }
    if (!(denominator > 0.0)) return;
    const Real d = numerator / denominator;
    if (d * double{d_} > 0.0) d_ = rounded_to_half(static_cast<float>(d.value));
  }

  std::array<Part, parts> parts_;
  float d_ = 0.0f;
};

}  // namespace tq::layouts::gguf::detail
