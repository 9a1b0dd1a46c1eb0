// SPDX-License-Identifier: MIT
#include <tq/layouts/gptq.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

using tq::layouts::gptq::V1;
using tq::layouts::gptq::V2;
using Words = std::vector<std::int32_t>;

static_assert(tq::layouts::gptq::Code<tq::uint2> && tq::layouts::gptq::Code<tq::uint3> &&
              tq::layouts::gptq::Code<tq::uint4> && tq::layouts::gptq::Code<tq::uint8>);
static_assert(!tq::layouts::gptq::Code<tq::uint5> && !tq::layouts::gptq::Code<tq::int4> &&
              !tq::layouts::gptq::Code<tq::uint16>);
static_assert(tq::layouts::gptq::Version<V1> && tq::layouts::gptq::Version<V2>);
static_assert(!tq::layouts::gptq::Version<tq::layouts::gptq::Weights>);  // qweight is not packed as
                                                                         // qzeros are

// A checkpoint written bit by bit; `borrow` is what version 1 takes off a zero point.
template <class T>
struct Checkpoint {
  tq::GroupedShape shape;
  std::vector<std::uint8_t> codes;
  Words zero_points, qweight, qzeros;
  std::vector<float> scales;

  Checkpoint(const tq::GroupedShape& s, int lowest_zero, int borrow, std::uint64_t seed)
      : shape(s) {
    inputs::Random r(seed);
    const std::size_t k = s.inputs, n = s.outputs, g = (k + s.group_size - 1) / s.group_size;
    constexpr auto b = static_cast<std::size_t>(T::bits);
    codes = bits::codes<T>(r, k * n);
    zero_points = bits::codes<T, std::int32_t>(r, g * n, lowest_zero);
    scales = bits::scales(r, g * n);
    qweight.assign(k * b / 32 * n, 0);
    qzeros.assign(g * (n * b / 32), 0);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < n; ++j)
        bits::put(qweight, j, n, i * b, T::bits, codes[i * n + j]);
    for (std::size_t i = 0; i < g; ++i)
      for (std::size_t j = 0; j < n; ++j)
        bits::put(qzeros, i * (n * b / 32), 1, j * b, T::bits, zero_points[i * n + j] - borrow);
  }
};

template <class T, class V>
void round_trip(const tq::GroupedShape& shape, std::uint64_t seed) {
  constexpr bool first = std::same_as<V, V1>;
  const Checkpoint<T> c(shape, first ? 1 : 0, first ? 1 : 0, seed);
  INFO(T::name << " " << V::name << " " << shape.inputs << " " << shape.outputs << " "
               << shape.group_size);
  CHECK(tq::layouts::gptq::qweight_words<T>(shape) == c.qweight.size());
  CHECK(tq::layouts::gptq::qzeros_words<T>(shape) == c.qzeros.size());
  std::vector<std::uint8_t> codes(c.codes.size());
  Words zero_points(c.zero_points.size());
  tq::layouts::gptq::load<T, V>(shape, c.qweight, c.qzeros, codes, zero_points);
  CHECK(codes == c.codes);
  CHECK(zero_points == c.zero_points);

  inputs::Random r(seed + 1);
  Words qweight = bits::noise<std::int32_t>(r, c.qweight.size());
  Words qzeros = bits::noise<std::int32_t>(r, c.qzeros.size());
  tq::layouts::gptq::store<T, V>(shape, codes, zero_points, qweight, qzeros);
  CHECK(qweight == c.qweight);
  CHECK(qzeros == c.qzeros);
}

template <class T, class V>
void check_weight(const tq::GroupedShape& shape, const Words& g_idx) {
  const Checkpoint<T> c(shape, 1, std::same_as<V, V1> ? 1 : 0, 99);
  const auto weight =
      tq::layouts::gptq::load_weight<T, V>(shape, c.qweight, c.qzeros, c.scales, g_idx);
  const std::vector<float> got = tq::dequantize(weight);
  REQUIRE(got.size() == c.codes.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t input = i / shape.outputs;
    const std::size_t g =
        g_idx.empty() ? input / shape.group_size : static_cast<std::size_t>(g_idx[input]);
    const std::size_t param = g * shape.outputs + i % shape.outputs;
    const int steps = int{c.codes[i]} - c.zero_points[param];
    CHECK(got[i] == static_cast<float>(double{c.scales[param]} * steps));
  }
}

}  // namespace

TEST_CASE("GPTQ words are read and written field by field", "[gptq]") {
  const tq::GroupedShape shapes[] = {{32, 32, 32},  {64, 32, 16}, {96, 64, 40},
                                     {32, 96, 128}, {0, 32, 8},   {32, 0, 8}};
  std::uint64_t seed = 1;
  for (const tq::GroupedShape& s : shapes) {
    round_trip<tq::uint2, V1>(s, ++seed);
    round_trip<tq::uint2, V2>(s, ++seed);
    round_trip<tq::uint3, V1>(s, ++seed);
    round_trip<tq::uint3, V2>(s, ++seed);
    round_trip<tq::uint4, V1>(s, ++seed);
    round_trip<tq::uint4, V2>(s, ++seed);
    round_trip<tq::uint8, V1>(s, ++seed);
    round_trip<tq::uint8, V2>(s, ++seed);
  }
  round_trip<tq::uint4, V1>({8, 8, 4}, 1);  // one word a column
  round_trip<tq::uint8, V2>({4, 12, 4}, 2);
}

TEST_CASE("GPTQ packs qweight along the inputs and qzeros along the outputs", "[gptq]") {
  const tq::GroupedShape shape{8, 8, 8};
  const Words qweight{0x76543210, 0x76543210, 0, 0, 0, 0, 0, -1};
  const Words qzeros{static_cast<std::int32_t>(0xf0123467)};
  std::vector<std::uint8_t> codes(64);
  Words zeros(8);
  tq::layouts::gptq::load<tq::uint4, V1>(shape, qweight, qzeros, codes, zeros);
  for (std::size_t k = 0; k < 8; ++k) {
    CHECK(codes[k * 8] == k);
    CHECK(codes[k * 8 + 1] == k);
    CHECK(codes[k * 8 + 7] == 15);
  }
  CHECK(zeros == Words{8, 7, 5, 4, 3, 2, 1, 0});
  tq::layouts::gptq::load<tq::uint4, V2>(shape, qweight, qzeros, codes, zeros);
  CHECK(zeros == Words{7, 6, 4, 3, 2, 1, 0, 15});
}

TEST_CASE("codes of 3 bits go across words", "[gptq]") {
  std::vector<std::uint8_t> codes(32 * 32);
  codes[10 * 32] = 5;  // input 10 of output 0: bits 30, 31 of word 0 and bit 0 of word 1
  codes[21 * 32] = 6;  // bit 31 of word 1 and bits 0, 1 of word 2
  Words qweight(96), qzeros(3);
  tq::layouts::gptq::store<tq::uint3, V2>({32, 32, 32}, codes, Words(32), qweight, qzeros);
  CHECK(qweight[0] == 0x40000000);
  CHECK(qweight[32] == 1);
  CHECK(qweight[64] == 3);
}

TEST_CASE("version 1 reads all ones as zero point 0, and does not write it", "[gptq]") {
  const tq::GroupedShape shape{8, 8, 8};
  std::vector<std::uint8_t> codes(64, 3);
  Words zeros(8), qweight(8, 5), qzeros(1, -1);
  tq::layouts::gptq::load<tq::uint4, V1>(shape, qweight, qzeros, codes, zeros);
  CHECK(zeros == Words(8, 0));

  const Words before = qweight;
  test::raises(
      tq::errc::bad_zero_point,
      {"tq::layouts::gptq::store", "zero points of checkpoint_format gptq in [1, 15], got 0"},
      [&] { tq::layouts::gptq::store<tq::uint4, V1>(shape, codes, zeros, qweight, qzeros); });
  CHECK(qweight == before);
  CHECK(qzeros == Words{-1});
  tq::layouts::gptq::store<tq::uint4, V2>(shape, codes, zeros, qweight, qzeros);
  CHECK(qzeros == Words{0});
}

TEST_CASE("a GPTQ weight is dequantized by tq", "[gptq]") {
  check_weight<tq::uint4, V1>({64, 32, 16}, {});
  check_weight<tq::uint3, V2>({64, 32, 64}, {});
  check_weight<tq::uint8, V1>({32, 32, 20}, {});
  Words g_idx(64);
  for (std::size_t i = 0; i < 64; ++i) g_idx[i] = static_cast<std::int32_t>(i * 37 % 64 / 16);
  check_weight<tq::uint4, V1>({64, 32, 16}, g_idx);
  check_weight<tq::uint2, V2>({64, 32, 16}, g_idx);

  const Checkpoint<tq::uint4> c({64, 32, 16}, 1, 1, 7);
  const auto weight =
      tq::layouts::gptq::load_weight<tq::uint4, V1>(c.shape, c.qweight, c.qzeros, c.scales);
  CHECK(weight.tensor.shape() == tq::Shape{64, 32});
  CHECK(weight.tensor.params().granularity() == tq::PerGroup<tq::dynamic, 0>(16));
  CHECK(std::vector<std::uint8_t>(weight.tensor.codes().begin(), weight.tensor.codes().end()) ==
        c.codes);
  CHECK(weight.input_order.empty());
}

TEST_CASE("GPTQ refuses what does not fit", "[gptq]") {
  const tq::GroupedShape shape{16, 8, 8};
  std::vector<std::uint8_t> codes(128, 1);
  Words zeros(16, 1), qweight(16, 77), qzeros(2, 77);
  const auto load = [&](const tq::GroupedShape& s) {
    tq::layouts::gptq::load<tq::uint4, V1>(s, qweight, qzeros, codes, zeros);
  };
  const auto store = [&] {
    tq::layouts::gptq::store<tq::uint4, V1>(shape, codes, zeros, qweight, qzeros);
  };
  test::raises(tq::errc::bad_argument,
               {"tq::layouts::gptq::load", "inputs in multiples of 8, got 12"},
               [&] { load({12, 8, 8}); });
  test::raises(tq::errc::bad_argument, {"outputs in multiples of 8, got 12"},
               [&] { load({16, 12, 8}); });
  test::raises(tq::errc::bad_argument, {"inputs in multiples of 32, got 16"}, [&] {
    tq::layouts::gptq::load<tq::uint3, V1>(shape, qweight, qzeros, codes, zeros);
  });
  test::raises(tq::errc::bad_group_size, {"got 0"}, [&] { load({16, 8, 0}); });
  test::raises(tq::errc::shape_mismatch, {"expected 32 words of qweight, got 16"},
               [&] { load({32, 8, 8}); });
  test::raises(tq::errc::shape_mismatch, {"expected 4 words of qzeros, got 2"},
               [&] { load({16, 8, 4}); });
  test::raises(tq::errc::bad_argument, {"inputs and outputs"},
               [&] { load({std::size_t{1} << 60, 32, 8}); });
  CHECK(codes == std::vector<std::uint8_t>(128, 1));
  CHECK(zeros == Words(16, 1));

  codes.pop_back();
  test::raises(tq::errc::shape_mismatch, {"expected 128 codes, got 127"}, [&] { load(shape); });
  test::raises(tq::errc::shape_mismatch, {"tq::layouts::gptq::store: expected 128 codes, got 127"},
               store);
  codes.push_back(16);
  test::raises(tq::errc::bad_argument, {"codes in [0, 15], got 16 at element 127"}, store);
  codes.back() = 15;
  zeros.back() = 16;
  test::raises(tq::errc::bad_zero_point, {"in [1, 15], got 16 at element 15"}, store);
  zeros.back() = -1;
  test::raises(tq::errc::bad_zero_point, {"in [1, 15], got -1"}, store);
  zeros.pop_back();
  test::raises(tq::errc::shape_mismatch, {"expected 16 zero points, got 15"}, store);
  CHECK(qweight == Words(16, 77));
  CHECK(qzeros == Words(2, 77));
}

TEST_CASE("a GPTQ weight with impossible parameters is refused", "[gptq]") {
  const Checkpoint<tq::uint4> c({16, 8, 8}, 1, 1, 5);
  const auto load = [&](const std::vector<float>& scales, const Words& g_idx) {
    (void)tq::layouts::gptq::load_weight<tq::uint4, V1>(c.shape, c.qweight, c.qzeros, scales,
                                                        g_idx);
  };
  std::vector<float> scales = c.scales;
  scales[11] = std::numeric_limits<float>::infinity();
  test::raises(
      tq::errc::bad_scale,
      {"tq::layouts::gptq::load_weight: expected finite scales, got inf for group 1 of output 3"},
      [&] { load(scales, {}); });
  scales.pop_back();
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::gptq::load_weight: expected 16 scales, got 15"},
               [&] { load(scales, {}); });
  Words g_idx(16, 0);
  test::raises(tq::errc::unsupported, {"expected 8 inputs in group 0"},
               [&] { load(c.scales, g_idx); });
  g_idx[0] = 2;
  test::raises(tq::errc::bad_argument, {"groups in [0, 2)", "got 2 for input 0"},
               [&] { load(c.scales, g_idx); });
  g_idx.pop_back();
  test::raises(tq::errc::shape_mismatch, {"entries of g_idx"}, [&] { load(c.scales, g_idx); });
  test::raises(tq::errc::bad_group_size, {"tq::layouts::gptq::load_weight"}, [&] {
    (void)tq::layouts::gptq::load_weight<tq::uint4, V1>({16, 8, 0}, c.qweight, c.qzeros, c.scales);
  });
}
