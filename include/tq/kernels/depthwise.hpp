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

/// What lies under the kernel: two codes for each pair of taps, of the first channel, with those of
/// the other channels behind it.
template <class Code>
struct Taps {
  const Code* const* first;
  std::size_t pairs;
  std::int32_t zero_point;
};

namespace detail {
// The sums of some registers of channels, from `channel` on.
template <class Dot, std::size_t Registers, class Code>
TQ_FORCE_INLINE void depthwise_block(const Taps<Code>& x, const std::int16_t* weights,
                                     std::size_t channels, std::size_t channel,
                                     std::int32_t* sums) noexcept {
  constexpr std::size_t width = Dot::width;
  const auto zero = Dot::all(x.zero_point);
  typename Dot::sums s[Registers];
  TQ_UNROLL
  for (std::size_t r = 0; r < Registers; ++r) s[r] = Dot::zero();
  const std::int16_t* w = weights + 2 * channel;
  for (std::size_t k = 0; k < x.pairs; ++k, w += 2 * channels) {
    const Code *p = x.first[2 * k] + channel, *q = x.first[2 * k + 1] + channel;
    TQ_UNROLL
    for (std::size_t r = 0; r < Registers; ++r)
      s[r] = Dot::add(s[r], Dot::beside(p + r * width, q + r * width, zero),
                      Dot::pairs(w + 2 * r * width));
  }
  TQ_UNROLL
  for (std::size_t r = 0; r < Registers; ++r) Dot::store(sums + channel + r * width, s[r]);
}
}  // namespace detail

/// sums[c], of `channels`: the sum over all taps of (code - zero point) * weight, modulo 2^32.
/// `weights`: [pairs of taps][channels][2], of [-255, 255]. Precondition: `channels` is a multiple
/// of `depthwise_grain`.
template <class Dot, class Code>
TQ_NO_INLINE void depthwise(const Taps<Code>& x, const std::int16_t* weights, std::size_t channels,
                            std::int32_t* sums) noexcept {
  constexpr std::size_t registers = 4, block = registers * Dot::width;
  std::size_t c = 0;
  for (; c + block <= channels; c += block)
    detail::depthwise_block<Dot, registers>(x, weights, channels, c, sums);
  for (; c < channels; c += Dot::width)
    detail::depthwise_block<Dot, 1>(x, weights, channels, c, sums);
}

}  // namespace tq::kernels
