// SPDX-License-Identifier: MIT
#pragma once
// The search for blocks of 32 values that have a scale of their own, a lane for each block.

#include <tq/layouts/gguf/detail/nearest_codes.hpp>
#include <tq/layouts/gguf/detail/offset_grids.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>
#include <tq/layouts/gguf/detail/symmetric_grids.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf::detail {

inline constexpr std::size_t simple_blocks = 8;  // searched together

// Calls f(x, weights) with `count` blocks, followed by zeros for the rest of eight.
template <class F>
std::uint32_t with_eight_blocks(const float* x, const float* weights, std::size_t count,
                                F&& f) noexcept {
  if (count == simple_blocks) return f(x, weights);
  float some[32 * simple_blocks] = {}, some_weights[32 * simple_blocks] = {};
  std::copy_n(x, 32 * count, some);
  if (weights != nullptr) std::copy_n(weights, 32 * count, some_weights);
  return f(some, weights != nullptr ? some_weights : nullptr);
}

// Up to eight blocks of d * code. Returns a bit for each that is as those for which
// `BestOffset::encode` returns true.
template <class Arch, class Format, class Codes, bool Weighted>
std::uint32_t encode_scaled(const float* x, const float* weights, std::uint8_t* blocks,
                            std::size_t count, std::span<const float> starts) noexcept {
  return with_eight_blocks(x, weights, count, [&](const float* values, const float* w) {
    SymmetricGrids<Arch, 32, simple_blocks, Codes, Weighted> grids;
    grids.load(values, w);
    grids.find(starts);
    std::uint32_t doubtful = 0;
    for (std::size_t j = 0; j < count; ++j) {
      alignas(64) std::uint8_t codes[32];
      const float d = rounded_to_half(grids.scale[j]);
      const bool is_near = symmetric_codes<Arch, 32, 1, Codes>(values + 32 * j, &d, codes);
      Format::store(d, codes, blocks + Format::bytes * j);
      doubtful |= std::uint32_t{is_near || grids.has_one_sign(j)} << j;
    }
    return doubtful;
  });
}

// Up to eight blocks of d * code + m.
template <class Arch, class Format, bool Weighted>
std::uint32_t encode_shifted(const float* x, const float* weights, std::uint8_t* blocks,
                             std::size_t count, std::span<const Try> starts) noexcept {
  return with_eight_blocks(x, weights, count, [&](const float* values, const float* w) {
    OffsetGrids<Arch, 32, simple_blocks, Format::top, Weighted, true> grids;
    grids.load(values, w);
    grids.find(starts);
    std::uint32_t doubtful = 0;
    for (std::size_t j = 0; j < count; ++j) {
      alignas(64) std::uint8_t codes[32];
      const float d = rounded_to_half(grids.scale[j]), m = rounded_to_half(grids.minimum[j]);
      const bool is_near = offset_codes<Arch, 32, 1, Format::top>(values + 32 * j, &d, &m, codes);
      Format::store(d, 0.0f - m, codes, blocks + Format::bytes * j);
      doubtful |= std::uint32_t{is_near || grids.has_one_sign(j)} << j;
    }
    return doubtful;
  });
}

}  // namespace tq::layouts::gguf::detail
