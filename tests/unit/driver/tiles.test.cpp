// SPDX-License-Identifier: MIT
#include <tq/driver/tiles.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"

namespace {

using tiles = tq::driver::tiles<tq::arch::native>;

template <class T>
void check() {
  std::size_t failed = 0;
  for (const std::size_t rows : {1u, 2u, 7u, 8u, 15u, 16u, 17u, 33u, 64u})
    for (const std::size_t columns : {1u, 3u, 8u, 9u, 16u, 31u, 32u, 64u})
      for (const bool turned : {false, true})
        for (const std::size_t gap : {0u, 5u}) {
          const std::size_t row = turned ? 1 : columns + gap, column = turned ? rows + gap : 1,
                            pitch = columns + gap;
          std::vector<T> from((rows - 1) * row + (columns - 1) * column + 1),
              tile(rows * pitch, T{1}), back(from.size(), T{2});
          for (std::size_t i = 0; i < from.size(); ++i)
            from[i] = static_cast<T>(i * 2654435761u + 3);
          const auto r = static_cast<std::ptrdiff_t>(row), c = static_cast<std::ptrdiff_t>(column);
          tiles::gather(from.data(), r, c, rows, columns, tile.data(), pitch);
          if (turned) {
            std::vector<T> ahead(rows * pitch, T{1});
            tiles::gather_ahead(from.data(), c, rows, columns, ahead.data(), pitch);
            failed += ahead != tile;
          }
          tiles::scatter(tile.data(), pitch, rows, columns, back.data(), r, c);
          for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0; k < pitch; ++k)
              failed += tile[i * pitch + k] != (k < columns ? from[i * row + k * column] : T{1});
          for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0; k < columns; ++k)
              failed += back[i * row + k * column] != from[i * row + k * column];
        }
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("a tile has the elements of rows and of columns side by side, and gives them back",
          "[tiles]") {
  check<std::uint8_t>();
  check<std::uint16_t>();
  check<std::uint32_t>();
  check<std::uint64_t>();
}
