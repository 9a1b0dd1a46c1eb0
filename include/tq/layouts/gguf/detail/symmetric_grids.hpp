// SPDX-License-Identifier: MIT
#pragma once
// SymmetricGrids: the search for signed scales of sub-blocks, a lane for each.

#include <tq/layouts/gguf/detail/grid_values.hpp>
#include <tq/layouts/gguf/detail/search_codes.hpp>

#include <algorithm>
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
    float steps[P];
    const float zeros[P] = {};
    for (std::size_t j = 0; j < P; ++j) {
      float low, high;
      bounds_of<Arch, N>(x + N * j, low, high);
      const float most = high > -low ? high : low;
      steps[j] = high > 1e-30f || low < -1e-30f ? -fine / most : 0.0f;
      unit[j] = most * (-1.0f / fine);
      relative_weight[j] = 1.0f;
      one_sign_[j] = low >= 0.0f || high <= 0.0f ? 1.0f : 0.0f;
    }
    values_.load(x, zeros, steps);
    if constexpr (Weighted) values_.load_weights(weights, relative_weight);
  }
  // The sums of the grid on which the value of largest magnitude is `reach` steps below 0.
  [[nodiscard]] TQ_FORCE_INLINE Sums sums(std::size_t g, Lanes reach) const noexcept {
    constexpr float steps = static_cast<float>(1 << Codes::shift) * 65536.0f / fine;
    const auto multiplier = Words::twice(smaller(larger(reach * steps, -fine), fine).rounded());
    const auto s = values_.sums(g, [&](typename Values::Numbers x) TQ_LAMBDA_INLINE {
      return Codes::template nearest<Words>(Words::high(x, multiplier));
    });
    return {larger(s.qq, 1e-3f), s.xq};
  }

  // Finds scales that no rounding has touched. `starts`: how far the value of largest magnitude is
  // from 0; negative where its code is positive.
  void find(std::span<const float> starts) noexcept {
    for (std::size_t g = 0; g < P; g += width) find(g, starts);
  }
  // True if a sub-block has no values of one of the signs, and if any has not.
  [[nodiscard]] bool has_one_sign(std::size_t j) const noexcept { return one_sign_[j] > 0.0f; }
  [[nodiscard]] bool has_one_sign() const noexcept {
    return *std::max_element(one_sign_, one_sign_ + P) > 0.0f;
  }
  void keep(std::size_t g, const Sums& s) noexcept { s.qq.store(qq_ + g), s.xq.store(xq_ + g); }
  [[nodiscard]] TQ_FORCE_INLINE Sums kept(std::size_t g) const noexcept {
    return {Lanes::load(qq_ + g), Lanes::load(xq_ + g)};
  }

 private:
  void find(std::size_t g, std::span<const float> starts) noexcept {
    Sums best{1.0f, 0.0f};
    Lanes most = -1.0f;
    // Values of one sign may all be far from 0, where a small step of the grid changes much.
    const auto has_one_sign = Lanes::load(one_sign_ + g) > Lanes(0.5f);
    const std::size_t count = starts.size() + (Lanes::any(has_one_sign) ? dense : 0);
    for (std::size_t k = 0; k <= count; ++k) {
      Lanes reach = starts[k < starts.size() ? k : 0];
      if (k == count) {
        reach = Lanes(fine) * best.qq / larger(best.xq, 1.0f);
      } else if (k >= starts.size()) {
        const float step = static_cast<float>(k - starts.size()) - static_cast<float>(dense / 2);
        reach = Lanes::choose(has_one_sign, starts[0] + step * Codes::dense_step, reach);
      }
      const Sums s = sums(g, reach);
      const Lanes gain = s.xq * s.xq / s.qq;
      const auto is_better = gain > most;
      most = Lanes::choose(is_better, gain, most);
      best = {Lanes::choose(is_better, s.qq, best.qq), Lanes::choose(is_better, s.xq, best.xq)};
    }
    (best.xq / best.qq * Lanes::load(unit + g)).store(scale + g);
    keep(g, best);
  }

  static constexpr std::size_t dense = 21;  // more starts for values of one sign

  Values values_;
  alignas(64) float one_sign_[P];
  alignas(64) float qq_[P];
  alignas(64) float xq_[P];
};

}  // namespace tq::layouts::gguf::detail
