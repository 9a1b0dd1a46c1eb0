// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/linear/detail/float_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"

namespace {

using tq::detail::FloatRows;
constexpr std::size_t columns = tq::kernels::group_columns;

// Small whole numbers, so that sums are exact in any order.
float number(std::size_t r, std::size_t k) { return static_cast<float>((r * 31 + k * 7) % 11) - 5; }
float weight(std::size_t k, std::size_t c) { return static_cast<float>((k * 5 + c * 3) % 7) - 3; }

}  // namespace

TEST_CASE("steps of rows, and parts of steps, meet their weights") {
  const auto rows = GENERATE(as<std::size_t>{}, 1, 2, 7, 200),
             inputs = GENERATE(as<std::size_t>{}, 2, 16, FloatRows::step, FloatRows::step + 2, 300);
  INFO(rows << " rows of " << inputs);
  const FloatRows x(rows, inputs, [&](std::size_t r, float* row) {
    for (std::size_t k = 0; k < inputs; ++k) row[k] = number(r, k);
  });
  std::vector<float> weights(inputs * columns);
  for (std::size_t k = 0; k < inputs; ++k)
    for (std::size_t c = 0; c < columns; ++c) weights[k * columns + c] = weight(k, c);
  std::vector<float> sums(rows * 2 * columns);
  for (std::size_t k = 0; k < inputs; k += FloatRows::step) {
    const std::size_t n = x.length(k), part = n >= 16 ? 16 : n;
    for (std::size_t i = 0; i < n; i += part)
      x.add_products<tq::arch::native>(k, i, std::min(part, n - i),
                                       weights.data() + (k + i) * columns, sums.data());
  }
  bool same = true;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t odd = 0; odd < 2; ++odd)
      for (std::size_t c = 0; c < columns; ++c) {
        float sum = 0;
        for (std::size_t k = odd; k < inputs; k += 2) sum += number(r, k) * weight(k, c);
        same &= sums[(2 * r + odd) * columns + c] == sum;
      }
  CHECK(same);
}
