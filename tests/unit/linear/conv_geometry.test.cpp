// SPDX-License-Identifier: MIT
#include <tq/linear/conv_geometry.hpp>

#include <cstddef>

#include "support/catch.hpp"
#include "support/error_check.hpp"

using tq::ConvGeometry;

TEST_CASE("outputs are the places where a kernel lies within the padded input") {
  for (std::size_t stride = 1; stride < 4; ++stride)
    for (std::size_t dilation = 1; dilation < 4; ++dilation)
      for (std::size_t before = 0; before < 3; ++before)
        for (std::size_t after = 0; after < 3; ++after)
          for (std::size_t kernel = 1; kernel < 4; ++kernel)
            for (std::size_t extent = 0; extent < 12; ++extent) {
              const ConvGeometry g{{1, stride}, {1, dilation}, {0, before}, {0, after}};
              std::size_t places = 0;
              for (std::size_t at = 0; at + (kernel - 1) * dilation < before + extent + after;
                   at += stride)
                ++places;
              if (places == 0) CHECK_THROWS(g.outputs(1, extent, kernel));
              else if (g.outputs(1, extent, kernel) != places)
                FAIL_CHECK("expected " << places << " for " << extent);
            }
}

TEST_CASE("geometries that are none are refused") {
  test::raises(tq::errc::bad_argument, {"at least 1", "0, 1 and 3"},
               [] { (void)ConvGeometry{{0, 1}}.outputs(0, 5, 3); });
  test::raises(tq::errc::bad_argument, {"at least 1"},
               [] { (void)ConvGeometry{{1, 1}, {1, 0}}.outputs(1, 5, 3); });
  test::raises(tq::errc::bad_argument, {"at least 1"},
               [] { (void)ConvGeometry{}.outputs(1, 5, 0); });
  test::raises(tq::errc::bad_argument, {"at least 3", "got 2"},
               [] { (void)ConvGeometry{}.outputs(1, 2, 3); });
}
