// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/grouped_weights_bytes.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/saved_bytes.hpp"

namespace {

using test::Bytes;
using tq::ConstTensorView;
using tq::errc;
using tq::GroupedWeights;
using tq::load_grouped_weights;
using tq::save_grouped_weights;
using tq::Shape;

template <class Type, int Size = 32>
using WithZeros = tq::QuantParams<Type, tq::PerGroup<Size>, tq::Asymmetric>;
template <class Type, int Size = 32>
using Plain = tq::QuantParams<Type, tq::PerGroup<Size>, tq::Symmetric>;

template <class Params>
GroupedWeights weights(std::size_t outputs, std::size_t inputs) {
  const std::vector<float> w = inputs::normals(outputs * inputs, 3);
  return GroupedWeights(
      tq::quantize_dynamic<Params>(ConstTensorView(w.data(), Shape{outputs, inputs})));
}

// Whether both multiply the same: every byte that a product reads.
bool same(const GroupedWeights& a, const GroupedWeights& b) {
  const auto bits = [](float v) { return std::bit_cast<std::uint32_t>(v); };
  const tq::WeightLevels &x = a.map(), &y = b.map();
  return a.outputs() == b.outputs() && a.inputs() == b.inputs() &&
         a.group_size() == b.group_size() && std::ranges::equal(a.codes(), b.codes()) &&
         std::ranges::equal(a.scales(), b.scales(), {}, bits, bits) &&
         std::ranges::equal(a.zeros(), b.zeros()) && x.width == y.width && x.zero == y.zero &&
         x.highest == y.highest && x.divisor == y.divisor && x.has_levels == y.has_levels &&
         x.has_table == y.has_table && x.is_coded == y.is_coded && x.lower == y.lower &&
         x.table == y.table && x.reals == y.reals && x.packed == y.packed;
}

template <class Params>
bool comes_back(std::size_t outputs, std::size_t inputs) {
  const GroupedWeights w = weights<Params>(outputs, inputs);
  const Bytes bytes = save_grouped_weights(w);
  const GroupedWeights loaded = load_grouped_weights(bytes);
  return same(w, loaded) && save_grouped_weights(loaded) == bytes;
}

void put_float(Bytes& bytes, std::size_t at, float v) { std::memcpy(&bytes[at], &v, sizeof v); }

}  // namespace

TEST_CASE("weights in groups that were saved are loaded bit for bit, of every kind") {
  CHECK(comes_back<WithZeros<tq::uint2>>(5, 40));
  CHECK(comes_back<WithZeros<tq::int3>>(33, 70));
  CHECK(comes_back<WithZeros<tq::uint4>>(40, 64));
  CHECK(comes_back<Plain<tq::int4, 20>>(5, 50));
  CHECK(comes_back<WithZeros<tq::int5>>(5, 40));
  CHECK(comes_back<Plain<tq::uint8>>(5, 40));
  CHECK(comes_back<WithZeros<tq::int8>>(70, 33));
  CHECK(comes_back<Plain<tq::ternary>>(5, 40));
  CHECK(comes_back<tq::mxfp4>(5, 40));
  CHECK(comes_back<tq::nvfp4>(33, 40));
  CHECK(comes_back<tq::nf4_64>(5, 100));
  CHECK(comes_back<Plain<tq::bnb_fp4>>(5, 40));
  CHECK(comes_back<Plain<tq::iq4_nl>>(5, 40));
  CHECK(comes_back<Plain<tq::binary>>(5, 40));
  using Blocks = tq::QuantParams<tq::uint4, tq::PerBlock<2, 16>, tq::Asymmetric>;
  CHECK(comes_back<Blocks>(5, 40));
  using Whole = tq::QuantParams<tq::uint4, tq::PerTensor, tq::Asymmetric>;  // one level of 0
  CHECK(comes_back<Whole>(5, 40));
}

TEST_CASE("no weights in groups are saved and loaded, too") {
  CHECK(comes_back<WithZeros<tq::uint4>>(0, 40));
  CHECK(comes_back<WithZeros<tq::uint4>>(3, 0));
  CHECK(comes_back<tq::nf4_64>(0, 0));
}

TEST_CASE("a layer of weights that were loaded gives the same bits") {
  const std::size_t rows = 3, outputs = 37, inputs = 90;
  const auto w = weights<WithZeros<tq::uint4>>(outputs, inputs);
  const std::vector<float> x = inputs::normals(rows * inputs, 4);
  const auto run = [&](const GroupedWeights& of) {
    std::vector<float> y(rows * outputs);
    tq::GroupedLinear<tq::Int8PerRow>(of).forward(
        ConstTensorView(x.data(), Shape{rows, inputs}),
        tq::TensorView<float>(y.data(), Shape{rows, outputs}));
    return y;
  };
  CHECK(run(load_grouped_weights(save_grouped_weights(w))) == run(w));
}

TEST_CASE("the bytes of weights in groups are those of the format") {
  using Params = Plain<tq::binary>;
  tq::Buffer<std::byte> one(1);
  one.data()[0] = std::byte{0b10};  // -1, 1
  const GroupedWeights w(
      tq::QuantizedTensor<Params>(Shape{1, 2}, Params(tq::PerGroup<32>(), {0.5f}), one));
  const Bytes bytes = save_grouped_weights(w);
  const std::size_t scales = 68 + 2 * 4, codes = scales + 32 * 4;
  REQUIRE(bytes.size() == codes + 16 * 32 / 4);
  Bytes wanted(bytes.size());
  const std::string_view magic = "tqgroups";
  for (std::size_t i = 0; i < 8; ++i) wanted[i] = static_cast<std::byte>(magic[i]);
  wanted[8] = std::byte{1};    // version
  wanted[12] = std::byte{32};  // outputs of a panel
  wanted[16] = std::byte{1};
  wanted[24] = std::byte{2};
  wanted[40] = std::byte{2};  // inputs of a group
  wanted[48] = std::byte{2};  // values
  wanted[64] = std::byte{1};  // the level of 0
  put_float(wanted, 68, -1.0f);
  put_float(wanted, 72, 1.0f);
  put_float(wanted, scales, 0.5f);
  wanted[codes + 1] = std::byte{2};  // the second input, and zeros for padding
  test::sum_again(wanted);
  CHECK(bytes == wanted);
}

TEST_CASE("bytes that are not those of weights in groups are refused, whichever is changed") {
  for (const Bytes& whole : {save_grouped_weights(weights<WithZeros<tq::uint2, 16>>(3, 20)),
                             save_grouped_weights(weights<Plain<tq::nf4, 16>>(2, 5))})
    CHECK(test::refuses_changes(whole,
                                [](const Bytes& bytes) { (void)load_grouped_weights(bytes); }));
}

TEST_CASE("headers and paddings that no save writes are refused, though their checksum is right") {
  const GroupedWeights w = weights<Plain<tq::ternary, 16>>(3, 20);
  REQUIRE(!w.has_zero_points());
  const Bytes whole = save_grouped_weights(w);
  const auto load = [&](std::size_t at, std::initializer_list<int> values) {
    (void)load_grouped_weights(test::with_values(whole, at, values));
  };
  const auto malformed = [&](std::initializer_list<const char*> parts, std::size_t at,
                             std::initializer_list<int> values) {
    test::raises(errc::malformed, parts, [&] { load(at, values); });
  };
  const std::initializer_list<int> huge{255, 255, 255, 255, 255, 255, 255, 255};
  malformed({"\"tqgroups\""}, 0, {'T'});
  test::raises(errc::unsupported, {"version 1", "2"}, [&] { load(8, {2}); });
  test::raises(errc::unsupported, {"panels of 32", "16"}, [&] { load(12, {16}); });
  malformed({"sizes", "40 outputs of 20"}, 16, {40});
  malformed({"sizes"}, 16, huge);
  malformed({"sizes", "65 inputs"}, 24, {65});
  malformed({"sizes"}, 24, huge);
  malformed({"sizes"}, 40, {0});
  malformed({"sizes"}, 40, {4});
  malformed({"sizes"}, 40, huge);
  malformed({"16 values", "17"}, 48, {17});
  malformed({"16 values"}, 48, huge);
  malformed({"8 bits", "127 to 1"}, 52, {127, 0, 0, 0});
  malformed({"8 bits"}, 56, {255, 255, 255, 127});
  malformed({"sizes"}, 56, {3});  // other codes, of 3 bits
  malformed({"sizes"}, 60, {1});  // levels of 0 that are not there
  test::raises(errc::bad_scale, {"output 3"}, [&] { load(16, {4}); });  // one of the padding
  test::raises(errc::bad_zero_point, {"from 0 to 2"}, [&] { load(64, {3}); });
  const std::size_t scales = 68, codes = scales + 2 * 32 * 4;
  malformed({"saved as"}, scales + 4 * 3, {0, 0, 128, 63});  // a scale of no output
  test::raises(errc::bad_scale, {"positive"}, [&] { load(scales, {0, 0, 0, 0}); });
  test::raises(errc::bad_scale, {"positive"}, [&] { load(scales, {0, 0, 128, 127}); });
  test::raises(errc::bad_argument, {"packed codes", "3"}, [&] { load(codes, {0xff}); });
  malformed({"saved as"}, codes + 3 * 4, {0x55});  // a code of no output
  test::raises(errc::malformed, {"68 bytes", "67"}, [] { (void)load_grouped_weights(Bytes(67)); });
}
