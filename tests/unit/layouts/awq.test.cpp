// SPDX-License-Identifier: MIT
#include <tq/layouts/awq.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

using Words = std::vector<std::int32_t>;

// Nibble i of word c of a row is output 8 c + order[i].
constexpr std::size_t order[] = {0, 2, 4, 6, 1, 3, 5, 7};

template <class Code>
Words packed(const std::vector<Code>& codes, std::size_t columns) {
  Words words(codes.size() / 8, 0);
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t row = w / (columns / 8), c = w % (columns / 8);
      bits::put(words, w, 1, 4 * i, 4, static_cast<int>(codes[row * columns + 8 * c + order[i]]));
    }
  return words;
}

struct Checkpoint {
  tq::GroupedShape shape;
  std::vector<std::uint8_t> codes;
  Words zero_points, qweight, qzeros;
  std::vector<float> scales;

  Checkpoint(const tq::GroupedShape& s, std::uint64_t seed) : shape(s) {
    inputs::Random r(seed);
    const std::size_t g = (s.inputs + s.group_size - 1) / s.group_size;
    codes = bits::codes<tq::uint4>(r, s.inputs * s.outputs);
    zero_points = bits::codes<tq::uint4, std::int32_t>(r, g * s.outputs);
    scales = bits::scales(r, g * s.outputs);
    qweight = packed(codes, s.outputs);
    qzeros = packed(zero_points, s.outputs);
  }
};

}  // namespace

TEST_CASE("AWQ words are read and written nibble by nibble", "[awq]") {
  const tq::GroupedShape shapes[] = {{1, 8, 1},    {7, 8, 3}, {64, 32, 32},
                                     {5, 40, 128}, {0, 8, 4}, {8, 0, 4}};
  for (const tq::GroupedShape& s : shapes) {
    const Checkpoint c(s, s.inputs + s.outputs);
    INFO(s.inputs << " " << s.outputs << " " << s.group_size);
    CHECK(tq::layouts::awq::qweight_words(s) == c.qweight.size());
    CHECK(tq::layouts::awq::qzeros_words(s) == c.qzeros.size());
    std::vector<std::uint8_t> codes(c.codes.size());
    Words zero_points(c.zero_points.size());
    tq::layouts::awq::load(s, c.qweight, c.qzeros, codes, zero_points);
    CHECK(codes == c.codes);
    CHECK(zero_points == c.zero_points);

    inputs::Random r(3);
    Words qweight = bits::noise<std::int32_t>(r, c.qweight.size());
    Words qzeros = bits::noise<std::int32_t>(r, c.qzeros.size());
    tq::layouts::awq::store(s, codes, zero_points, qweight, qzeros);
    CHECK(qweight == c.qweight);
    CHECK(qzeros == c.qzeros);
  }
}

TEST_CASE("AWQ interleaves the outputs of a word", "[awq]") {
  std::vector<std::uint8_t> codes(8);
  Words zeros(8);
  tq::layouts::awq::load({1, 8, 1}, Words{0x76543210}, Words{0x76543210}, codes, zeros);
  CHECK(codes == std::vector<std::uint8_t>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(zeros == Words{0, 4, 1, 5, 2, 6, 3, 7});  // as they are: nothing added
}

TEST_CASE("an AWQ weight is dequantized by tq", "[awq]") {
  const Checkpoint c({40, 16, 16}, 11);
  const auto weight = tq::layouts::awq::load_weight(c.shape, c.qweight, c.qzeros, c.scales);
  CHECK(weight.tensor.shape() == tq::Shape{40, 16});
  CHECK(weight.input_order.empty());
  const std::vector<float> got = tq::dequantize(weight.tensor);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t param = i / 16 / 16 * 16 + i % 16;
    const int steps = int{c.codes[i]} - c.zero_points[param];
    CHECK(got[i] == static_cast<float>(double{c.scales[param]} * steps));
  }
}

TEST_CASE("AWQ refuses what does not fit", "[awq]") {
  const tq::GroupedShape shape{4, 8, 2};
  std::vector<std::uint8_t> codes(32, 1);
  Words zeros(16, 1), qweight(4, 77), qzeros(2, 77);
  const auto load = [&](const tq::GroupedShape& s) {
    tq::layouts::awq::load(s, qweight, qzeros, codes, zeros);
  };
  const auto store = [&] { tq::layouts::awq::store(shape, codes, zeros, qweight, qzeros); };
  test::raises(tq::errc::bad_argument,
               {"tq::layouts::awq::load", "outputs in multiples of 8, got 9"},
               [&] { load({4, 9, 2}); });
  test::raises(tq::errc::bad_group_size, {"got 0"}, [&] { load({4, 8, 0}); });
  test::raises(tq::errc::shape_mismatch, {"expected 5 words of qweight, got 4"},
               [&] { load({5, 8, 2}); });
  test::raises(tq::errc::shape_mismatch, {"expected 4 words of qzeros, got 2"},
               [&] { load({4, 8, 1}); });
  test::raises(tq::errc::bad_argument, {"inputs and outputs"},
               [&] { load({std::size_t{1} << 61, 8, 2}); });
  CHECK(codes == std::vector<std::uint8_t>(32, 1));
  CHECK(zeros == Words(16, 1));

  codes[5] = 16;
  test::raises(tq::errc::bad_argument,
               {"tq::layouts::awq::store", "codes in [0, 15], got 16 at element 5"}, store);
  codes[5] = 15;
  zeros[15] = 16;
  test::raises(tq::errc::bad_zero_point, {"zero points in [0, 15], got 16 at element 15"}, store);
  zeros.pop_back();
  test::raises(tq::errc::shape_mismatch, {"expected 16 zero points, got 15"}, store);
  codes.pop_back();
  test::raises(tq::errc::shape_mismatch, {"expected 32 codes, got 31"}, store);
  CHECK(qweight == Words(4, 77));
  CHECK(qzeros == Words(2, 77));

  test::raises(
      tq::errc::shape_mismatch, {"tq::layouts::awq::load_weight: expected 16 scales, got 1"}, [&] {
        (void)tq::layouts::awq::load_weight(shape, qweight, qzeros, std::vector<float>(1, 1.0f));
      });
  std::vector<float> scales(16, 1.0f);
  scales[15] = std::nanf("");
  test::raises(
      tq::errc::bad_scale,
      {"tq::layouts::awq::load_weight: expected finite scales, got nan for group 1 of output 7"},
      [&] { (void)tq::layouts::awq::load_weight(shape, qweight, qzeros, scales); });
}
