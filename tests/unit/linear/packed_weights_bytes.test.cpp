// SPDX-License-Identifier: MIT
#include <tq/linear/packed_weights_bytes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/saved_bytes.hpp"

namespace {

using test::Bytes;
using tq::PackedWeights;
using tq::PanelLayout;
using tq::Shape;
using tq::TensorView;

PackedWeights some_weights(std::size_t outputs, std::size_t inputs, PanelLayout layout) {
  std::vector<std::int8_t> w(outputs * inputs);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<std::int8_t>(static_cast<std::int8_t>(37 * i + 1) / 2);
  std::vector<std::int32_t> zero_points(outputs);
  for (std::size_t n = 0; n < outputs; ++n) zero_points[n] = n % 2 == 0 ? -128 : 127;
  return PackedWeights(TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}), zero_points,
                       layout);
}

constexpr PanelLayout layouts[] = {PanelLayout::pairs_of_16, PanelLayout::fours_of_16,
                                   PanelLayout::fours_of_64, PanelLayout::narrow_fours_of_16,
                                   PanelLayout::eights_of_16};

}  // namespace

TEST_CASE("weights that were saved are loaded in the layout that is asked for") {
  for (const PanelLayout from : layouts)
    for (const PanelLayout to : layouts)
      for (const auto [outputs, inputs] :
           {std::array<std::size_t, 2>{70, 9}, {1, 4}, {0, 3}, {5, 0}}) {
        const PackedWeights saved = some_weights(outputs, inputs, from);
        const PackedWeights loaded = tq::load_packed_weights(tq::save_packed_weights(saved), to);
        const PackedWeights wanted = some_weights(outputs, inputs, to);
        CHECK(loaded.layout() == to);
        CHECK(loaded.outputs() == outputs);
        CHECK(loaded.inputs() == inputs);
        CHECK(std::ranges::equal(loaded.codes(), wanted.codes()));
        bool equal = loaded.has_zero_points() == wanted.has_zero_points();
        for (std::size_t n = 0; n < outputs; ++n)
          equal = equal && loaded.zero_point(n) == wanted.zero_point(n) &&
                  loaded.reach(n) == wanted.reach(n);
        CHECK(equal);
      }
}

TEST_CASE("the bytes of weights are those of the format") {
  const std::vector<std::uint8_t> w{128, 129, 127};
  const PackedWeights packed(TensorView<const std::uint8_t>(w.data(), Shape{1, 3}), {},
                             PanelLayout::fours_of_16);
  const Bytes bytes = tq::save_packed_weights(packed);
  REQUIRE(bytes.size() == 40 + 4 + 64);
  Bytes wanted(bytes.size());
  const std::string_view magic = "tqpacked";
  for (std::size_t i = 0; i < 8; ++i) wanted[i] = static_cast<std::byte>(magic[i]);
  wanted[8] = std::byte{1};   // version
  wanted[12] = std::byte{1};  // fours_of_16
  wanted[16] = std::byte{1};
  wanted[24] = std::byte{3};
  wanted[40] = std::byte{0x80};  // -128
  wanted[41] = wanted[42] = wanted[43] = std::byte{0xff};
  wanted[45] = std::byte{1};
  wanted[46] = std::byte{0xff};
  test::sum_again(wanted);
  CHECK(bytes == wanted);
}

TEST_CASE("weights that were saved as narrow ones and are not lie in pairs") {
  const std::vector<std::int8_t> w{127, 2, 3, 4};
  const PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{1, 4}), {},
                             PanelLayout::fours_of_16);
  const Bytes said = test::with_values(tq::save_packed_weights(packed), 12, {3});
  const PackedWeights loaded = tq::load_packed_weights(said, PanelLayout::narrow_fours_of_16);
  CHECK(loaded.layout() == PanelLayout::pairs_of_16);
  CHECK(loaded.weight(0, 1) == 2);
}

TEST_CASE("bytes that are not those of weights are refused, whichever is changed or missing") {
  const Bytes whole = tq::save_packed_weights(some_weights(3, 5, PanelLayout::pairs_of_16));
  CHECK(test::refuses_changes(whole,
                              [](const Bytes& bytes) { (void)tq::load_packed_weights(bytes); }));
}

TEST_CASE(
    "headers that promise what the bytes have not are refused, though their checksum is right") {
  const Bytes whole = tq::save_packed_weights(some_weights(3, 5, PanelLayout::pairs_of_16));
  const auto with = [&](std::size_t at, std::initializer_list<int> values) {
    return test::with_values(whole, at, values);
  };
  const auto load = [](const Bytes& bytes) { (void)tq::load_packed_weights(bytes); };
  using tq::errc;
  test::raises(errc::malformed, {"\"tqpacked\""}, [&] { load(with(0, {'T'})); });
  test::raises(errc::unsupported, {"version 1", "2"}, [&] { load(with(8, {2})); });
  test::raises(errc::unsupported, {"0 to 4", "5"}, [&] { load(with(12, {5})); });
  test::raises(errc::malformed, {"sizes", "3 outputs of 5 inputs"}, [&] { load(with(12, {1})); });
  test::raises(errc::malformed, {"sizes", "4 outputs"}, [&] { load(with(16, {4})); });
  test::raises(errc::malformed, {"sizes"},
               [&] { load(with(16, {255, 255, 255, 255, 255, 255, 255, 255})); });
  test::raises(errc::malformed, {"sizes", "7 inputs"}, [&] { load(with(24, {7})); });
  test::raises(errc::malformed, {"sizes"},
               [&] { load(with(24, {255, 255, 255, 255, 255, 255, 255, 255})); });
  test::raises(errc::bad_zero_point, {"-128 to 127"}, [&] { load(with(40, {127, 1})); });
  // The second of the last pair, of which there is only one.
  test::raises(errc::malformed, {"padded", "1 other"},
               [&] { load(with(40 + 12 + 2 * 32 + 1, {9})); });
  test::raises(errc::malformed, {"40 bytes", "39"}, [&] { load(Bytes(39)); });
}
