// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/kernels/gemm.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

TEST_CASE("a tile has the sums of its rows and columns, for every number of rows and pairs") {
  using Arch = tq::arch::native;
  constexpr std::size_t columns = tq::kernels::panel_columns;
  inputs::Random r(1);
  std::string failures;
  for (std::size_t rows = 1; rows <= tq::kernels::tile_rows<Arch>; ++rows)
    for (const std::size_t pairs : std::initializer_list<std::size_t>{0, 1, 2, 3, 17, 64}) {
      const std::size_t row = 2 * pairs + r.below(5);  // rows may lie apart
      std::vector<std::int16_t> x(rows * row + 1);
      std::vector<std::int8_t> panel(2 * pairs * columns);
      for (auto& v : x) v = static_cast<std::int16_t>(r.between(-255, 255));
      for (auto& v : panel) v = static_cast<std::int8_t>(r.between(-128, 127));
      std::vector<std::int32_t> out(rows * columns + 1, 77);
      tq::kernels::gemm_tile<Arch>(rows, x.data(), row, panel.data(), pairs, out.data());
      bool equal = out.back() == 77;
      for (std::size_t m = 0; m < rows; ++m)
        for (std::size_t n = 0; n < columns; ++n) {
          std::int32_t sum = 0;
          for (std::size_t k = 0; k < 2 * pairs; ++k)
            sum += x[m * row + k] * panel[(k / 2 * columns + n) * 2 + k % 2];
          equal = equal && out[m * columns + n] == sum;
        }
      if (!equal) failures += std::to_string(rows) + " rows, " + std::to_string(pairs) + " pairs\n";
    }
  CHECK(failures == "");
}

TEST_CASE("as many pairs as are safe fit 32 bits at their largest") {
  using Arch = tq::arch::native;
  constexpr std::size_t pairs = tq::kernels::safe_pairs;
  const std::vector<std::int16_t> x(2 * pairs, 255);
  const std::vector<std::int8_t> panel(2 * pairs * tq::kernels::panel_columns, -128);
  std::vector<std::int32_t> out(tq::kernels::panel_columns);
  tq::kernels::gemm_tile<Arch>(1, x.data(), 2 * pairs, panel.data(), pairs, out.data());
  CHECK(out[3] == -255 * 128 * static_cast<std::int64_t>(2 * pairs));
}
