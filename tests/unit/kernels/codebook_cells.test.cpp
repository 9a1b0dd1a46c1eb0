// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/kernels/codebook_cells.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

// 65 values on both sides of 0 and at it, so far apart that cells are coarse, in no order.
struct powers_table {
  static constexpr std::string_view name = "powers";
  static constexpr std::array<float, 65> values = [] {
    std::array<float, 65> v{};
    for (std::size_t i = 0; i < 32; ++i) {
      v[(2 * i + 7) % 65] = std::bit_cast<float>(static_cast<std::uint32_t>(90 + i) << 23);
      v[(2 * i + 8) % 65] = -v[(2 * i + 7) % 65];
    }
    return v;
  }();
};
// A threshold at 0, as -0.
struct thresholds_table {
  static constexpr std::string_view name = "thresholds";
  static constexpr std::array<float, 4> values{-1.0f, 0.0f, 1.0f, 2.0f};
  static constexpr std::array<float, 3> thresholds{-1.0f, -0.0f, 1.5f};
};
// Neighbours that no cell tells apart.
struct close_table {
  static constexpr std::string_view name = "close";
  static constexpr std::array<float, 4> values{1.0f, 0x1.000002p0f, 0x1.000004p0f, 0x1.000006p0f};
};

std::size_t cell_of(float v, std::uint32_t lowest, std::uint32_t highest, int shift,
                    std::size_t per_sign) {
  const std::uint32_t magnitude =
      std::clamp(std::bit_cast<std::uint32_t>(v) & 0x7fffffffu, lowest, highest);
  return ((magnitude - lowest) >> shift) + (std::signbit(v) ? per_sign : 0);
}

// The number of thresholds below every float where something changes, and its neighbours.
template <class T>
void check() {
  using F = typename T::format;
  using cells = tq::kernels::CodebookCells<F>;
  static_assert(cells::exists);
  std::vector<float> x{0.0f, -0.0f, std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  for (const float t : F::thresholds)
    for (int ulps = -2; ulps <= 2; ++ulps) x.push_back(inputs::nudge(t, ulps));
  for (std::size_t i = 0; i <= cells::per_sign; ++i)
    for (std::uint32_t before = 0; before < 2; ++before) {
      const std::uint32_t bits =
          cells::lowest + (static_cast<std::uint32_t>(i) << cells::shift) - before;
      x.push_back(std::bit_cast<float>(bits));
      x.push_back(std::bit_cast<float>(bits | 0x80000000u));
    }
  inputs::Random r(1);
  for (int i = 0; i < 10000; ++i) x.push_back(inputs::any_bits(r));
  int failed = 0;
  for (const float v : x) {
    if (!(v == v)) continue;
    const std::size_t first =
        cells::first[cell_of(v, cells::lowest, cells::highest, cells::shift, cells::per_sign)];
    const std::size_t rank =
        first + (first < F::thresholds.size() && v > F::thresholds[first] ? 1 : 0);
    std::size_t wanted = 0;
    for (const float t : F::thresholds) wanted += v > t ? 1 : 0;
    failed += rank != wanted;
  }
  INFO(T::name);
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("a cell and one comparison are the number of thresholds below", "[codebook_cells]") {
  check<tq::dynamic8>();
  check<tq::nf4>();
  check<tq::Codebook<powers_table>>();
  check<tq::Codebook<thresholds_table>>();
}

TEST_CASE("thresholds that no cell tells apart have none", "[codebook_cells]") {
  CHECK(!tq::kernels::CodebookCells<tq::Codebook<close_table>::format>::exists);
}
