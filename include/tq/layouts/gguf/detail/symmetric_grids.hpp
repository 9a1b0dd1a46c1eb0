// SPDX-License-Identifier: MIT
#pragma once
// SymmetricGrids: the search for signed scales of sub-blocks, a lane for each.

#include <tq/layouts/gguf/detail/grid_values.hpp>
#include <tq/layouts/gguf/detail/search_codes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf::detail {

// P sub-blocks of N values x ~ scale * q.
template <class Arch, std::size_t N, std::size_t P, class Codes, bool Weighted>
class SymmetricGrids {
 public:
  using Values = GridValues<Arch, N, P, Weighted, Codes::fine_weight>;
  using Lanes = typename Values::Lanes;
  using Words = typename Values::Words;
  using Numbers = typename Values::Numbers;
  static constexpr std::size_t width = Lanes::width;
  static constexpr float fine = 32767.0f;

  // Sums of w q q and w x q, x in fine steps.
  struct Sums {
    Lanes qq, xq;
  };

  alignas(64) float scale[P];
  alignas(64) float unit[P];  // of a fine step, with the sign of the extreme value reversed
  alignas(64) float relative_weight[P];

  void load(const float* x, const float* weights) noexcept {
    const float zeros[P] = {};
    alignas(64) float steps[P], low[P], high[P];
    bounds_of<Arch, N, P>(x, low, high);
    Lanes any = 0.0f;
    for (std::size_t g = 0; g < P; g += width) {
      const Lanes down = Lanes(0.0f) - Lanes::load(low + g), up = Lanes::load(high + g);
      const Lanes most = Lanes::choose(up > down, up, Lanes(0.0f) - down);
      Lanes::choose(larger(up, down) > Lanes(1e-30f), Lanes(-fine) / most, 0.0f).store(steps + g);
      (most * (-1.0f / fine)).store(unit + g);
      Lanes(1.0f).store(relative_weight + g);
      const Lanes one_sign = Lanes::choose(smaller(up, down) > Lanes(0.0f), 0.0f, 1.0f);
      one_sign.store(one_sign_ + g);
      any = larger(any, one_sign);
    }
    any_one_sign_ = Lanes::any(any > Lanes(0.5f));
    values_.load(x, zeros, steps);
    if constexpr (Weighted) values_.load_weights(weights, relative_weight);
  }
  // The sums of the grid on which the value of largest magnitude is `reach` steps below 0.
  [[nodiscard]] TQ_FORCE_INLINE Sums sums(std::size_t g, Lanes reach) const noexcept {
    return sums_of(g, Words::twice(multiplier(reach)));
  }
  // Finds scales that no rounding has touched. `starts`: how far the value of largest magnitude is
  // from 0; negative where its code is positive. At most `most_starts`.
  void find(std::span<const float> starts) noexcept {
    alignas(64) std::int16_t multipliers[most_starts][2];
    for (std::size_t k = 0; k < starts.size(); ++k)
      multipliers[k][0] = multipliers[k][1] =
          static_cast<std::int16_t>(multiplier(FloatLanes<arch::scalar>(starts[k])));
    for (std::size_t g = 0; g < P; g += width) find(g, starts, multipliers[0]);
  }
  // True if a sub-block has no values of one of the signs, and if any has not.
  [[nodiscard]] bool has_one_sign(std::size_t j) const noexcept { return one_sign_[j] > 0.0f; }
  [[nodiscard]] bool has_one_sign() const noexcept { return any_one_sign_; }
  void keep(std::size_t g, const Sums& s) noexcept { s.qq.store(qq_ + g), s.xq.store(xq_ + g); }
  [[nodiscard]] TQ_FORCE_INLINE Sums kept(std::size_t g) const noexcept {
    return {Lanes::load(qq_ + g), Lanes::load(xq_ + g)};
  }

 private:
  // Takes x to 2^shift / 65536 of a code.
  template <class L>
  static TQ_FORCE_INLINE auto multiplier(L reach) noexcept {
    constexpr float steps = static_cast<float>(1 << Codes::shift) * 65536.0f / fine;
    return smaller(larger(reach * L(steps), L(-fine)), L(fine)).rounded();
  }
  [[nodiscard]] TQ_FORCE_INLINE Sums sums_of(std::size_t g, Numbers multiplier) const noexcept {
    const auto s = values_.sums(g, [&](Numbers x) TQ_LAMBDA_INLINE {
      return Codes::template nearest<Words>(Words::high(x, multiplier));
    });
    return {larger(s.qq, 1e-3f), s.xq};
  }

  // The grid that explains most of the values, the first one of several.
  struct Best {
    Sums sums{1.0f, 0.0f};
    Lanes gain = -1.0f;

    TQ_FORCE_INLINE void take(const Sums& s) noexcept {
      const Lanes found = s.xq * s.xq / s.qq;
      const auto is_better = found > gain;
      gain = Lanes::choose(is_better, found, gain);
      sums = {Lanes::choose(is_better, s.qq, sums.qq), Lanes::choose(is_better, s.xq, sums.xq)};
    }
  };

  void find(std::size_t g, std::span<const float> starts,
            const std::int16_t* multipliers) noexcept {
    Best best;
    for (std::size_t k = 0; k < starts.size(); ++k)
      best.take(sums_of(g, Words::splat(multipliers + 2 * k)));
    // Values of one sign may all be far from 0, where a small step of the grid changes much.
    const auto has_one_sign = Lanes::load(one_sign_ + g) > Lanes(0.5f);
    if (Lanes::any(has_one_sign)) {
      for (std::size_t k = 0; k < dense; ++k) {
        const float step = static_cast<float>(k) - static_cast<float>(dense / 2);
        const float reach = starts[0] + uncontracted(step * Codes::dense_step);
        best.take(sums(g, Lanes::choose(has_one_sign, reach, starts[0])));
      }
    }
    best.take(sums(g, Lanes(fine) * best.sums.qq / larger(best.sums.xq, 1.0f)));
    (best.sums.xq / best.sums.qq * Lanes::load(unit + g)).store(scale + g);
    keep(g, best.sums);
  }

  static constexpr std::size_t most_starts = 16;  // that `find` takes
  static constexpr std::size_t dense = 21;        // more starts for values of one sign

  Values values_;
  bool any_one_sign_;
  alignas(64) float one_sign_[P];
  alignas(64) float qq_[P];
  alignas(64) float xq_[P];
};

}  // namespace tq::layouts::gguf::detail
