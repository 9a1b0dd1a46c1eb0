// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/kernels/depthwise.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

template <class Code>
std::string check(std::size_t channels, std::size_t pairs, inputs::Random& r) {
  using limits = std::numeric_limits<Code>;
  std::vector<std::vector<Code>> codes(2 * pairs);
  std::vector<const Code*> places;
  for (auto& row : codes) {
    for (std::size_t c = 0; c < channels; ++c)
      row.push_back(static_cast<Code>(r.between(limits::min(), limits::max())));
    places.push_back(row.data());
  }
  std::vector<std::int16_t> weights(2 * pairs * channels);
  for (auto& v : weights) v = static_cast<std::int16_t>(r.between(-255, 255));
  std::vector<std::int32_t> start(channels), sums(channels + 1, 77), wanted(channels + 1, 77);
  for (std::size_t c = 0; c < channels; ++c) {
    std::int64_t sum = start[c] =
        r.chance(50) ? std::numeric_limits<std::int32_t>::min() : r.between(-1000, 1000);
    for (std::size_t k = 0; k < 2 * pairs; ++k)
      sum += codes[k][c] * weights[2 * (k / 2 * channels + c) + k % 2];
    wanted[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
  }
  tq::kernels::depthwise<tq::arch::tap_dot<tq::arch::native>>(
      tq::kernels::Taps<Code>{places.data(), pairs},
      tq::kernels::TapWeights{weights.data(), start.data(), channels}, sums.data());
  return sums == wanted
             ? ""
             : std::to_string(channels) + " channels, " + std::to_string(pairs) + " pairs\n";
}

}  // namespace

TEST_CASE("a place has the sum of every channel under its own taps") {
  inputs::Random r(1);
  std::string failures;
  for (const std::size_t channels : std::initializer_list<std::size_t>{0, 16, 32, 48, 64, 80, 144})
    for (const std::size_t pairs : std::initializer_list<std::size_t>{0, 1, 5, 13, 64})
      failures += check<std::uint8_t>(channels, pairs, r) + check<std::int8_t>(channels, pairs, r);
  CHECK(failures == "");
}
