// SPDX-License-Identifier: MIT
#pragma once
// depthwise: one place of a depthwise convolution, with channels beside each other in the lanes of
// a dot (arch/tap_dot.hpp), and of each two taps of the kernel at once.

#include <tq/arch/tap_dot.hpp>
#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// Channels are whole registers of every dot.
inline constexpr std::size_t depthwise_grain = 16;

/// The codes under the kernel: for each pair of taps two pointers to codes of the first channel,
/// with the codes of the other channels behind it.
template <class Code>
struct Taps {
  const Code* const* first;
  std::size_t pairs;
};

/// Weights in [-255, 255], as [pairs of taps][channels][2], and the value that the sum of each
/// channel starts from.
struct TapWeights {
  const std::int16_t* numbers;
  const std::int32_t* start;
  std::size_t channels;
};

namespace detail {
// The sums of some registers of channels, from `channel` on.
template <class Dot, std::size_t Registers, class Code>
TQ_FORCE_INLINE void depthwise_block(const Taps<Code>& x, const TapWeights& weights,
                                     std::size_t channel, std::int32_t* sums) noexcept {
  constexpr std::size_t width = Dot::width;
  typename Dot::sums s[Registers];
  TQ_UNROLL
  for (std::size_t r = 0; r < Registers; ++r) s[r] = Dot::read(weights.start + channel + r * width);
  for (std::size_t k = 0; k < x.pairs; ++k) {
    const std::int16_t* const w = weights.numbers + 2 * (k * weights.channels + channel);
    typename Dot::numbers codes[Registers];
    Dot::beside(x.first[2 * k] + channel, x.first[2 * k + 1] + channel, codes);
    TQ_UNROLL
    for (std::size_t r = 0; r < Registers; ++r)
      s[r] = Dot::add(s[r], codes[r], Dot::pairs(w + 2 * r * width));
  }
  TQ_UNROLL
  for (std::size_t r = 0; r < Registers; ++r) Dot::store(sums + channel + r * width, s[r]);
}
}  // namespace detail

/// sums[c] = start[c] + the sum over all taps of code * weight, modulo 2^32.
/// Precondition: channels are a multiple of `depthwise_grain`.
template <class Dot, class Code>
TQ_NO_INLINE void depthwise(const Taps<Code>& x, const TapWeights& weights,
                            std::int32_t* sums) noexcept {
  constexpr std::size_t registers = 4, block = registers * Dot::width;
  std::size_t c = 0;
  for (; c + block <= weights.channels; c += block)
    detail::depthwise_block<Dot, registers>(x, weights, c, sums);
  for (; c < weights.channels; c += Dot::width)
    detail::depthwise_block<Dot, 1>(x, weights, c, sums);
}

}  // namespace tq::kernels
