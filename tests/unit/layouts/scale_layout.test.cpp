// SPDX-License-Identifier: MIT
#include <tq/layouts/scale_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

static_assert(tq::ScaleLayout<tq::ScaleRows> && tq::ScaleLayout<tq::ScaleTiles>);
static_assert(!tq::ScaleLayout<int>);

namespace {

using Bytes = std::vector<std::uint8_t>;

// As `to_blocked` has it: padded, [R, 128, C, 4] -> [R, C, 128, 4], and in each tile
// [4, 32, 4] -> [32, 4, 4].
Bytes blocked(const Bytes& scales, std::size_t rows, std::size_t columns) {
  const std::size_t tall = (rows + 127) / 128, wide = (columns + 3) / 4;
  Bytes out;
  for (std::size_t i = 0; i < tall; ++i)
    for (std::size_t j = 0; j < wide; ++j)
      for (std::size_t b = 0; b < 32; ++b)
        for (std::size_t a = 0; a < 4; ++a)
          for (std::size_t k = 0; k < 4; ++k) {
            const std::size_t r = 128 * i + 32 * a + b, c = 4 * j + k;
            out.push_back(r < rows && c < columns ? scales[r * columns + c] : std::uint8_t{0});
          }
  return out;
}

}  // namespace

TEST_CASE("scales in tiles are those of to_blocked", "[scale_layout]") {
  inputs::Random r(1);
  for (const std::size_t rows : {0u, 1u, 31u, 33u, 127u, 128u, 129u, 300u})
    for (const std::size_t columns : {0u, 1u, 3u, 4u, 5u, 17u}) {
      const Bytes scales = bits::noise<std::uint8_t>(r, rows * columns);
      const Bytes expected = blocked(scales, rows, columns);
      INFO(rows << " x " << columns);
      REQUIRE(tq::ScaleTiles::bytes_for(rows, columns) == expected.size());
      Bytes tiles = bits::noise<std::uint8_t>(r, expected.size());
      tq::store_scales<tq::ScaleTiles>(rows, columns, scales, tiles);
      CHECK(tiles == expected);
      for (std::size_t i = 0; i < tiles.size(); ++i)  // padding is not looked at
        if (expected[i] == 0) tiles[i] = 99;
      Bytes back(scales.size());
      tq::load_scales<tq::ScaleTiles>(rows, columns, expected, back);
      CHECK(back == scales);
    }
}

TEST_CASE("padding of tiles is ignored", "[scale_layout]") {
  Bytes tile(512, 99), scale(1);
  tile[0] = 5;
  tq::load_scales<tq::ScaleTiles>(1, 1, tile, scale);
  CHECK(scale == Bytes{5});
}

TEST_CASE("places in a tile", "[scale_layout]") {
  CHECK(tq::ScaleTiles::offset(0, 3, 8) == 3);
  CHECK(tq::ScaleTiles::offset(1, 0, 8) == 16);
  CHECK(tq::ScaleTiles::offset(32, 0, 8) == 4);
  CHECK(tq::ScaleTiles::offset(127, 3, 8) == 511);
  CHECK(tq::ScaleTiles::offset(0, 4, 8) == 512);
  CHECK(tq::ScaleTiles::offset(128, 0, 8) == 1024);
  CHECK(tq::ScaleTiles::offset(128, 0, 9) == 1536);
}

TEST_CASE("scales in rows are as they are", "[scale_layout]") {
  const Bytes scales{1, 2, 3, 4, 5, 6};
  Bytes bytes(6), back(6);
  tq::store_scales<tq::ScaleRows>(2, 3, scales, bytes);
  CHECK(bytes == scales);
  tq::load_scales<tq::ScaleRows>(2, 3, bytes, back);
  CHECK(back == scales);
}

TEST_CASE("scales that do not fit are refused", "[scale_layout]") {
  Bytes scales(6, 7), tiles(512, 7), few(511, 7);
  test::raises(tq::errc::shape_mismatch, {"tq::load_scales: expected 6 scales, got 512"},
               [&] { tq::load_scales<tq::ScaleTiles>(2, 3, tiles, tiles); });
  test::raises(tq::errc::shape_mismatch, {"tq::load_scales: expected 512 bytes of scales, got 511"},
               [&] { tq::load_scales<tq::ScaleTiles>(2, 3, few, scales); });
  test::raises(tq::errc::shape_mismatch,
               {"tq::store_scales: expected 512 bytes of scales, got 511"},
               [&] { tq::store_scales<tq::ScaleTiles>(2, 3, scales, few); });
  test::raises(tq::errc::bad_argument, {"tq::store_scales", "rows and columns"},
               [&] { tq::store_scales<tq::ScaleTiles>(std::size_t{1} << 63, 2, scales, few); });
  CHECK(scales == Bytes(6, 7));
  CHECK(few == Bytes(511, 7));
}

TEST_CASE("rows without scales take no time, however many there are", "[scale_layout]") {
  constexpr std::size_t rows = std::size_t{1} << 60;
  tq::load_scales<tq::ScaleRows>(rows, 0, {}, {});
  tq::store_scales<tq::ScaleTiles>(rows, 0, {}, {});
  SUCCEED("it came back");
}
