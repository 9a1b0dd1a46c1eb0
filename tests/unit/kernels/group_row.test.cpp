// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/kernels/group_row.hpp>
#include <tq/kernels/group_values.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using Arch = tq::arch::native;
namespace k = tq::kernels;
constexpr std::size_t columns = k::group_columns;

// The sums by way of levels and values in memory.
template <class Bits>
std::vector<float> in_passes(std::size_t rows, const float* x, std::size_t stride,
                             const k::GroupPanel& w, const k::GroupExtent& extent,
                             const k::GroupValues& of) {
  const std::size_t padded = extent.units * Bits::inputs;
  std::vector<std::uint8_t> levels(padded * columns);
  std::vector<float> values(padded * columns), sums(rows * 2 * columns);
  for (std::size_t g = 0; g < extent.groups; ++g) {
    k::group_levels<Arch, Bits>(w.codes + g * extent.units * Bits::bytes, extent.units, w.table,
                                levels.data());
    k::group_values<Arch>(
        levels.data(), padded,
        {of.scales + g * columns, of.zeros == nullptr ? nullptr : of.zeros + g * columns, of.zero,
         of.reals, of.offsets == nullptr ? nullptr : of.offsets + g * columns},
        values.data());
    for (std::size_t r = 0; r < rows; ++r)
      k::values_tile<Arch>(1, x + r * stride + g * padded, stride, values.data(), padded,
                           sums.data() + 2 * r * columns);
  }
  return sums;
}

// Random codes, scales and zero points, for every number of rows.
template <class Bits, bool Reals, bool Offsets = false>
std::string check(std::uint64_t seed) {
  inputs::Random r(seed);
  std::string failures;
  for (std::size_t rows = 1; rows <= k::group_row_rows<Arch, Bits>; ++rows)
    for (const bool has_zeros : {false, true}) {
      if (Reals && has_zeros) continue;
      const k::GroupExtent extent{1 + r.below(4), 1 + r.below(3)};
      const std::size_t inputs = extent.groups * extent.units * Bits::inputs,
                        stride = inputs + r.below(5);
      std::vector<std::uint8_t> codes(extent.groups * extent.units * Bits::bytes),
          zeros(extent.groups * columns), table(16);
      std::vector<float> x(rows * stride), scales(extent.groups * columns), reals(16),
          offsets(extent.groups * columns);
      for (auto* bytes : {&codes, &zeros, &table})
        for (auto& v : *bytes) v = static_cast<std::uint8_t>(r.between(0, 255));
      for (auto* floats : {&x, &scales, &reals, &offsets})
        for (auto& v : *floats) v = static_cast<float>(r.normal());
      const k::GroupPanel w{codes.data(), scales.data(), nullptr, nullptr,
                            Bits::has_table ? table.data() : nullptr};
      const k::GroupValues of{scales.data(), has_zeros ? zeros.data() : nullptr,
                              r.between(-255, 255), Reals ? reals.data() : nullptr,
                              Offsets ? offsets.data() : nullptr};
      std::vector<float> sums(rows * 2 * columns + 1, 77.0f);
      k::group_row<Arch, Bits, Reals, Offsets>(rows, x.data(), stride, w, extent, of, sums.data());
      std::vector<float> wanted = in_passes<Bits>(rows, x.data(), stride, w, extent, of);
      wanted.push_back(77.0f);
      if (sums != wanted)
        failures += std::to_string(Bits::width) + " bits, " + std::to_string(rows) + " rows\n";
    }
  return failures;
}

}  // namespace

TEST_CASE("a row times packed weights gives the sums of the passes one by one") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CHECK(check<k::LevelBits<2, false, false>, false>(seed) == "");
    CHECK(check<k::LevelBits<3, false, false>, false>(seed) == "");
    CHECK(check<k::LevelBits<4, false, false>, false>(seed) == "");
    CHECK(check<k::LevelBits<4, false, false>, true>(seed) == "");
    CHECK(check<k::LevelBits<4, true, false>, false>(seed) == "");
    CHECK(check<k::LevelBytes<false>, false>(seed) == "");
    CHECK(check<k::LevelBits<2, false, false>, false, true>(seed) == "");
    CHECK(check<k::LevelBits<4, false, false>, false, true>(seed) == "");
    CHECK(check<k::LevelBytes<false>, false, true>(seed) == "");
  }
}
