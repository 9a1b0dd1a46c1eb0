// SPDX-License-Identifier: MIT
#include <tq/arch/group_dot.hpp>
#include <tq/arch/isa.hpp>
#include <tq/kernels/group_dot.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using Arch = tq::arch::best_group<tq::arch::native>;
namespace k = tq::kernels;
constexpr std::size_t columns = k::group_columns;
using Sizes = std::initializer_list<std::size_t>;

// Packed codes and levels of a panel, as the description of the layout has them.
template <class Bits>
struct Panel {
  std::size_t groups, units, inputs = units * Bits::inputs;  // of a group
  std::vector<std::uint8_t> table, codes, levels, zeros;     // levels [groups * inputs, 32]
  std::vector<float> scales, bias;

  Panel(inputs::Random& r, std::size_t groups_of, std::size_t units_of, int highest)
      : groups(groups_of),
        units(units_of),
        table(16),
        codes(groups * units * Bits::bytes),
        levels(groups * inputs * columns),
        zeros(groups * columns),
        scales(groups * columns),
        bias(columns) {
    for (auto& v : table)
      v = static_cast<std::uint8_t>(r.chance(25) ? highest : r.between(0, highest));
    for (auto& v : zeros)
      v = static_cast<std::uint8_t>(r.chance(50) ? 255 * r.chance(50) : r.between(0, 255));
    for (auto& v : scales) v = static_cast<float>(r.normal());
    for (auto& v : bias) v = static_cast<float>(r.normal());
    const int most = Bits::has_table ? 15 : highest;
    const bool worst = r.chance(25);
    for (std::size_t i = 0; i < groups * inputs; ++i)
      for (std::size_t c = 0; c < columns; ++c) {
        const int code = worst ? most : r.between(0, most);
        levels[i * columns + c] = Bits::has_table ? table[static_cast<std::size_t>(code)]
                                                  : static_cast<std::uint8_t>(code);
        put(i, c, static_cast<unsigned>(code));
      }
  }

  void put(std::size_t input, std::size_t column, unsigned code) {
    const std::size_t in_unit = input % Bits::inputs, four = in_unit / 4;
    std::uint8_t* unit = codes.data() + input / Bits::inputs * Bits::bytes + 4 * column + input % 4;
    const auto set = [&](std::size_t line, std::size_t bit, unsigned v) {
      unit[128 * line] = static_cast<std::uint8_t>(unit[128 * line] | v << bit);
    };
    switch (Bits::width) {
      case 2: set(0, 2 * four, code); break;
      case 3:
        set(four % 2, four / 2 * 2, code & 3u);
        set(2, four, code >> 2);
        break;
      case 4: set(four % 2, four / 2 * 4, code); break;
      default: set(four, 0, code);
    }
  }
};

template <class Bits>
std::string check(std::uint64_t seed, std::size_t rows, std::size_t groups, std::size_t units,
                  int highest) {
  inputs::Random r(seed);
  const Panel<Bits> p(r, groups, units, highest);
  const std::size_t row = groups * p.inputs, stride = row + r.below(9);
  std::vector<std::int8_t> x(rows * stride + 1);
  const bool worst = r.chance(25);
  for (auto& v : x) v = static_cast<std::int8_t>(worst ? -128 : r.between(-128, 127));
  std::vector<std::int32_t> starts(rows * groups);
  for (auto& v : starts) v = r.between(-4096, 4096);
  std::vector<float> scales(rows * groups), row_scales(rows);
  for (auto& v : scales) v = static_cast<float>(r.normal());
  for (auto& v : row_scales) v = static_cast<float>(r.normal());
  const bool has_zeros = r.chance(50), has_bias = r.chance(50), by_group = r.chance(50),
             by_row = r.chance(50), has_offsets = r.chance(30);
  std::vector<float> sums_of_x(rows * groups), offsets(groups * columns);
  for (auto& v : sums_of_x) v = static_cast<float>(r.between(-4096, 4096));
  for (auto& v : offsets) v = static_cast<float>(r.normal());
  const k::GroupRows of{x.data(),
                        stride,
                        starts.data(),
                        by_group ? scales.data() : nullptr,
                        by_row ? row_scales.data() : nullptr,
                        has_offsets ? sums_of_x.data() : nullptr};
  const k::GroupPanel panel{p.codes.data(),
                            p.scales.data(),
                            has_zeros ? p.zeros.data() : nullptr,
                            has_bias ? p.bias.data() : nullptr,
                            Bits::has_table ? p.table.data() : nullptr,
                            has_offsets ? offsets.data() : nullptr};
  std::vector<float> out(rows * 40, 77.0f);
  k::group_tile<Arch, Bits>(rows, of, panel, {groups, units}, out.data(), 40);

  bool equal = true;
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < 40; ++n) {
      if (n >= columns) {
        equal = equal && out[m * 40 + n] == 77.0f;
        continue;
      }
      float v = 0;
      for (std::size_t g = 0; g < groups; ++g) {
        std::int64_t sum =
            std::int64_t{starts[m * groups + g]} * (has_zeros ? p.zeros[g * columns + n] : 1);
        for (std::size_t i = g * p.inputs; i < (g + 1) * p.inputs; ++i)
          sum += x[m * stride + i] * p.levels[i * columns + n];
        volatile float scale = p.scales[g * columns + n];
        if (by_group) scale = scale * scales[m * groups + g];
        v = std::fma(static_cast<float>(sum), scale, v);
      }
      for (std::size_t g = 0; has_offsets && g < groups; ++g) {
        volatile float offset = offsets[g * columns + n];
        if (by_group) offset = offset * scales[m * groups + g];
        v = std::fma(sums_of_x[m * groups + g], offset, v);
      }
      volatile float product = by_row ? v * row_scales[m] : v;
      if (has_bias) product = by_row ? std::fma(v, row_scales[m], p.bias[n]) : v + p.bias[n];
      equal = equal && out[m * 40 + n] == product;
    }

  // Taken apart, the same levels lie a byte each.
  std::vector<std::uint8_t> bytes(p.levels.size() + 1, 77);
  k::group_levels<Arch, Bits>(p.codes.data(), groups * units, p.table.data(), bytes.data());
  for (std::size_t i = 0; i < groups * p.inputs; ++i)
    for (std::size_t c = 0; c < columns; ++c)
      equal = equal && bytes[i / 4 * 4 * columns + 4 * c + i % 4] == p.levels[i * columns + c];
  equal = equal && bytes.back() == 77;
  return equal ? ""
               : std::to_string(Bits::width) + " bits, " + std::to_string(rows) + " rows, " +
                     std::to_string(groups) + " x " + std::to_string(units) + "\n";
}

template <class Bits>
std::string check_all(int highest) {
  std::string failures;
  const std::size_t most = Bits::width == 8 ? k::group_tile_rows<Arch> : 1;
  for (std::size_t rows = 1; rows <= most; ++rows)
    for (const std::size_t groups : Sizes{0, 1, 2, 5})
      for (const std::size_t units : Sizes{1, 2, 8})
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
          failures += check<Bits>(seed, rows, groups, units, highest);
  return failures;
}

}  // namespace

TEST_CASE("a tile sums groups exactly, and scales them in their order, for levels of every width") {
  CHECK(check_all<k::LevelBits<2, false, false>>(3) == "");
  CHECK(check_all<k::LevelBits<3, false, false>>(7) == "");
  CHECK(check_all<k::LevelBits<4, false, false>>(15) == "");
  CHECK(check_all<k::LevelBits<4, true, false>>(31) == "");
  CHECK(check_all<k::LevelBits<4, true, true>>(255) == "");
  CHECK(check_all<k::LevelBytes<false>>(31) == "");
  CHECK(check_all<k::LevelBytes<true>>(255) == "");
}

TEST_CASE("the longest group of the largest products fits 32 bits") {
  using Bits = k::LevelBytes<true>;
  const std::size_t units = 4096;
  const std::vector<std::uint8_t> codes(units * Bits::bytes, 255);
  const std::vector<float> scales(columns, 1.0f);
  const std::vector<std::int8_t> x(units * Bits::inputs, -128);
  const std::int32_t start = 0;
  std::vector<float> out(columns);
  k::group_tile<Arch, Bits>(1, {x.data(), 0, &start, nullptr, nullptr},
                            {codes.data(), scales.data(), nullptr, nullptr, nullptr}, {1, units},
                            out.data(), columns);
  CHECK(out[31] == static_cast<float>(-128.0 * 255 * 65536));
}
