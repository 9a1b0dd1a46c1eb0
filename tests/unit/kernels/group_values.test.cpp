// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/kernels/group_values.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {
using Arch = tq::arch::native;
namespace k = tq::kernels;
constexpr std::size_t columns = k::group_columns;
using Sizes = std::initializer_list<std::size_t>;
}  // namespace

TEST_CASE("levels become the floats that they stand for") {
  inputs::Random r(1);
  bool equal = true;
  for (const std::size_t n : Sizes{4, 16, 36})
    for (int kind = 0; kind < 4; ++kind) {
      std::vector<std::uint8_t> levels(n * columns), zeros(columns);
      std::vector<float> scales(columns), reals(16), offsets(columns), out(n * columns + 1, 77.0f);
      for (auto& v : levels) v = static_cast<std::uint8_t>(r.between(0, kind == 2 ? 15 : 255));
      for (auto& v : zeros) v = static_cast<std::uint8_t>(r.between(0, 255));
      for (auto& v : scales) v = static_cast<float>(r.normal());
      for (auto& v : reals) v = static_cast<float>(r.normal());
      for (auto& v : offsets) v = static_cast<float>(r.normal());
      k::group_values<Arch>(
          levels.data(), n,
          {scales.data(), kind == 1 ? zeros.data() : nullptr, 9, kind == 2 ? reals.data() : nullptr,
           kind == 3 ? offsets.data() : nullptr},
          out.data());
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < columns; ++c) {
          const std::uint8_t level = levels[i / 4 * 4 * columns + 4 * c + i % 4];
          const float value =
              kind == 2 ? reals[level] : static_cast<float>(level - (kind == 1 ? zeros[c] : 9));
          volatile float product = value * scales[c];
          equal = equal && out[i * columns + c] == product + (kind == 3 ? offsets[c] : 0.0f);
        }
      equal = equal && out.back() == 77.0f;
    }
  CHECK(equal);
}

TEST_CASE("a tile of floats adds the products of even and of odd inputs in their order") {
  inputs::Random r(2);
  std::string failures;
  for (std::size_t rows = 1; rows <= k::values_tile_rows<Arch>; ++rows)
    for (const std::size_t n : Sizes{0, 2, 16, 50}) {
      const std::size_t stride = n + r.below(7);
      std::vector<float> x(rows * stride + 1), values(n * columns), sums(rows * 2 * columns + 1);
      for (auto& v : x) v = static_cast<float>(r.normal());
      for (auto& v : values) v = static_cast<float>(r.normal());
      for (auto& v : sums) v = static_cast<float>(r.normal());
      std::vector<float> wanted = sums;
      for (std::size_t m = 0; m < rows; ++m)
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t c = 0; c < columns; ++c) {
            float& sum = wanted[(2 * m + i % 2) * columns + c];
            const float a = x[m * stride + i], b = values[i * columns + c];
            if (tq::arch::group_dot<Arch>::fuses) {
              sum = std::fma(a, b, sum);
            } else {
              volatile float product = a * b;
              sum += product;
            }
          }
      k::values_tile<Arch>(rows, x.data(), stride, values.data(), n, sums.data());
      if (sums != wanted)
        failures += std::to_string(rows) + " rows, " + std::to_string(n) + " inputs\n";
    }
  CHECK(failures == "");
}
