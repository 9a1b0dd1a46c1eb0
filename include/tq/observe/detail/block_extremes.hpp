// SPDX-License-Identifier: MIT
#pragma once
// Values of which the extremes of each block are known: those that are large are looked for where
// they can be.

#include <tq/kernels/extremes.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::detail {

// The largest magnitude; 0 where there is no finite value.
[[nodiscard]] inline float magnitude(const kernels::Extremes& e) noexcept {
  return e.min <= e.max ? std::max(-e.min, e.max) : 0.0f;
}

// Calls see(v) until that is false, as `walk` of `least_limit` does: with the values (`Absolute`:
// magnitudes) of x, of which `blocks` has the extremes of each `Block`.
template <bool Absolute, std::size_t Block, class See>
[[nodiscard]] bool see_blocks(std::span<const float> x, std::span<const kernels::Extremes> blocks,
                              double octave, See&& see) noexcept {
  // As integers, which have the order of magnitudes.
  const auto bits = [](float v) { return std::bit_cast<std::int32_t>(v) & 0x7fffffff; };
  const std::int32_t least = bits(static_cast<float>(octave));
  // Sees up to 32 values, in loops for vectors, as large values come unpredictably.
  const auto see_part = [&](std::span<const float> part) {
    std::int32_t below = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::int32_t b = bits(part[i]) < least ? bits(part[i]) : 0;
      below = below < b ? b : below;
    }
    std::uint32_t large = 0;
    for (std::size_t i = 0; i < part.size(); ++i) large |= (bits(part[i]) >= least ? 1u : 0u) << i;
    if (!see(std::bit_cast<float>(below))) return false;
    for (; large != 0; large &= large - 1) {
      const float v = part[static_cast<std::size_t>(std::countr_zero(large))];
      if (!see(Absolute ? std::fabs(v) : v)) return false;
    }
    return true;
  };
  for (std::size_t i = 0; i < x.size(); i += Block) {
    const kernels::Extremes& e = blocks[i / Block];
    const auto here = x.subspan(i, std::min(Block, x.size() - i));
    const bool is_one = double(magnitude(e)) < octave || e.min == e.max;  // what it is known by
    if (is_one) {
      if (!see(e.max > -e.min ? e.max : e.min)) return false;
      continue;
    }
    for (std::size_t k = 0; k < here.size(); k += 32)
      if (!see_part(here.subspan(k, std::min<std::size_t>(32, here.size() - k)))) return false;
  }
  return true;
}

}  // namespace tq::detail
