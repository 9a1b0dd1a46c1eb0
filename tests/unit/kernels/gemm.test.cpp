// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/kernels/gemm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using tq::kernels::Start;

template <class Dot>
void check_tiles() {
  constexpr std::size_t columns = Dot::columns, depth = Dot::depth;
  using number = typename Dot::number;
  inputs::Random r(1);
  std::string failures;
  for (std::size_t rows = 1; rows <= Dot::rows; ++rows)
    for (const std::size_t steps : std::initializer_list<std::size_t>{0, 1, 2, 3, 17, 64}) {
      const std::size_t row = depth * steps + r.below(5);  // rows may lie apart
      std::vector<number> x(rows * row + 1);
      std::vector<std::int8_t> panel(steps * columns * depth);
      for (auto& v : x)
        v = static_cast<number>(r.between(std::max<int>(std::numeric_limits<number>::min(), -255),
                                          std::min<int>(std::numeric_limits<number>::max(), 255)));
      constexpr bool narrow = tq::arch::NarrowDot<Dot>;
      for (auto& v : panel)
        v = static_cast<std::int8_t>(r.between(narrow ? -64 : -128, narrow ? 64 : 127));
      const Start start = r.chance(50) ? Start::zero : Start::sums;
      const std::size_t apart = columns + r.below(3);
      std::vector<std::int32_t> out(rows * apart + 1, 77);
      tq::kernels::gemm_tile<Dot>(rows, {x.data(), static_cast<std::ptrdiff_t>(row)}, panel.data(),
                                  steps, {out.data(), static_cast<std::ptrdiff_t>(apart)}, start);
      bool equal = out.back() == 77;
      for (std::size_t m = 0; m < rows; ++m)
        for (std::size_t n = 0; n < apart; ++n) {
          std::int32_t sum = start == Start::sums || n >= columns ? 77 : 0;
          for (std::size_t k = 0; n < columns && k < depth * steps; ++k)
            sum += x[m * row + k] * panel[(k / depth * columns + n) * depth + k % depth];
          equal = equal && out[m * apart + n] == sum;
        }
      if (!equal) failures += std::to_string(rows) + " rows, " + std::to_string(steps) + " steps\n";
    }
  CHECK(failures == "");
}

}  // namespace

TEST_CASE("a tile has the sums of its rows and columns, for every number of rows and steps") {
  check_tiles<tq::arch::pair_dot<tq::arch::native>>();
  check_tiles<tq::arch::best_dot<tq::arch::native, std::uint8_t>>();
  check_tiles<tq::arch::best_dot<tq::arch::native, std::int8_t>>();
}

TEST_CASE("as many pairs as are safe fit 32 bits at their largest") {
  using Dot = tq::arch::pair_dot<tq::arch::native>;
  for (const std::int16_t least : {std::int16_t{-255}, std::int16_t{-32768}}) {
    const std::size_t pairs = tq::kernels::safe_pairs(static_cast<std::size_t>(-least));
    const std::vector<std::int16_t> x(2 * pairs, least);
    const std::vector<std::int8_t> panel(2 * pairs * Dot::columns, -128);
    std::vector<std::int32_t> out(Dot::columns);
    tq::kernels::gemm_tile<Dot>(1, {x.data(), 0}, panel.data(), pairs, {out.data(), 0});
    CHECK(out[3] == least * -128 * static_cast<std::int64_t>(2 * pairs));
  }
}

TEST_CASE("each layout is that of the dots that read it") {
  using tq::PanelLayout;
  STATIC_REQUIRE(tq::kernels::layout_of<tq::arch::pair_dot<tq::arch::native>> ==
                 PanelLayout::pairs_of_16);
  using best = tq::arch::best_dot<tq::arch::native>;
  STATIC_REQUIRE(tq::kernels::panel_columns(tq::kernels::layout_of<best>) == best::columns);
  STATIC_REQUIRE(tq::kernels::panel_depth(tq::kernels::layout_of<best>) == best::depth);
  STATIC_REQUIRE((tq::kernels::layout_of<best> == PanelLayout::narrow_fours_of_16) ==
                 tq::arch::NarrowDot<best>);
}
