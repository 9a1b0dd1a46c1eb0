// SPDX-License-Identifier: MIT
#include <tq/layouts/compressed_tensors.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

namespace ct = tq::layouts::compressed_tensors;
using Words = std::vector<std::int32_t>;

static_assert(tq::IntegerElement<ct::int1>);
static_assert(ct::Code<ct::int1> && ct::Code<tq::int2> && ct::Code<tq::int5> && ct::Code<tq::int8>);
static_assert(!ct::Code<tq::uint4> && !ct::Code<tq::int16>);

template <class T, int Axis, class Code>
Words packed(const std::vector<Code>& codes, std::size_t rows, std::size_t columns) {
  constexpr auto b = static_cast<std::size_t>(T::bits);
  const std::size_t line = ((Axis == 0 ? rows : columns) * b + 31) / 32;
  Words words(line * (Axis == 0 ? columns : rows), 0);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      bits::put(words, Axis == 0 ? c : r * line, Axis == 0 ? columns : 1, (Axis == 0 ? r : c) * b,
                T::bits, static_cast<int>(codes[r * columns + c]) + (1 << (T::bits - 1)));
  return words;
}

template <class T, int Axis>
void round_trip(std::size_t rows, std::size_t columns) {
  inputs::Random r(rows * 100 + columns);
  const std::vector<std::int8_t> codes = bits::codes<T>(r, rows * columns);
  const Words expected = packed<T, Axis>(codes, rows, columns);
  INFO(T::name << " [" << rows << ", " << columns << "] packed along " << Axis);
  CHECK(ct::words_for<T, Axis>(rows, columns) == expected.size());
  Words words = bits::noise<std::int32_t>(r, expected.size());
  ct::store<T, Axis>(rows, columns, codes, words);
  CHECK(words == expected);
  std::vector<std::int8_t> back(codes.size());
  ct::load<T, Axis>(rows, columns, expected, back);
  CHECK(back == codes);

  const Words wide(codes.begin(), codes.end());
  Words wide_back(codes.size());
  ct::store<T, Axis, std::int32_t>(rows, columns, wide, words);
  CHECK(words == expected);
  ct::load<T, Axis, std::int32_t>(rows, columns, expected, wide_back);
  CHECK(wide_back == wide);
}

template <class T>
void round_trips() {
  for (const std::size_t n : {0u, 1u, 4u, 5u, 31u, 32u, 33u, 70u}) {
    round_trip<T, 0>(n, 3);
    round_trip<T, 1>(3, n);
  }
}

template <class T>
void check_weight(const tq::GroupedShape& shape, const Words& g_idx) {
  inputs::Random r(shape.inputs);
  const std::size_t k = shape.inputs, n = shape.outputs, groups = shape.groups();
  const std::vector<std::int8_t> codes = bits::codes<T>(r, n * k);
  const Words zeros = bits::codes<T, std::int32_t>(r, n * groups);
  const std::vector<float> scales = bits::scales(r, n * groups);
  const Words words = packed<T, 1>(codes, n, k), zero_words = packed<T, 0>(zeros, n, groups);
  const auto symmetric = ct::load_weight<T>(shape, words, scales, g_idx);
  const auto asymmetric = ct::load_asymmetric_weight<T>(shape, words, scales, zero_words, g_idx);
  CHECK(symmetric.tensor.shape() == tq::Shape{n, k});
  const std::vector<float> s = tq::dequantize(symmetric), a = tq::dequantize(asymmetric);
  REQUIRE(s.size() == codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t input = i % k;
    const std::size_t g =
        g_idx.empty() ? input / shape.group_size : static_cast<std::size_t>(g_idx[input]);
    const std::size_t param = i / k * groups + g;
    CHECK(s[i] == static_cast<float>(double{scales[param]} * codes[i]));
    CHECK(a[i] == static_cast<float>(double{scales[param]} * (codes[i] - zeros[param])));
  }
}

}  // namespace

TEST_CASE("compressed-tensors words are read and written field by field", "[compressed_tensors]") {
  round_trips<ct::int1>();
  round_trips<tq::int2>();
  round_trips<tq::int3>();
  round_trips<tq::int4>();
  round_trips<tq::int5>();
  round_trips<tq::int6>();
  round_trips<tq::int7>();
  round_trips<tq::int8>();
}

TEST_CASE("compressed-tensors codes are offset, and rest bits are zero", "[compressed_tensors]") {
  const std::vector<std::int8_t> codes{-8, -7, 0, 7, 1};
  Words row(1, -1), column(5, -1);
  ct::store<tq::int4, 1>(1, 5, codes, row);
  CHECK(row == Words{0x9f810});
  ct::store<tq::int4, 0>(1, 5, codes, column);
  CHECK(column == Words{0, 1, 8, 15, 9});

  std::vector<std::int8_t> back(5);
  ct::load<tq::int4, 1>(1, 5, Words{static_cast<std::int32_t>(0xfff9f810)}, back);
  CHECK(back == codes);
}

TEST_CASE("a compressed-tensors weight is dequantized by tq", "[compressed_tensors]") {
  check_weight<tq::int4>({64, 6, 16}, {});
  check_weight<tq::int3>({50, 5, 16}, {});
  check_weight<tq::int8>({33, 4, 33}, {});  // the channel strategy
  check_weight<ct::int1>({40, 3, 8}, {});
  Words g_idx(50);
  for (std::size_t i = 0; i < 50; ++i) g_idx[i] = static_cast<std::int32_t>(i * 7 % 50 / 16);
  check_weight<tq::int4>({50, 5, 16}, g_idx);
}

TEST_CASE("compressed-tensors refuses what does not fit", "[compressed_tensors]") {
  std::vector<std::int8_t> codes(10, 1);
  Words words(2, 77);
  const auto load = [&](std::size_t rows, std::size_t columns) {
    ct::load<tq::int4, 1>(rows, columns, words, codes);
  };
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::compressed_tensors::load: expected 5 words, got 2"},
               [&] { load(5, 2); });
  test::raises(tq::errc::shape_mismatch, {"expected 12 codes, got 10"}, [&] { load(2, 6); });
  test::raises(tq::errc::bad_argument, {"rows and columns"},
               [&] { load(std::size_t{1} << 63, 2); });
  CHECK(codes == std::vector<std::int8_t>(10, 1));

  codes[9] = 8;
  test::raises(tq::errc::bad_argument,
               {"tq::layouts::compressed_tensors::store", "[-8, 7], got 8 at element 9"},
               [&] { ct::store<tq::int4, 1>(2, 5, codes, words); });
  codes[9] = -2;
  test::raises(tq::errc::bad_argument, {"[-1, 0], got 1 at element 0"},
               [&] { ct::store<ct::int1, 1>(2, 5, codes, words); });
  CHECK(words == Words(2, 77));

  const tq::GroupedShape shape{5, 2, 5};
  const std::vector<float> scales{1.0f, 2.0f};
  (void)ct::load_weight<tq::int4>(shape, words, scales);
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::compressed_tensors::load_weight", "expected 4 scales, got 2"},
               [&] { (void)ct::load_weight<tq::int4>({5, 2, 3}, words, scales); });
  test::raises(tq::errc::shape_mismatch, {"expected 4 words of weight_packed, got 2"},
               [&] { (void)ct::load_weight<tq::int4>({9, 2, 9}, words, scales); });
  test::raises(tq::errc::bad_group_size, {"got 0"},
               [&] { (void)ct::load_weight<tq::int4>({5, 2, 0}, words, scales); });
  test::raises(
      tq::errc::bad_scale,
      {"tq::layouts::compressed_tensors::load_weight: expected finite scales that are not negative",
       "got -2", "group 0 of output 1"},
      [&] { (void)ct::load_weight<tq::int4>(shape, words, std::vector<float>{1.0f, -2.0f}); });
  CHECK(ct::load_weight<tq::int4>(shape, words, scales, Words(5, -1)).input_order.empty());
  test::raises(tq::errc::bad_argument, {"tq::group_order", "got -1 for input 4"}, [&] {
    (void)ct::load_weight<tq::int4>(shape, words, scales, Words{0, 0, 0, 0, -1});
  });
  test::raises(tq::errc::shape_mismatch,
               {"load_asymmetric_weight", "expected 1 words of weight_zero_point, got 2"},
               [&] { (void)ct::load_asymmetric_weight<tq::int4>(shape, words, scales, words); });
}
