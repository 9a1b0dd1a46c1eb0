// SPDX-License-Identifier: MIT
#pragma once
// DepthwiseWeights: the integer weights of outputs that have one channel each.

#include <tq/core/detail/emptied.hpp>
#include <tq/kernels/depthwise.hpp>
#include <tq/linear/packed_weights.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tq {

/// Weights of [outputs, taps] less their zero points, 16 bits each, in the order in which a
/// depthwise convolution reads them on every instruction set.
class DepthwiseWeights {
 public:
  explicit DepthwiseWeights(const PackedWeights& weights)
      : outputs_(weights.outputs()), taps_(weights.inputs()), numbers_(2 * pairs() * lanes()) {
    for (std::size_t n = 0; n < outputs_; ++n) {
      reach_.push_back(weights.reach(n));
      for (std::size_t k = 0; k < taps_; ++k)
        numbers_[place(n, k)] =
            static_cast<std::int16_t>(weights.weight(n, k) - weights.zero_point(n));
    }
  }

  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t taps() const noexcept { return taps_; }
  /// Pairs of taps; the last one of an odd number has a weight of 0 behind it.
  [[nodiscard]] std::size_t pairs() const noexcept { return (taps_ + 1) / 2; }
  /// Outputs, and those without weights that make whole registers of them.
  [[nodiscard]] std::size_t lanes() const noexcept {
    constexpr std::size_t grain = kernels::depthwise_grain;
    return (outputs_ + grain - 1) / grain * grain;
  }
  /// [`pairs()`][`lanes()`][2].
  [[nodiscard]] const std::int16_t* numbers() const noexcept { return numbers_.data(); }
  /// A weight less its zero point.
  [[nodiscard]] std::int16_t weight(std::size_t output, std::size_t tap) const noexcept {
    return numbers_[place(output, tap)];
  }
  /// Start values of the sums over codes, for each of `lanes()`, modulo 2^32: with them, the sums
  /// are those over codes less their zero point.
  [[nodiscard]] std::vector<std::int32_t> start(std::int32_t zero_point) const {
    std::vector<std::int32_t> out(lanes());
    for (std::size_t n = 0; n < outputs_; ++n) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < taps_; ++k) sum += weight(n, k);
      out[n] = static_cast<std::int32_t>(static_cast<std::uint32_t>(-sum * zero_point));
    }
    return out;
  }
  /// As `PackedWeights::reach`.
  [[nodiscard]] std::int64_t reach(std::size_t output) const noexcept { return reach_[output]; }
  /// Bytes of memory that are held.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return numbers_.size() * sizeof(std::int16_t) + reach_.size() * sizeof(std::int64_t);
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t output, std::size_t tap) const noexcept {
    return 2 * (tap / 2 * lanes() + output) + tap % 2;
  }

  detail::Emptied<std::size_t> outputs_, taps_;
  std::vector<std::int16_t> numbers_;
  std::vector<std::int64_t> reach_;
};

}  // namespace tq
