// SPDX-License-Identifier: MIT
#pragma once
// The codes of symmetric formats, as searches know them.
//
// Members:
//   zero              the magnitude of the least code, to which ggml takes the extreme value
//   shift             a code is 2^shift steps of 16-bit numbers
//   dense_step        the step of reaches of grids where many are tried
//   fine_weight       the largest weight for which sums of w q q fit 32 bits
//   nearest<Words>(v) the codes nearest to registers of steps
//   stored(v)         the codes nearest to lanes of floats, as they are stored
//   distance(v, s)    v less the codes that are stored as s; 1 if distances say nothing

#include <tq/config.hpp>
#include <tq/layouts/gguf/code_book.hpp>

#include <cstddef>

namespace tq::layouts::gguf::detail {

// Codes of all integers from `Low` to Zero - 1, stored as `Zero` more. Grids may reach four times
// as far (twice for codes of 8 bits).
template <int Zero, int Low = -Zero>
struct EvenCodes {
  static constexpr int zero = Zero, low = Low, high = Zero - 1;
  static constexpr int shift = Zero == 4 ? 10 : Zero == 8 ? 9 : Zero == 16 ? 8 : Zero == 32 ? 7 : 6;
  static constexpr float dense_step = 0.1f;
  static constexpr int fine_weight = Zero <= 32 ? 32767 : 4095;

  template <class Words>
  static TQ_FORCE_INLINE typename Words::numbers nearest(typename Words::numbers v) noexcept {
    const auto q = Words::template right<shift>(Words::add(v, Words::fill(1 << (shift - 1))));
    return Words::smaller(Words::larger(q, Words::fill(low)), Words::fill(high));
  }
  template <class Lanes>
  static TQ_FORCE_INLINE auto stored(Lanes v) noexcept {
    const Lanes within = smaller(larger(v, static_cast<float>(low)), static_cast<float>(high));
    return within.rounded() + Zero;
  }
  template <class Lanes, class Stored>
  static TQ_FORCE_INLINE Lanes distance(Lanes v, const Stored& stored) noexcept {
    return v - (Lanes::of(stored) - Lanes(static_cast<float>(Zero)));
  }
};

// The values of IQ4_NL, stored by their index.
struct Iq4Codes {
  static constexpr int zero = 127, shift = 6, fine_weight = 4095;
  static constexpr float dense_step = 1.0f;

  template <class Words>
  static TQ_FORCE_INLINE typename Words::numbers nearest(typename Words::numbers v) noexcept {
    auto q = Words::fill(static_cast<int>(iq4_values[0]));
    TQ_UNROLL for (std::size_t k = 1; k < 16; ++k) {
      const auto step = static_cast<int>(iq4_values[k] - iq4_values[k - 1]);
      const auto below = static_cast<int>((iq4_values[k] + iq4_values[k - 1]) * 32.0f) - 1;
      q = Words::add(q, Words::where_greater(v, Words::fill(below), Words::fill(step)));
    }
    return q;
  }
  template <class Lanes>
  static TQ_FORCE_INLINE auto stored(Lanes v) noexcept {
    Lanes index = 15.0f;
    TQ_UNROLL for (std::size_t k = 1; k < 16; ++k) {
      const Lanes middle = 0.5f * (iq4_values[k] + iq4_values[k - 1]);
      index = index - Lanes::choose(v < middle, 1.0f, 0.0f);
    }
    return index.rounded();
  }
  template <class Lanes, class Stored>
  static TQ_FORCE_INLINE Lanes distance(Lanes, const Stored&) noexcept {
    return 1.0f;
  }
};

}  // namespace tq::layouts::gguf::detail
