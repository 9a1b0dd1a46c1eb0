// SPDX-License-Identifier: MIT
#include <tq/layouts/matmul_nbits.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

namespace nbits = tq::layouts::matmul_nbits;
using Bytes = std::vector<std::uint8_t>;
using Zeros = std::vector<std::int32_t>;

static_assert(nbits::Code<tq::uint2> && nbits::Code<tq::uint4> && nbits::Code<tq::uint8>);
static_assert(!nbits::Code<tq::uint3> && !nbits::Code<tq::int4>);
static_assert(std::same_as<nbits::Difference<tq::uint2>, tq::int3>);
static_assert(std::same_as<nbits::Difference<tq::uint4>, tq::int5>);
static_assert(std::same_as<nbits::Difference<tq::uint8>, tq::int16>);

template <class T>
struct Weight {
  tq::GroupedShape shape;
  std::size_t groups;
  Bytes codes, bytes, zero_bytes;
  Zeros zero_points;
  std::vector<float> scales;

  Weight(const tq::GroupedShape& s, std::uint64_t seed)
      : shape(s), groups((s.inputs + s.group_size - 1) / s.group_size) {
    inputs::Random r(seed);
    constexpr auto b = static_cast<std::size_t>(T::bits);
    codes = bits::codes<T>(r, s.outputs * s.inputs);
    zero_points = bits::codes<T, std::int32_t>(r, s.outputs * groups);
    scales = bits::scales(r, s.outputs * groups);
    const std::size_t row = groups * s.group_size * b / 8, zero_row = (groups * b + 7) / 8;
    bytes.assign(s.outputs * row, 0);
    zero_bytes.assign(s.outputs * zero_row, 0);
    for (std::size_t n = 0; n < s.outputs; ++n) {
      for (std::size_t k = 0; k < s.inputs; ++k)  // block by block
        bits::put(bytes, n * row + k / s.group_size * (s.group_size * b / 8), 1,
                  k % s.group_size * b, T::bits, codes[n * s.inputs + k]);
      for (std::size_t g = 0; g < groups; ++g)
        bits::put(zero_bytes, n * zero_row, 1, g * b, T::bits, zero_points[n * groups + g]);
    }
  }
};

template <class T>
void round_trip(const tq::GroupedShape& shape) {
  const Weight<T> w(shape, shape.inputs * 10 + shape.outputs);
  INFO(T::name << " " << shape.inputs << " " << shape.outputs << " " << shape.group_size);
  CHECK(nbits::row_bytes<T>(shape) * shape.outputs == w.bytes.size());
  CHECK(nbits::zero_point_bytes<T>(shape) == w.zero_bytes.size());
  Bytes codes(w.codes.size());
  nbits::load<T>(shape, w.bytes, codes);
  CHECK(codes == w.codes);
  Zeros zeros(w.zero_points.size());
  nbits::load_zero_points<T>(shape, w.zero_bytes, zeros);
  CHECK(zeros == w.zero_points);

  inputs::Random r(8);
  Bytes bytes = bits::noise<std::uint8_t>(r, w.bytes.size());
  nbits::store<T>(shape, codes, bytes);
  CHECK(bytes == w.bytes);
  bytes = bits::noise<std::uint8_t>(r, w.zero_bytes.size());
  nbits::store_zero_points<T>(shape, zeros, bytes);
  CHECK(bytes == w.zero_bytes);
}

template <class T>
void check_values(Weight<T> w, bool with_zero_points) {
  const std::size_t k = w.shape.inputs;
  const Bytes zeros = with_zero_points ? w.zero_bytes : Bytes{};
  const auto expected = [&](std::size_t i) {
    const std::size_t param = i / k * w.groups + i % k / w.shape.group_size;
    const int z = with_zero_points ? w.zero_points[param] : 1 << (T::bits - 1);
    return static_cast<float>(double{w.scales[param]} * (int{w.codes[i]} - z));
  };
  const std::vector<float> weight =
      tq::dequantize(nbits::load_weight<T>(w.shape, w.bytes, w.scales, zeros));
  for (std::size_t i = 0; i < weight.size(); ++i) CHECK(weight[i] == expected(i));

  for (std::size_t i = 0; i < w.scales.size(); ++i) w.scales[i] *= i % 3 == 0 ? -1.0f : i % 3 == 1;
  const auto differences = nbits::load_differences<T>(w.shape, w.bytes, w.scales, zeros);
  const std::vector<float> got = tq::dequantize(differences);
  REQUIRE(got.size() == w.codes.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == expected(i));
}

}  // namespace

TEST_CASE("MatMulNBits bytes are read and written field by field", "[matmul_nbits]") {
  const tq::GroupedShape shapes[] = {{16, 1, 16},  {50, 5, 16},  {1, 3, 16}, {300, 2, 32},
                                     {129, 4, 64}, {64, 3, 256}, {0, 4, 16}, {20, 0, 16}};
  for (const tq::GroupedShape& s : shapes) {
    round_trip<tq::uint2>(s);
    round_trip<tq::uint4>(s);
    round_trip<tq::uint8>(s);
  }
}

TEST_CASE("MatMulNBits has the first code in the lowest bits, and rows of its own",
          "[matmul_nbits]") {
  const tq::GroupedShape shape{17, 2, 16};
  Bytes codes(34), bytes(2 * 16, 0xee), zeros(2, 0xee);
  codes[0] = 1, codes[1] = 2, codes[16] = 3, codes[17] = 4;
  nbits::store<tq::uint4>(shape, codes, bytes);
  CHECK(bytes[0] == 0x21);
  CHECK(bytes[8] == 3);
  CHECK(bytes[16] == 4);
  nbits::store_zero_points<tq::uint4>(shape, Zeros{1, 2, 3, 4}, zeros);
  CHECK(zeros == Bytes{0x21, 0x43});
}

TEST_CASE("padding is ignored", "[matmul_nbits]") {
  const Bytes bytes(8, 0xff);
  Bytes codes(3);
  nbits::load<tq::uint4>({3, 1, 16}, bytes, codes);
  CHECK(codes == Bytes(3, 15));
}

TEST_CASE("a MatMulNBits weight is dequantized by tq", "[matmul_nbits]") {
  for (const bool with_zero_points : {false, true}) {
    check_values(Weight<tq::uint2>({50, 5, 16}, 1), with_zero_points);
    check_values(Weight<tq::uint4>({130, 3, 32}, 2), with_zero_points);
    check_values(Weight<tq::uint8>({50, 5, 16}, 3), with_zero_points);
  }
  const Weight<tq::uint4> w({40, 2, 16}, 4);
  const auto weight = nbits::load_weight<tq::uint4>(w.shape, w.bytes, w.scales, w.zero_bytes);
  CHECK(weight.tensor.shape() == tq::Shape{2, 40});
  CHECK(weight.tensor.params().granularity() == tq::PerGroup<tq::dynamic, 1>(16));
}

TEST_CASE("differences reach the ends of their type", "[matmul_nbits]") {
  const tq::GroupedShape shape{16, 2, 16};
  const Bytes bytes{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0};
  const auto w = nbits::load_differences<tq::uint8>(shape, bytes, std::vector<float>{-1.0f, 2.0f},
                                                    Bytes{0, 255});
  CHECK(w.tensor.codes()[0] == -255);
  CHECK(w.tensor.codes()[31] == -255);
  CHECK(tq::dequantize(w)[31] == -510.0f);
}

TEST_CASE("MatMulNBits refuses what does not fit", "[matmul_nbits]") {
  const tq::GroupedShape shape{20, 2, 16};
  Bytes codes(40, 1), bytes(32, 77), zero_bytes(2, 77);
  Zeros zeros(4, 1);
  const auto load = [&](const tq::GroupedShape& s) { nbits::load<tq::uint4>(s, bytes, codes); };
  for (const std::size_t size : {0u, 8u, 24u})
    test::raises(tq::errc::bad_group_size, {"tq::layouts::matmul_nbits::load"},
                 [&] { load({20, 2, size}); });
  test::raises(tq::errc::bad_group_size, {"power of two of at least 16, got 48"},
               [&] { load({20, 2, 48}); });
  test::raises(tq::errc::shape_mismatch, {"expected 48 bytes of B, got 32"},
               [&] { load({40, 2, 16}); });
  test::raises(tq::errc::shape_mismatch, {"expected 42 codes, got 40"}, [&] { load({21, 2, 16}); });
  test::raises(tq::errc::bad_argument, {"inputs and outputs that memory can hold"},
               [&] { load({1, std::size_t{1} << 61, 16}); });
  CHECK(codes == Bytes(40, 1));

  codes[39] = 16;
  test::raises(tq::errc::bad_argument,
               {"tq::layouts::matmul_nbits::store", "codes in [0, 15], got 16 at element 39"},
               [&] { nbits::store<tq::uint4>(shape, codes, bytes); });
  zeros[3] = 16;
  test::raises(tq::errc::bad_zero_point, {"store_zero_points", "[0, 15], got 16 at element 3"},
               [&] { nbits::store_zero_points<tq::uint4>(shape, zeros, zero_bytes); });
  zeros.pop_back();
  test::raises(tq::errc::shape_mismatch, {"expected 4 zero points, got 3"},
               [&] { nbits::store_zero_points<tq::uint4>(shape, zeros, zero_bytes); });
  test::raises(tq::errc::shape_mismatch, {"load_zero_points", "expected 4 zero points, got 3"},
               [&] { nbits::load_zero_points<tq::uint4>(shape, zero_bytes, zeros); });
  test::raises(tq::errc::shape_mismatch, {"expected 2 bytes of zero_points, got 32"},
               [&] { nbits::load_zero_points<tq::uint4>(shape, bytes, zeros); });
  CHECK(bytes == Bytes(32, 77));
  CHECK(zero_bytes == Bytes(2, 77));
}

TEST_CASE("a MatMulNBits weight with impossible parameters is refused", "[matmul_nbits]") {
  const Weight<tq::uint4> w({20, 2, 16}, 6);
  const auto with = [&](float scale) {
    std::vector<float> s = w.scales;
    s[2] = scale;
    return s;
  };
  for (const float s :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    test::raises(tq::errc::bad_scale,
                 {"tq::layouts::matmul_nbits::load_weight", "finite", "group 0 of output 1"},
                 [&] { (void)nbits::load_weight<tq::uint4>(w.shape, w.bytes, with(s)); });
    test::raises(tq::errc::bad_scale,
                 {"tq::layouts::matmul_nbits::load_differences", "finite", "group 0 of output 1"},
                 [&] { (void)nbits::load_differences<tq::uint4>(w.shape, w.bytes, with(s)); });
  }
  test::raises(tq::errc::shape_mismatch, {"expected 4 scales, got 1"}, [&] {
    (void)nbits::load_weight<tq::uint4>(w.shape, w.bytes, std::vector<float>(1, 1.0f));
  });
  test::raises(tq::errc::shape_mismatch, {"expected 2 bytes of zero_points, got 1"}, [&] {
    (void)nbits::load_differences<tq::uint4>(w.shape, w.bytes, w.scales, Bytes(1));
  });
  test::raises(tq::errc::bad_group_size, {"load_differences"},
               [&] { (void)nbits::load_differences<tq::uint4>({20, 2, 0}, w.bytes, w.scales); });
}

TEST_CASE("outputs without inputs take no time, however many there are", "[matmul_nbits]") {
  const tq::GroupedShape shape{0, std::size_t{1} << 60, 32};
  tq::layouts::matmul_nbits::load<tq::uint4>(shape, {}, {});
  tq::layouts::matmul_nbits::store<tq::uint4>(shape, {}, {});
  CHECK(tq::layouts::matmul_nbits::load_weight<tq::uint4>(shape, {}, {}).tensor.size() == 0);
  CHECK(tq::layouts::matmul_nbits::load_differences<tq::uint4>(shape, {}, {}).tensor.size() == 0);
}
