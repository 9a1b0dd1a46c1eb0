// SPDX-License-Identifier: MIT
#pragma once
// GridValues: sub-blocks as integers of 16 bits, a lane for each, on which a candidate grid is
// tried in one pass.

#include <tq/arch/transpose_tile.hpp>
#include <tq/layouts/gguf/detail/float_lanes.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf::detail {

// P sub-blocks of N values. Weights go up to `Fine`, such that sums of w q q fit 32 bits.
template <class Arch, std::size_t N, std::size_t P, bool Weighted, int Fine = 32767>
class GridValues {
 public:
  using Lanes = FloatLanes<Arch>;
  using Words = typename Lanes::Words;
  using Numbers = typename Words::numbers;
  static constexpr std::size_t width = Lanes::width;

  // The sums of w q, w q q and w x q of the codes q of a grid.
  struct Sums {
    Lanes q, qq, xq;
  };
  // The factor that takes `xq` and `sum_x` to steps of x.
  static constexpr float product_unit = Weighted ? 32768.0f : 1.0f;

  // x = (value - low) * steps of its sub-block, at most 32767 in magnitude.
  void load(const float* values, const float* low, const float* steps) noexcept {
    turn(values, low, steps, x_);
  }
  // Afterwards the weight of a value is w times `relative` of its sub-block.
  void load_weights(const float* weights, float* relative) noexcept {
    alignas(64) float zeros[P] = {}, steps[P], least[P], greatest[P];
    bounds_of<Arch, N, P>(weights, least, greatest);
    for (std::size_t g = 0; g < P; g += width) {
      const Lanes most = Lanes::load(greatest + g), fine = static_cast<float>(Fine);
      const auto is_some = most > Lanes(1e-30f);
      Lanes::choose(is_some, fine / most, 0.0f).store(steps + g);
      Lanes::choose(is_some, most * (1.0f / static_cast<float>(Fine)), 0.0f).store(relative + g);
    }
    turn(weights, zeros, steps, w_);
    for (std::size_t i = 0; i < N * P; i += 2 * width)
      Words::store_numbers(
          wx_ + i, Words::rounded(Words::load_numbers(w_ + i), Words::load_numbers(x_ + i)));
  }
  // The sums of w and of w x of the sub-blocks from `g` on.
  [[nodiscard]] Lanes sum_w(std::size_t g) const noexcept {
    if constexpr (Weighted) return sum_of(w_, g);
    else return Lanes(static_cast<float>(N));
  }
  [[nodiscard]] Lanes sum_x(std::size_t g) const noexcept {
    return sum_of(Weighted ? wx_ : x_, g) * product_unit;
  }
  // The sums of the codes that `code` makes of registers of x.
  template <class Code>
  [[nodiscard]] TQ_FORCE_INLINE Sums sums(std::size_t g, const Code& code) const noexcept {
    Numbers count = Words::fill(0);
    auto q1 = Words::zero(), q2 = q1, xq = q1;
    // All of a sub-block at once would leave registers of 128 bits no room for 32 values.
    constexpr std::size_t step = N == 16 ? 8 : 4;
    for (std::size_t j = 0; j < N / 2; j += step)
      TQ_UNROLL for (std::size_t i = j; i < j + step; ++i) {
        const std::size_t at = 2 * (P * i + g);
        const Numbers x = Words::load_numbers(x_ + at), q = code(x);
        if constexpr (Weighted) {
          const Numbers w = Words::load_numbers(w_ + at);
          q1 = Words::add(q1, q, w);
          q2 = Words::add(q2, Words::low(q, q), w);
          xq = Words::add(xq, q, Words::load_numbers(wx_ + at));
        } else {
          count = Words::add(count, q);
          q2 = Words::add(q2, q, q);
          xq = Words::add(xq, q, x);
        }
      }
    if constexpr (!Weighted) q1 = Words::add(q1, count, Words::fill(1));
    return {Lanes::of(q1), Lanes::of(q2), Lanes::of(xq) * product_unit};
  }

 private:
  // Integers of (value - low) * steps as [pair of elements][sub-block][element of the pair].
  static void turn(const float* values, const float* low, const float* steps,
                   std::int16_t* out) noexcept {
    alignas(64) std::int16_t natural[N * P];
    if constexpr (width == 1) {
      for (std::size_t i = 0; i < N * P; ++i)
        natural[i] = static_cast<std::int16_t>(Lanes(scaled(values, low, steps, i)).rounded());
      for (std::size_t j = 0; j < P; ++j)
        for (std::size_t i = 0; i < N; ++i) out[2 * (P * (i / 2) + j) + i % 2] = natural[N * j + i];
    } else {
#if TQ_HAS_SIMD
      using Pack = arch::lanes<Arch>;
      for (std::size_t i = 0; i < N * P; i += 4 * width) {
        arch::ints<Arch> v[4];
        TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] =
            scaled(values, low, steps, i + k * width).rounded();
        typename Pack::bytes narrow[2];
        Pack::template narrow16<true>(v, narrow);
        Pack::store8(natural + i, narrow[0]);
        Pack::store8(natural + i + 2 * width, narrow[1]);
      }
      const auto* const from = reinterpret_cast<const std::uint32_t*>(natural);
      auto* const to = reinterpret_cast<std::uint32_t*>(out);
      constexpr std::size_t side = arch::square_side<Arch, 4>;
      static_assert(P % side == 0 && N / 2 % side == 0);
      for (std::size_t j = 0; j < P; j += side)
        for (std::size_t i = 0; i < N / 2; i += side)
          arch::turn_square<Arch>(from + N / 2 * j + i, N / 2, to + P * i + j, P);
#endif
    }
  }
  static TQ_FORCE_INLINE Lanes scaled(const float* values, const float* low, const float* steps,
                                      std::size_t i) noexcept {
    return (Lanes::load(values + i) - Lanes(low[i / N])) * Lanes(steps[i / N]);
  }
  static Lanes sum_of(const std::int16_t* from, std::size_t g) noexcept {
    auto sum = Words::zero();
    for (std::size_t i = 0; i < N / 2; ++i)
      sum = Words::add(sum, Words::load_numbers(from + 2 * (P * i + g)), Words::fill(1));
    return Lanes::of(sum);
  }

  alignas(64) std::int16_t x_[N * P];
  alignas(64) std::int16_t w_[Weighted ? N * P : 1];
  alignas(64) std::int16_t wx_[Weighted ? N * P : 1];  // w x / 2^15
};

}  // namespace tq::layouts::gguf::detail
