// SPDX-License-Identifier: MIT
#include <tq/layouts/nvfp4.hpp>
#include <tq/ops/dequantize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

namespace nv = tq::layouts::nvidia;
using Bytes = std::vector<std::uint8_t>;
using nv::Divisor;
using nv::Multiplier;

static_assert(nv::Format<tq::nvfp4> && nv::Format<tq::nvfp4_normal> && !nv::Format<tq::mxfp4>);
static_assert(nv::TensorScaleConvention<Multiplier> && nv::TensorScaleConvention<Divisor> &&
              !nv::TensorScaleConvention<tq::LowFirst>);

constexpr double fp4[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0., -0.5, -1, -1.5, -2, -3, -4, -6};
double e4m3(std::uint8_t code) {
  const int e = code >> 3, m = code & 7;
  return e == 0 ? std::ldexp(m, -9) : std::ldexp(8 + m, e - 10);
}

struct Parts {
  tq::Shape shape;
  std::size_t lines = 1, length, blocks;
  Bytes codes, scales, packed, tiles;

  Parts(const tq::Shape& s, std::uint64_t seed) : shape(s), length(s[s.rank() - 1]) {
    inputs::Random r(seed);
    for (int i = 0; i + 1 < s.rank(); ++i) lines *= s[i];
    blocks = (length + 15) / 16;
    codes = bits::codes<tq::uint4>(r, lines * length);
    scales.resize(lines * blocks);
    for (auto& c : scales) c = static_cast<std::uint8_t>(r.below(127));
    packed.assign((codes.size() + 1) / 2, 0);
    for (std::size_t i = 0; i < codes.size(); ++i) bits::put(packed, 0, 1, 4 * i, 4, codes[i]);
    const std::size_t wide = (blocks + 3) / 4;
    tiles.assign(codes.empty() ? 0 : (lines + 127) / 128 * wide * 512, 0);
    for (std::size_t l = 0; l < lines; ++l)
      for (std::size_t b = 0; b < blocks; ++b)
        tiles[(l / 128 * wide + b / 4) * 512 + l % 32 * 16 + l % 128 / 32 * 4 + b % 4] =
            scales[l * blocks + b];
  }
  [[nodiscard]] double value(std::size_t i) const {
    return fp4[codes[i]] * e4m3(scales[i / length * blocks + i % length / 16]);
  }
};

template <class Params, class Layout>
void round_trip(const Parts& p, const Bytes& scales) {
  const auto q = nv::load_tensor<Params, Multiplier, Layout>(p.shape, p.packed, scales, 0.375f);
  REQUIRE(q.shape() == p.shape);
  CHECK(q.params().stored_scales().tensor_scale() == 0.375f);
  const auto stored = q.params().stored_scales().stored();
  CHECK(Bytes(stored.begin(), stored.end()) == p.scales);
  const std::vector<float> values = tq::dequantize(q);
  REQUIRE(values.size() == p.codes.size());
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    wrong += double{values[i]} != p.value(i) * 0.375;  // exact
  CHECK(wrong == 0);
  inputs::Random r(8);
  Bytes c = bits::noise<std::uint8_t>(r, p.packed.size());
  Bytes s = bits::noise<std::uint8_t>(r, scales.size());
  CHECK(nv::store_tensor<Multiplier, Layout>(q, c, s) == 0.375f);
  CHECK(c == p.packed);
  CHECK(s == scales);
}

}  // namespace

TEST_CASE("NVFP4 bytes are read and written", "[nvfp4]") {
  const tq::Shape shapes[] = {{1},      {15},      {16},    {17},   {3, 5},   {5, 48},
                              {130, 7}, {300, 80}, {0, 16}, {3, 0}, {1, 200}, {33, 65}};
  for (const tq::Shape& shape : shapes) {
    const Parts p(shape, shape.size() + 3);
    INFO(to_string(shape));
    round_trip<tq::nvfp4, tq::ScaleRows>(p, p.scales);
    round_trip<tq::nvfp4_normal, tq::ScaleTiles>(p, p.tiles);
  }
  const Parts p({2, 3, 20}, 4);
  round_trip<tq::nvfp4, tq::ScaleRows>(p, p.scales);
}

TEST_CASE("the two conventions of the tensor scale", "[nvfp4]") {
  const Bytes codes{0x21, 0x43, 0x65, 0x87, 0, 0, 0, 0};
  const auto twice = nv::load_tensor<tq::nvfp4, Multiplier>({16}, codes, Bytes{0x38}, 2.0f);
  const auto half = nv::load_tensor<tq::nvfp4, Divisor>({16}, codes, Bytes{0x38}, 2.0f);
  CHECK(tq::dequantize(twice)[6] == 12.0f);
  CHECK(tq::dequantize(half)[6] == 3.0f);
  CHECK(half.params().stored_scales().tensor_scale() == 0.5f);

  Bytes c(8), s(1);
  CHECK(nv::store_tensor<Divisor>(half, c, s) == 2.0f);
  CHECK(nv::store_tensor<Multiplier>(half, c, s) == 0.5f);
  CHECK(c == codes);
  CHECK(s == Bytes{0x38});

  // The inverse as float32 is at most 2 ulps from dividing by what is stored.
  inputs::Random r(5);
  for (int i = 0; i < 2000; ++i) {
    const float stored = inputs::ordinary_scale(r);
    const auto scale = static_cast<std::uint8_t>(1 + r.below(126));
    const auto q = nv::load_tensor<tq::nvfp4, Divisor>({1}, Bytes{2}, Bytes{scale}, stored);
    const auto wanted = static_cast<float>(e4m3(scale) / double{stored});
    const float got = tq::dequantize(q)[0];
    REQUIRE(got >= inputs::nudge(wanted, -2));
    REQUIRE(got <= inputs::nudge(wanted, 2));
    const float again = nv::store_tensor<Divisor>(q, c = Bytes(1), s = Bytes(1));
    REQUIRE(again >= inputs::nudge(stored, -1));
    REQUIRE(again <= inputs::nudge(stored, 1));
  }
}

TEST_CASE("what no NVFP4 tensor has is refused", "[nvfp4]") {
  constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                  inf = std::numeric_limits<float>::infinity();
  const Bytes codes(20), scales(4, 0x38);
  const auto load = [&]<class C>(C, const Bytes& s, float ts) {
    (void)nv::load_tensor<tq::nvfp4, C>({2, 20}, codes, s, ts);
  };
  load(Multiplier{}, Bytes{0, 1, 8, 0x7e}, 1.0f);
  for (const int bad : {0x7f, 0x80, 0x81, 0xb8, 0xff}) {
    Bytes s = scales;
    s[2] = static_cast<std::uint8_t>(bad);
    const std::string got = "got code " + std::to_string(bad) + " for block 2";
    test::raises(tq::errc::bad_scale,
                 {"tq::layouts::nvidia::load_tensor", "neither negative nor NaN", got.c_str()},
                 [&] { load(Multiplier{}, s, 1.0f); });
  }
  for (const float ts : {0.0f, -1.0f, nan_value, inf, -inf}) {
    if (ts != 0)
      test::raises(tq::errc::bad_scale,
                   {"tq::layouts::nvidia::load_tensor", "positive finite tensor scale"},
                   [&] { load(Multiplier{}, scales, ts); });
    if (ts != inf)
      test::raises(tq::errc::bad_scale,
                   {"tq::layouts::nvidia::load_tensor", "positive finite tensor scale"},
                   [&] { load(Divisor{}, scales, ts); });
  }
  load(Multiplier{}, scales, 1e-45f);
  test::raises(tq::errc::bad_scale, {"tq::layouts::nvidia::load_tensor"},
               [&] { load(Divisor{}, scales, 1e-45f); });
  test::raises(tq::errc::bad_scale, {"tq::layouts::nvidia::load_tensor", "got inf for block 0"},
               [&] { load(Multiplier{}, Bytes(4, 0x7e), 1e38f); });
}

TEST_CASE("NVFP4 tensors that do not fit are refused", "[nvfp4]") {
  Bytes codes(20, 77), scales(4, 77), few(3, 77);
  const auto load = [&](const tq::Shape& shape, const Bytes& c, const Bytes& s) {
    (void)nv::load_tensor<tq::nvfp4, Multiplier>(shape, c, s, 1.0f);
  };
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::nvidia::load_tensor: expected 21 bytes of codes, got 20"},
               [&] { load({41}, codes, scales); });
  test::raises(tq::errc::shape_mismatch, {"expected 4 bytes of block scales, got 3"},
               [&] { load({2, 20}, codes, few); });
  test::raises(tq::errc::shape_mismatch, {"expected 512 bytes of block scales, got 4"}, [&] {
    (void)nv::load_tensor<tq::nvfp4, Multiplier, tq::ScaleTiles>({2, 20}, codes, scales, 1.0f);
  });
  test::raises(tq::errc::unsupported, {"rank of at most 2", "[1, 2, 20]"}, [&] {
    (void)nv::load_tensor<tq::nvfp4, Multiplier, tq::ScaleTiles>({1, 2, 20}, codes, scales, 1.0f);
  });
  test::raises(tq::errc::bad_axis, {"tq::layouts::nvidia::load_tensor", "[]"},
               [&] { load({}, codes, scales); });
  test::raises(tq::errc::bad_argument, {"extents"},
               [&] { load({std::size_t{1} << 63, 2}, codes, scales); });

  const auto store = [](const auto& q, Bytes& c, Bytes& s) {
    (void)nv::store_tensor<Divisor>(q, c, s);
  };
  const auto q = nv::load_tensor<tq::nvfp4, Multiplier>({2, 20}, codes, scales, 1.0f);
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::nvidia::store_tensor: expected 4 bytes of block scales, got 3"},
               [&] { store(q, codes, few); });
  test::raises(tq::errc::shape_mismatch, {"expected 20 bytes of codes, got 3"},
               [&] { store(q, few, scales); });
  // A tensor scale whose inverse is no float; a block scale of -0.
  const auto tiny = nv::load_tensor<tq::nvfp4, Multiplier>({2, 20}, codes, scales, 1e-45f);
  test::raises(tq::errc::bad_scale, {"tq::layouts::nvidia::store_tensor", "that can be stored"},
               [&] { store(tiny, codes, scales); });
  const tq::QuantizedTensor<tq::nvfp4> minus(
      {16}, tq::nvfp4({}, tq::Scales<tq::nvfp4::scale_type>({0x80}, 1.0f)));
  Bytes c(8, 77), s(1, 77);
  test::raises(tq::errc::bad_scale,
               {"tq::layouts::nvidia::store_tensor", "got code 128 for block 0"},
               [&] { store(minus, c, s); });
  CHECK(c == Bytes(8, 77));
  CHECK(s == Bytes(1, 77));
  CHECK(codes == Bytes(20, 77));
  CHECK(scales == Bytes(4, 77));
  CHECK(few == Bytes(3, 77));
}
