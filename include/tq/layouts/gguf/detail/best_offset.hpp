// SPDX-License-Identifier: MIT
#pragma once
// BestOffset: the search for a super-block with scales and minimums that has the least error as it
// is stored.

#include <tq/layouts/gguf/detail/nearest_codes.hpp>
#include <tq/layouts/gguf/detail/offset_grids.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf::detail {

// 1. For every sub-block: the best of a few starting grids, improved once by least squares.
// 2. d and dmin, which are then rounded; from here on only stored numbers count.
// 3. For every sub-block: the best stored codes of scale and minimum near those of step 1.
// 4. d and dmin once more by least squares. Where values have one sign, on which rounded minimums
//    weigh most, steps 3 and 4 are repeated while they help.
// 5. The codes of all values.
template <class Arch, class Format, bool Weighted>
class BestOffset {
 public:
  // Up to `super_blocks` blocks, step by step, so that none waits for the ends of its own steps
  // alone.
  // Returns a bit for each block of values on which other searches may do better: those that codes
  // meet by design, of one sign in a sub-block, or far smaller in some sub-blocks.
  static std::uint32_t encode(const float* x, const float* weights, std::span<const Try> starts,
                              std::span<const Try> moves, std::uint8_t* blocks,
                              std::size_t count) noexcept {
    BestOffset all[super_blocks];
    const std::span searches = std::span(all).first(count);
    for (std::size_t k = 0; k < count; ++k)
      all[k].grids_.load(x + 256 * k, Weighted ? weights + 256 * k : nullptr);
    for (BestOffset& s : searches) s.grids_.find(starts);
    for (BestOffset& s : searches) s.round_scales();
    for (std::size_t g = 0; g < parts; g += width)
      for (BestOffset& s : searches) s.round_codes(g, moves);
    for (BestOffset& s : searches) s.refit();
    for (BestOffset& s : searches)
      if (s.grids_.has_one_sign()) s.repeat(moves);
    std::uint32_t doubtful = 0;
    for (std::size_t k = 0; k < count; ++k)
      doubtful |= std::uint32_t{all[k].store(x + 256 * k, blocks + Format::bytes * k)} << k;
    return doubtful;
  }

 private:
  static constexpr std::size_t N = Format::sub_block, parts = 256 / N;
  static constexpr float top_scale = Format::top_scale;
  using Grids = OffsetGrids<Arch, N, parts, Format::top, Weighted, false>;
  using Lanes = typename Grids::Lanes;
  static constexpr std::size_t width = Lanes::width;

  struct Stored {
    float d = 0.0f, dmin = 0.0f;
    alignas(64) float a[parts];  // codes of scales and minimums
    alignas(64) float b[parts];
    double error = 0.0;  // up to a constant
  };

  void repeat(std::span<const Try> moves) noexcept {
    for (int k = 0; k < 3; ++k) {
      const Stored before = stored_;
      for (std::size_t g = 0; g < parts; g += width) round_codes(g, moves);
      refit();
      if (stored_.error < before.error) continue;
      stored_ = before;
      break;
    }
  }
  void round_scales() noexcept {
    stored_.d = rounded_to_half(*std::max_element(grids_.scale, grids_.scale + parts) / top_scale);
    stored_.dmin =
        rounded_to_half(*std::max_element(grids_.minimum, grids_.minimum + parts) / top_scale);
  }
  // The code of a stored scale or minimum.
  static TQ_FORCE_INLINE Lanes code_of(Lanes v) noexcept {
    return Lanes::of(smaller(larger(v, 0.0f), top_scale).rounded());
  }

  void round_codes(std::size_t g, std::span<const Try> moves) noexcept {
    const auto part = grids_.part(g);
    const auto found = grids_.kept(g);
    const Lanes d = stored_.d, dmin = stored_.dmin, per_dmin = inverse(stored_.dmin);
    const Lanes step = d * found.q * part.inverse_w;  // of the minimum, for each code of the scale
    const Lanes first = code_of(Lanes::load(grids_.scale + g) * inverse(stored_.d));
    Lanes least = 3e38f, best_a = 0.0f, best_b = 0.0f;
    auto best = found;
    for (const Try& move : moves) {
      const Lanes a = code_of(first + move.low);
      const Lanes b = code_of(code_of((a * step - part.mean) * per_dmin) + move.high);
      const Lanes scale = a * d, minimum = b * dmin, m = minimum + part.mean;
      const Lanes per = Lanes::choose(scale > Lanes(0.0f), Lanes(1.0f) / scale, 0.0f);
      const auto s = grids_.sums(part, per * part.range, per * (part.low + minimum));
      const Lanes error =
          scale * (scale * s.qq - Lanes(2.0f) * (m * s.q + s.xq)) + part.sum_w * m * m;
      const auto is_better = error < least;
      least = Lanes::choose(is_better, error, least);
      best_a = Lanes::choose(is_better, a, best_a);
      best_b = Lanes::choose(is_better, b, best_b);
      best = {Lanes::choose(is_better, s.q, best.q), Lanes::choose(is_better, s.qq, best.qq),
              Lanes::choose(is_better, s.xq, best.xq)};
    }
    best_a.store(stored_.a + g), best_b.store(stored_.b + g);
    grids_.keep(g, best);
  }

  // The error of the stored codes is d^2 aa + 2 d dmin ab + dmin^2 bb - 2 d ax - 2 dmin bx, and a
  // constant.
  struct Quadratic {
    double aa, ab, bb, ax, bx;
    // Products of float32 numbers are exact, so that no fused operation changes a result.
    [[nodiscard]] double error(double d, double dmin) const noexcept {
      const double dd = d * d, mm = dmin * dmin, dm = 2 * d * dmin;
      return ((tq::detail::uncontracted(dd * aa) + tq::detail::uncontracted(dm * ab)) +
              tq::detail::uncontracted(mm * bb)) -
             (tq::detail::uncontracted(2 * d * ax) + tq::detail::uncontracted(2 * dmin * bx));
    }
  };
  [[nodiscard]] Quadratic quadratic() const noexcept {
    alignas(64) float aa[parts], ab[parts], bb[parts], ax[parts], bx[parts];
    for (std::size_t g = 0; g < parts; g += width) {
      const auto part = grids_.part(g);
      const auto s = grids_.kept(g);
      const Lanes weight = Lanes::load(grids_.relative_weight + g);
      const Lanes a = Lanes::load(stored_.a + g), b = Lanes::load(stored_.b + g), wa = a * weight,
                  wb = b * weight;
      (wa * a * s.qq).store(aa + g);
      (wa * b * s.q).store(ab + g);
      (wb * b * part.sum_w).store(bb + g);
      (wa * part.raw(s)).store(ax + g);
      (wb * part.mean * part.sum_w).store(bx + g);
    }
    return {tree_sum<parts>(aa), -tree_sum<parts>(ab), tree_sum<parts>(bb), tree_sum<parts>(ax),
            -tree_sum<parts>(bx)};
  }
  // Least squares for d and dmin under all stored codes.
  void refit() noexcept {
    const Quadratic q = quadratic();
    const double determinant = q.aa * q.bb - q.ab * q.ab;
    double d = 0.0, dmin = double{stored_.dmin};
    if (determinant > 1e-5 * q.aa * q.bb) {
      d = (q.ax * q.bb - q.bx * q.ab) / determinant;
      dmin = (q.bx * q.aa - q.ax * q.ab) / determinant;
    } else if (q.aa > 0.0) {
      d = q.ax / q.aa;
    }
    stored_.error = q.error(stored_.d, stored_.dmin);
    if (!(d > 0.0) || !(dmin >= 0.0)) return;
    const float new_d = rounded_to_half(static_cast<float>(d)),
                new_dmin = rounded_to_half(static_cast<float>(dmin));
    const double error = q.error(new_d, new_dmin);
    if (error < stored_.error) stored_.d = new_d, stored_.dmin = new_dmin, stored_.error = error;
  }

  bool store(const float* x, std::uint8_t* block) const noexcept {
    typename Format::Scales fields;
    fields.d = stored_.d, fields.dmin = stored_.dmin;
    float scales[parts], minimums[parts];
    for (std::size_t j = 0; j < parts; ++j) {
      fields.scales[j] = static_cast<int>(stored_.a[j]),
      fields.minimums[j] = static_cast<int>(stored_.b[j]);
      scales[j] = uncontracted(stored_.d * stored_.a[j]),
      minimums[j] = uncontracted(stored_.dmin * stored_.b[j]);
    }
    alignas(64) std::uint8_t codes[256];
    const bool is_near = offset_codes<Arch, N, parts, Format::top>(x, scales, minimums, codes);
    Format::store_scales(fields, block);
    Format::store_codes(codes, block);
    return is_near || grids_.has_one_sign() || has_small_scale();
  }
  // True if a sub-block has so small a scale that its few codes are far apart.
  [[nodiscard]] bool has_small_scale() const noexcept {
    for (std::size_t j = 0; j < parts; ++j)
      if (32.0f * stored_.a[j] < top_scale && grids_.scale[j] > 0.0f) return true;
    return false;
  }

  Grids grids_;
  Stored stored_;
};

}  // namespace tq::layouts::gguf::detail
