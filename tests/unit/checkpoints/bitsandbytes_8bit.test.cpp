// SPDX-License-Identifier: MIT
#include <tq/checkpoints/bitsandbytes_8bit.hpp>

#include "checkpoint_test.hpp"
#include "support/error_check.hpp"

using namespace checkpoint_test;

TEST_CASE("absmax that cannot be meant is refused where it is", "[checkpoints][bitsandbytes]") {
  File file;
  file.add("l.weight", {2, 3}, std::vector<std::int8_t>{1, 2, 3, 4, 5, 6});
  file.add("l.SCB", {2}, std::vector<float>{1, -2});
  test::raises(tq::errc::bad_scale, {"tq::io::load_checkpoint: expected SCB", "got -2 for block 1"},
               [&] { (void)file.values(); });
}

TEST_CASE("8-bit rows of bitsandbytes are rounded twice as values, once as weights of layers",
          "[checkpoints][bitsandbytes]") {
  inputs::Random r(71);
  constexpr std::size_t n = 9, k = 40;
  for (const bool has_dead : {false, true}) {
    File file;
    std::vector<std::int8_t> codes(n * k);
    for (auto& c : codes) c = static_cast<std::int8_t>(r.between(-128, 127));
    std::vector<float> scb(n);
    for (float& s : scb) s = static_cast<float>(0.01 + r.unit());
    if (has_dead) scb[4] = 0;
    file.add("l.weight", {n, k}, codes);
    file.add("l.SCB", {n}, scb);
    const tq::CheckpointTensor loaded = file.load();
    const std::vector<float> values = decode(loaded);
    for (std::size_t i = 0; i < n * k; ++i) {
      const auto product = static_cast<float>(codes[i] * double{scb[i / k]});
      const auto expected = static_cast<float>(double{product} * double{1.0f / 127});
      REQUIRE(values[i] == expected);
      REQUIRE(std::signbit(values[i]) == (codes[i] < 0));  // of zeros in dead rows too
    }
    check_layer(loaded);
    const tq::ByteWeights weights = tq::byte_weights_of(loaded);
    CHECK(weights.scales()[0] == scb[0] * (1.0f / 127));
    CHECK((weights.codes().data()[4 * k] == 0) == (has_dead || codes[4 * k] == 0));
  }
}
