// SPDX-License-Identifier: MIT
#pragma once
// BestSymmetric: the search for a super-block with signed scales that has the least error as it is
// stored.

#include <tq/layouts/gguf/detail/nearest_codes.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>
#include <tq/layouts/gguf/detail/symmetric_grids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf::detail {

// The steps of `BestOffset`, without minimums.
template <class Arch, class Format, class Codes, bool Weighted>
class BestSymmetric {
 public:
  // Up to `super_blocks` blocks, step by step, so that none waits for the ends of its own
  // steps alone.
  // Returns a bit for each block of values on which other searches may do better: those that codes
  // meet by design, of one sign in a sub-block, or far smaller in some sub-blocks.
  // `starts` as of `SymmetricGrids`; `moves` are added to the stored code of a scale.
  static std::uint32_t encode(const float* x, const float* weights, std::span<const float> starts,
                              std::span<const float> moves, std::uint8_t* blocks,
                              std::size_t count) noexcept {
    BestSymmetric all[super_blocks];
    const std::span searches = std::span(all).first(count);
    for (std::size_t k = 0; k < count; ++k)
      all[k].grids_.load(x + 256 * k, Weighted ? weights + 256 * k : nullptr);
    for (BestSymmetric& s : searches) s.grids_.find(starts);
    for (BestSymmetric& s : searches) s.round_scales();
    for (std::size_t g = 0; g < parts; g += width)
      for (BestSymmetric& s : searches) s.round_codes(g, moves);
    for (BestSymmetric& s : searches) s.refit();
    std::uint32_t doubtful = 0;
    for (std::size_t k = 0; k < count; ++k)
      doubtful |= std::uint32_t{all[k].store(x + 256 * k, blocks + Format::bytes * k)} << k;
    return doubtful;
  }

 private:
  static constexpr std::size_t N = Format::sub_block, parts = 256 / N;
  static constexpr float low_scale = Format::low_scale;
  using Grids = SymmetricGrids<Arch, N, parts, Codes, Weighted>;
  using Lanes = typename Grids::Lanes;
  static constexpr std::size_t width = Lanes::width;

  // The largest scale takes the code that reaches farthest.
  void round_scales() noexcept {
    const float most = extreme_of<Arch, parts>(grids_.scale);
    d_ = rounded_to_half(most / low_scale);
  }
  static TQ_FORCE_INLINE Lanes code_of(Lanes v) noexcept {
    return Lanes::of(smaller(larger(v, low_scale), -low_scale - 1.0f).rounded());
  }

  void round_codes(std::size_t g, std::span<const float> moves) noexcept {
    const Lanes unit = Lanes::load(grids_.unit + g), d = d_;
    const Lanes first = code_of(Lanes::load(grids_.scale + g) * inverse(d_));
    Lanes least = 3e38f, best_a = 0.0f;
    auto best = grids_.kept(g);
    for (const float move : moves) {
      const Lanes a = code_of(first + move), scale = a * d;
      const auto is_zero = scale * scale > Lanes(0.0f);
      const Lanes reach = Lanes::choose(is_zero, unit * Grids::fine / scale, 0.0f);
      const auto s = grids_.sums(g, reach);
      const Lanes error = scale * (scale * s.qq - Lanes(2.0f) * (unit * s.xq));
      const auto is_better = error < least;
      least = Lanes::choose(is_better, error, least);
      best_a = Lanes::choose(is_better, a, best_a);
      best = {Lanes::choose(is_better, s.qq, best.qq), Lanes::choose(is_better, s.xq, best.xq)};
    }
    best_a.store(a_ + g);
    grids_.keep(g, best);
  }

  // Least squares for d under all stored codes.
  void refit() noexcept {
    alignas(64) float ax[parts], aa[parts];
    for (std::size_t g = 0; g < parts; g += width) {
      const auto s = grids_.kept(g);
      const Lanes a = Lanes::load(a_ + g), weighted = a * Lanes::load(grids_.relative_weight + g);
      (weighted * Lanes::load(grids_.unit + g) * s.xq).store(ax + g);
      (weighted * a * s.qq).store(aa + g);
    }
    const double x = tree_sum<parts>(ax), q = tree_sum<parts>(aa), old = d_;
    if (!(q > 0.0)) return;
    const float d = rounded_to_half(static_cast<float>(x / q));
    const double is = d;
    const auto error = [&](double at) {
      return tq::detail::uncontracted(at * at * q) - tq::detail::uncontracted(2 * at * x);
    };
    if (is * old > 0.0 && error(is) < error(old)) d_ = d;
  }

  bool store(const float* x, std::uint8_t* block) const noexcept {
    typename Format::Scales fields;
    fields.d = d_;
    alignas(64) float scales[parts];
    for (std::size_t g = 0; g < parts; g += width)
      (Lanes(d_) * Lanes::load(a_ + g)).store(scales + g);
    for (std::size_t j = 0; j < parts; ++j) fields.scales[j] = static_cast<int>(a_[j]);
    alignas(64) std::uint8_t codes[256];
    const bool is_near = symmetric_codes<Arch, N, parts, Codes>(x, scales, codes);
    Format::store_scales(fields, block);
    Format::store_codes(codes, block);
    return is_near || grids_.has_one_sign() || has_small_scale();
  }
  // True if a sub-block has so small a scale that its few codes are far apart.
  [[nodiscard]] bool has_small_scale() const noexcept {
    Lanes least = -low_scale;
    for (std::size_t g = 0; g < parts; g += width) {
      const Lanes scale = Lanes::load(grids_.scale + g);
      const auto is_some = magnitude(scale) > Lanes(0.0f);
      const Lanes a = Lanes(32.0f) * magnitude(Lanes::load(a_ + g));
      least = smaller(least, Lanes::choose(is_some, a, least));
    }
    return Lanes::any(least < Lanes(-low_scale));
  }

  Grids grids_;
  float d_ = 0.0f;
  alignas(64) float a_[parts];  // stored codes of scales
};

}  // namespace tq::layouts::gguf::detail
