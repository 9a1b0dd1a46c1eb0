// SPDX-License-Identifier: MIT
#pragma once
// find_factors: a float16 and whole numbers whose products are given.

#include <tq/layouts/gguf/detail/arithmetic.hpp>
#include <tq/layouts/gguf/detail/super_block.hpp>
#include <tq/numeric/code_range.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tq::layouts::gguf::detail {

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

}  // namespace tq::layouts::gguf::detail
