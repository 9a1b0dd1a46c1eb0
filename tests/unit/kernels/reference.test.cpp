// SPDX-License-Identifier: MIT
// The scalar reference against the oracle.
#include <tq/kernels/reference.hpp>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace {

template <class N>
void check(const N& n, std::uint64_t seed) {
  inputs::Random r(seed);
  const std::int32_t ends[][2] = {{-128, 127},     {0, 255},   {-127, 127},
                                  {-8, 7},         {0, 15},    {-2, 1},
                                  {-32768, 32767}, {0, 65535}, {-2147483647 - 1, 2147483647}};
  int failed = 0;
  std::string first;
  for (int i = 0; i < 20000; ++i) {
    const std::size_t row = r.below(9);
    const bool wide = row == 8;
    const auto& e = ends[row];
    const float s = inputs::scale(r), x = inputs::value(r, s);
    const std::int32_t zero = r.chance(30) ? (e[0] < 0 ? 0 : e[0]) : r.between(e[0], e[1]);
    const std::uint64_t index = r.chance(50) ? r.below(1000) : r.bits();
    const std::int32_t wanted = oracle::quantize(x, s, zero, e[0], e[1], n, index);
    const tq::reference::Slot slot{s, zero, e[0], e[1]};
    const std::int32_t got = wide ? tq::reference::quantize_wide(x, slot, n, index)
                                  : tq::reference::quantize(x, slot, n, index);
    const float back = wide ? tq::reference::dequantize_wide(got, s, zero)
                            : tq::reference::dequantize(got, s, zero);
    if (got == wanted && oracle::same(back, oracle::dequantize(wanted, s, zero))) continue;
    if (++failed == 1) {
      std::ostringstream text;
      text << std::hexfloat << "x " << x << ", scale " << s << ", zero point " << zero << ", codes "
           << e[0] << " to " << e[1] << ": expected " << wanted << ", got " << got << " and "
           << back;
      first = text.str();
    }
  }
  INFO("rounding " << N::rounding_type::name << ", " << N::scaling_type::name << ", "
                   << N::nan_type::name << ": " << first);
  CHECK(failed == 0);
}

template <class R>
void check_rounding(const R& rounding, std::uint64_t seed) {
  using namespace tq;
  check(Numerics<R, Divide, NanToZero>{rounding}, seed);
  check(Numerics<R, Divide, NanToMin>{rounding}, seed + 1);
  check(Numerics<R, Reciprocal, NanToZero>{rounding}, seed + 2);
  check(Numerics<R, Reciprocal, NanToMin>{rounding}, seed + 3);
  check(Numerics<R, Divide, RaiseNan>{rounding}, seed + 4);
}

}  // namespace

TEST_CASE("the reference equals the oracle", "[reference]") {
  check_rounding(tq::NearestEven{}, 100);
  check_rounding(tq::HalfAway{}, 200);
  check_rounding(tq::HalfUp{}, 300);
  check_rounding(tq::TowardZero{}, 400);
  check_rounding(tq::Floor{}, 500);
  check_rounding(tq::Stochastic{42}, 600);
}

TEST_CASE("codes worked out by hand", "[reference]") {
  using tq::reference::quantize;
  const tq::Numerics<> n;
  const tq::reference::Slot half{0.5f, 0, -128, 127};
  CHECK(quantize(0.25f, half, n, 0) == 0);  // 0.5 to even
  CHECK(quantize(0.75f, half, n, 0) == 2);  // 1.5 to even
  CHECK(quantize(-0.25f, half, n, 0) == 0);
  CHECK(quantize(-1.25f, half, n, 0) == -2);   // -2.5 to even
  CHECK(quantize(63.75f, half, n, 0) == 127);  // 127.5 would be 128
  CHECK(quantize(-1e30f, half, n, 0) == -128);
  const tq::reference::Slot shifted{0.1f, 100, 0, 255};
  CHECK(quantize(0.0f, shifted, n, 0) == 100);
  CHECK(quantize(-10.0f, shifted, n, 0) == 0);
  CHECK(quantize(-10.1f, shifted, n, 0) == 0);
  CHECK(quantize(15.5f, shifted, n, 0) == 255);
  CHECK(tq::reference::dequantize(255, 0.1f, 100) == 155.0f * 0.1f);
  // 3 / 0.1f is 29.999999..., 3 * fl(1 / 0.1f) is 30: with the fraction dropped the codes differ.
  CHECK(quantize(3.0f, shifted, tq::Numerics<tq::TowardZero>{}, 0) ==
        oracle::quantize(3.0f, 0.1f, 100, 0, 255, tq::Numerics<tq::TowardZero>{}));
}

TEST_CASE("codes of 32 bits worked out by hand", "[reference]") {
  using tq::reference::quantize_wide, tq::reference::dequantize_wide;
  const tq::Numerics<> n;
  constexpr std::int32_t least = -2147483647 - 1, most = 2147483647;
  const auto code = [&](float x, std::int32_t zero) {
    return quantize_wide(x, {1.0f, zero, least, most}, n, 0);
  };
  CHECK(code(2147483520.0f, 0) == 2147483520);  // the largest float32 that is a code
  CHECK(code(0x1p31f, 0) == most);
  CHECK(code(-0x1p31f, 0) == least);
  CHECK(code(1e30f, 0) == most);
  CHECK(code(-1e30f, 7) == least);
  // PyTorch adds in float32.
  const auto torch = [&](float x, std::int32_t zero) {
    return quantize_wide(x, {1.0f, zero, least, most}, tq::numerics::torch{}, 0);
  };
  CHECK(torch(1.0f, 16777216) == 16777216);
  CHECK(code(1.0f, 16777216) == 16777217);
  CHECK(torch(0.0f, most) == most);
  CHECK(torch(3.0f, least) == least);
  CHECK(torch(-300.0f, most) == 2147483392);
  // The sum decides, not its parts.
  CHECK(code(0x1p31f, -3) == 2147483645);
  CHECK(code(-0x1p31f, 5) == -2147483643);
  CHECK(code(0x1p32f, least) == most);
  CHECK(code(0x1p32f, least + 100) == most);
  CHECK(code(-4294967040.0f, most) == -2147483393);
  CHECK(code(2147483520.0f, most) == most);
  CHECK(code(16777216.0f, 1) == 16777217);  // no float32
  // So does the difference, which is rounded once.
  CHECK(dequantize_wide(most, 0.5f, 0) == 0x1p30f);
  CHECK(dequantize_wide(most, 1.0f, least) == 0x1p32f);
  CHECK(dequantize_wide(least, 1.0f, most) == -0x1p32f);
  CHECK(dequantize_wide(16777217, 1.0f, 0) == 16777216.0f);
  CHECK(dequantize_wide(16777217, 1.0f, 1) == 16777216.0f);
  CHECK(dequantize_wide(16777219, 1.0f, -2) == 16777220.0f);
}

namespace {

template <class N>
void check_offsets(const N& n, std::uint64_t seed) {
  inputs::Random r(seed);
  const std::int32_t ends[][2] = {{-128, 127}, {0, 255},        {-8, 7},   {0, 15},
                                  {-1, 1},     {-32768, 32767}, {0, 65535}};
  int failed = 0;
  std::string first;
  for (int i = 0; i < 20000; ++i) {
    const auto& e = ends[r.below(7)];
    const float s = inputs::scale(r);
    const float m = r.chance(80) ? static_cast<float>(r.normal() * 100 * static_cast<double>(s))
                                 : inputs::value(r, s);
    if (!std::isfinite(m)) continue;
    float x = r.chance(50) ? inputs::value(r, s) : m + inputs::value(r, s);
    if (r.chance(5)) x = m;
    const std::uint64_t index = r.chance(50) ? r.below(1000) : r.bits();
    const std::int32_t wanted = oracle::quantize_offset(x, s, m, e[0], e[1], n, index);
    const std::int32_t got = tq::reference::quantize_offset(x, {s, m, e[0], e[1]}, n, index);
    const float value = oracle::dequantize_offset(wanted, s, m);
    if (got == wanted && oracle::same(tq::reference::dequantize_offset(wanted, s, m), value))
      continue;
    if (++failed > 1) continue;
    std::ostringstream text;
    text << std::hexfloat << "x " << x << ", scale " << s << ", offset " << m << ", codes " << e[0]
         << " to " << e[1] << ": expected " << wanted << " and " << value << ", got " << got
         << " and " << tq::reference::dequantize_offset(wanted, s, m);
    first = text.str();
  }
  INFO("rounding " << N::rounding_type::name << ", " << N::scaling_type::name << ", "
                   << N::nan_type::name << ": " << first);
  CHECK(failed == 0);
}

template <class R>
void check_offset_rounding(const R& rounding, std::uint64_t seed) {
  using namespace tq;
  check_offsets(Numerics<R, Divide, NanToZero>{rounding}, seed);
  check_offsets(Numerics<R, Divide, NanToMin>{rounding}, seed + 1);
  check_offsets(Numerics<R, Reciprocal, NanToZero>{rounding}, seed + 2);
  check_offsets(Numerics<R, Reciprocal, NanToMin>{rounding}, seed + 3);
}

}  // namespace

TEST_CASE("the reference with offsets equals the oracle", "[reference]") {
  check_offset_rounding(tq::NearestEven{}, 101);
  check_offset_rounding(tq::HalfAway{}, 111);
  check_offset_rounding(tq::HalfUp{}, 121);
  check_offset_rounding(tq::TowardZero{}, 131);
  check_offset_rounding(tq::Floor{}, 141);
  check_offset_rounding(tq::Stochastic{7}, 151);
}

TEST_CASE("with offsets a value becomes the code whose value is nearest", "[reference]") {
  inputs::Random r(161);
  int failed = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto s = static_cast<float>(std::ldexp(1 + r.unit(), r.between(-8, 8)));
    const auto m = static_cast<float>((r.unit() - 0.5) * 100 * static_cast<double>(s));
    const auto x =
        static_cast<float>(static_cast<double>(m) + (r.unit() * 20 - 2) * static_cast<double>(s));
    const auto distance = [&](std::int32_t code) {
      return std::fabs(code * static_cast<double>(s) + static_cast<double>(m) -
                       static_cast<double>(x));
    };
    const double got =
        distance(tq::reference::quantize_offset(x, {s, m, 0, 15}, tq::numerics::onnx{}, 0));
    const double slack = 1e-5 * static_cast<double>(s);  // of values half way between two
    for (std::int32_t code = 0; code < 16; ++code) failed += got > distance(code) + slack ? 1 : 0;
  }
  CHECK(failed == 0);
}
