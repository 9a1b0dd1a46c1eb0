// SPDX-License-Identifier: MIT
#pragma once
// The float16 and the whole numbers of super-blocks: as parameters have them, or found from their
// products.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/detail/block_fields.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>
#include <tq/layouts/gguf/params_of.hpp>
#include <tq/numeric/code_range.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace tq::layouts::gguf::detail {

// The numbers that scales of a format are stored as.
template <SuperBlocked B>
inline constexpr CodeRange scale_numbers = [] {
  if constexpr (has_minimums<B>) return CodeRange{0, B::top_scale};
  else return CodeRange{B::low_scale, -B::low_scale - 1};
}();

// The whole numbers of a range with products[j] == d * numbers[j]. False if a product is no
// multiple of d.
template <std::size_t N>
[[nodiscard]] bool are_multiples(const float* products, float d, CodeRange range,
                                 int* numbers) noexcept {
  for (std::size_t j = 0; j < N; ++j) {
    const float number = std::nearbyint(products[j] / d);
    if (!(number >= static_cast<float>(range.min) && number <= static_cast<float>(range.max)))
      return false;
    numbers[j] = static_cast<int>(number);
    if (d * number != products[j]) return false;
  }
  return true;
}

// Finds a value `d` of float16 and numbers of the range with products[j] == d * numbers[j]. The
// product of the largest magnitude gets the largest possible number, a negative one first, as the
// quantizers of ggml choose it. Returns false if there are no such factors.
template <std::size_t N>
[[nodiscard]] bool find_factors(const float* products, CodeRange range, float& d,
                                int* numbers) noexcept {
  const float most = extreme(products, N);
  d = 0.0f;
  std::fill_n(numbers, N, 0);
  if (most == 0.0f) return true;
  for (int size = std::max(-range.min, range.max); size > 0; --size)
    for (const int number : {-size, size}) {
      if (number < range.min || number > range.max) continue;
      d = rounded_to_half(most / static_cast<float>(number));
      if (d * static_cast<float>(number) == most && are_multiples<N>(products, d, range, numbers))
        return true;
    }
  return false;
}

// Finds the factors of the scales, and offsets, that f has. Returns false if there are none.
template <SuperBlocked B>
[[nodiscard]] bool find_block_factors(BlockFields<B>& f) noexcept {
  constexpr std::size_t groups = BlockFields<B>::groups;
  auto& factors = f.factors;
  if (!find_factors<groups>(f.scales, scale_numbers<B>, factors.d, factors.scales)) return false;
  if constexpr (has_minimums<B>) {
    float minimums[groups];
    for (std::size_t j = 0; j < groups; ++j) minimums[j] = -f.offsets[j];
    return find_factors<groups>(minimums, scale_numbers<B>, factors.dmin, factors.minimums);
  } else {
    return true;
  }
}

// The factors of block b of a tensor, as its parameters hold them: those of scales as magnitudes.
template <SuperBlocked B>
void load_held_factors(const params_of<B>& params, std::size_t b, BlockFields<B>& f) noexcept {
  constexpr std::size_t groups = BlockFields<B>::groups;
  const auto take = [&](const auto& stored, float& d, int* numbers) {
    d = stored.super_values()[b];
    std::ranges::copy(stored.stored().subspan(b * groups, groups), numbers);
  };
  take(params.stored_scales(), f.factors.d, f.factors.scales);
  if constexpr (has_minimums<B>) {
    take(params.stored_offsets(), f.factors.dmin, f.factors.minimums);
    f.factors.dmin = -f.factors.dmin;
  }
}

// Gives such numbers the signs of the scales that f has, or 0 where these are 0. The first number
// of the largest magnitude becomes negative and d gets the sign for it, as the quantizers of ggml
// choose it; d is 0 for a block of nothing under d = 1. Returns false for numbers that the format
// does not have.
template <SuperBlocked B>
[[nodiscard]] bool sign_held_factors(BlockFields<B>& f) noexcept {
  constexpr CodeRange range = scale_numbers<B>;
  auto& factors = f.factors;
  const std::span numbers(factors.scales);
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    if (f.scales[j] == 0.0f) numbers[j] = 0;
    else if (f.scales[j] < 0.0f) numbers[j] = -numbers[j];
  }
  const auto magnitude = [](int number) { return number < 0 ? -number : number; };
  const int most = *std::ranges::max_element(numbers, {}, magnitude);
  if (most == 0 && factors.d == 1.0f) factors.d = 0.0f;
  if (range.min < 0 && most > 0) {
    factors.d = -factors.d;
    for (int& number : numbers) number = -number;
  }
  return std::ranges::all_of(
      numbers, [&](int number) { return number >= range.min && number <= range.max; });
}

}  // namespace tq::layouts::gguf::detail
