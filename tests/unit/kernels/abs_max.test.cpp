// SPDX-License-Identifier: MIT
#include <tq/kernels/abs_max.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"

namespace {

using kernel = tq::kernels::abs_max<tq::arch::native>;

TEST_CASE("one special value in one of many stretches") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const std::size_t length : {32u, 300u})
    for (std::size_t at = 0; at < 140; ++at)
      for (const float special : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
        std::vector<float> x(140 * length, -2.0f), out(140);
        for (std::size_t k = 0; k < 140; ++k) x[k * length] = static_cast<float>(k + 3);
        x[at * length + at % (length - 1) + 1] = special;
        kernel::rows(x.data(), 140, length, static_cast<std::ptrdiff_t>(length), out.data());
        for (std::size_t k = 0; k < 140; ++k)
          if (out[k] != static_cast<float>(k + 3))
            FAIL_CHECK("stretch " << k << ", special value in " << at);
      }
}

TEST_CASE("the largest finite magnitude of each stretch") {
  inputs::Random r(11);
  std::string failures;
  test::Share share;
  for (std::size_t length = 1; length <= 600; length += length < 70 ? 1 : 53)
    for (const std::size_t count : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 64u, 71u})
      for (const int specials : {0, 2, 100}) {
        if (!share.takes()) continue;
        const std::size_t gap = r.below(3), stride = length + gap, lead = r.below(5);
        std::vector<float> x(lead + stride * count + 1);
        for (float& v : x) {
          v = static_cast<float>(std::ldexp(r.normal(), r.between(-150, 120)));
          if (r.chance(specials)) {
            const float infinity = std::numeric_limits<float>::infinity();
            v = r.chance(30) ? std::nanf("") : r.chance(50) ? infinity : -infinity;
          }
        }
        std::vector<float> out(count + 1, 123.0f);
        kernel::rows(x.data() + lead, count, length, static_cast<std::ptrdiff_t>(stride),
                     out.data());
        for (std::size_t k = 0; k < count; ++k) {
          double top = 0;
          for (std::size_t i = 0; i < length; ++i) {
            const double v = std::fabs(double{x[lead + k * stride + i]});
            if (std::isfinite(v) && v > top) top = v;
          }
          if (double{out[k]} != top)
            failures += std::to_string(length) + " x " + std::to_string(count) + ", stretch " +
                        std::to_string(k) + "\n";
        }
        if (out[count] != 123.0f) failures += "wrote too far: " + std::to_string(length) + "\n";
      }
  CHECK(failures == "");
}

}  // namespace
