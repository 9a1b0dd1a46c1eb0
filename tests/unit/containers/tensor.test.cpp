// SPDX-License-Identifier: MIT
#include "unit/files/io_test.hpp"

#include <tq/containers/tensor.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

using namespace io_test;
using namespace tq::io;
using tq::errc;

TEST_CASE("sizes are products without overflow and in whole bytes") {
  using Shape = std::vector<std::size_t>;
  CHECK(storage_bytes(DType::f32, Shape{}) == 4u);
  CHECK(storage_bytes(DType::f32, Shape{2, 3}) == 24u);
  CHECK(storage_bytes(DType::f32, Shape{2, 0}) == 0u);
  CHECK(storage_bytes(DType::f4, Shape{4}) == 2u);
  CHECK(storage_bytes(DType::f6_e2m3, Shape{4}) == 3u);
  CHECK_FALSE(storage_bytes(DType::f4, Shape{3}));
  CHECK_FALSE(storage_bytes(DType::f6_e3m2, Shape{3}));
  const std::size_t big = std::size_t{1} << 32;
  CHECK_FALSE(storage_bytes(DType::u8, Shape{big, big}));
  CHECK_FALSE(storage_bytes(DType::u8, Shape{big, big, 0}));
  CHECK(storage_bytes(DType::u8, Shape{0, big, big}) == 0u);
  CHECK_FALSE(storage_bytes(DType::u8, Shape{std::size_t{1} << 61}));
}

TEST_CASE("the rows of the type table are in the order of the enumeration") {
  for (std::size_t i = 0; i < detail::dtype_rows.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(detail::dtype_rows[i].dtype == dtype);
    if (!safetensors_name(dtype).empty())
      CHECK(dtype_from_safetensors(safetensors_name(dtype)) == dtype);
    if (!npy_descr(dtype).empty()) CHECK(dtype_from_npy(npy_descr(dtype)) == dtype);
    const auto element = detail::dtype_rows[i].element;
    if (!element.empty()) CHECK(dtype_from_element(element) == dtype);
  }
  CHECK_FALSE(dtype_from_safetensors(""));
  CHECK_FALSE(dtype_from_npy(""));
  CHECK(dtype_from_element("float4_e2m1fn") == DType::f4);
  CHECK_FALSE(dtype_from_element(""));
  CHECK_FALSE(dtype_from_element("nf4"));
  CHECK(is_float(DType::f4));
  CHECK(is_float(DType::f64));
  CHECK_FALSE(is_float(DType::i64));
  CHECK_FALSE(is_float(DType::c64));
}

TEST_CASE("every binary16 pattern has the value of its formula and comes back") {
  for (std::uint32_t p = 0; p < 65536; ++p) {
    const auto pattern = static_cast<std::uint16_t>(p);
    const int exponent = (pattern >> 10) & 31, mantissa = pattern & 1023;
    const float got = half_to_float(pattern);
    if (exponent == 31 && mantissa != 0) {
      REQUIRE(std::isnan(got));
      REQUIRE((float_to_half(got) & 0x7c00) == 0x7c00);
      REQUIRE((float_to_half(got) & 0x3ff) != 0);
      continue;
    }
    double expected = exponent == 0    ? std::ldexp(mantissa, -24)
                      : exponent == 31 ? std::numeric_limits<double>::infinity()
                                       : std::ldexp(1024 + mantissa, exponent - 25);
    if ((pattern & 0x8000) != 0) expected = -expected;
    REQUIRE(static_cast<double>(got) == expected);
    REQUIRE(std::signbit(got) == ((pattern & 0x8000) != 0));
    REQUIRE(float_to_half(got) == pattern);
  }
}

TEST_CASE("float32 rounds to the nearest binary16 and bfloat16, ties to even") {
  for (std::uint32_t p = 0; p < 0x7bff; ++p) {  // every pair of finite neighbours
    const double low = static_cast<double>(half_to_float(static_cast<std::uint16_t>(p)));
    const double high = static_cast<double>(half_to_float(static_cast<std::uint16_t>(p + 1)));
    const float tie = static_cast<float>((low + high) / 2);  // exact in float32
    REQUIRE(float_to_half(tie) == (p % 2 == 0 ? p : p + 1));
    REQUIRE(float_to_half(std::nextafter(tie, 0.0f)) == p);
    REQUIRE(float_to_half(std::nextafter(tie, 1e9f)) == p + 1);
  }
  CHECK(float_to_half(65519.996f) == 0x7bff);
  CHECK(float_to_half(65520.0f) == 0x7c00);
  CHECK(float_to_half(-1e30f) == 0xfc00);
  CHECK(float_to_bfloat16(1.0f) == 0x3f80);
  CHECK(float_to_bfloat16(1.00390625f) == 0x3f80);  // 1 + 2^-8, a tie
  CHECK(float_to_bfloat16(1.01171875f) == 0x3f82);  // 1 + 3 * 2^-8, a tie
  CHECK(float_to_bfloat16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(std::isnan(bfloat16_to_float(float_to_bfloat16(std::nanf("")))));
}

TEST_CASE("float tensors convert there and back") {
  const std::vector<float> values{0.0f, -0.0f, 1.0f, -2.5f, 65504.0f, 0.25f};
  for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
    const Tensor t = from_float32("x", {2, 3}, values, dtype);
    CHECK(t.bytes.size() == 6 * bits(dtype) / 8);
    CHECK(to_float32(t) == values);
  }
  const Tensor t = from_float32("x", {2}, std::vector<float>{1.0f, -3.0f}, DType::bf16);
  CHECK(to_float32(t) == std::vector<float>{1.0f, -3.0f});
  CHECK(outcome([&] { return from_float32("x", {3}, values); }).code == errc::shape_mismatch);
  CHECK(outcome([&] { return from_float32("x", {6}, values, DType::i8); }).code ==
        errc::unsupported);
}

TEST_CASE("floats of 8, 6 and 4 bits widen exactly, packed from the lowest bit on") {
  const auto read = [](DType dtype, std::size_t n, std::vector<std::byte> bytes) {
    return to_float32(Tensor{"x", dtype, {n}, std::move(bytes)});
  };
  const auto b = [](auto... v) { return std::vector<std::byte>{static_cast<std::byte>(v)...}; };
  CHECK(read(DType::f8_e4m3, 3, b(0x7e, 0xb8, 0x01)) == std::vector<float>{448, -1, 0x1p-9f});
  CHECK(read(DType::f8_e5m2, 2, b(0x7c, 0xbc)) == std::vector<float>{INFINITY, -1});
  CHECK(read(DType::f8_e4m3fnuz, 1, b(0x7f)) == std::vector<float>{240});
  CHECK(read(DType::f8_e5m2fnuz, 1, b(0x7f)) == std::vector<float>{57344});
  CHECK(read(DType::f8_e8m0, 2, b(0, 254)) == std::vector<float>{0x1p-127f, 0x1p127f});
  // codes 1, 31, 32 + 8, 63 of six bits; 1, 15, 7, 8 of four
  CHECK(read(DType::f6_e2m3, 4, b(0xc1, 0x87, 0xfe)) ==
        std::vector<float>{0.125f, 7.5f, -1.0f, -7.5f});
  CHECK(read(DType::f6_e3m2, 4, b(0xc1, 0x87, 0xfe)) ==
        std::vector<float>{0.0625f, 28.0f, -0.5f, -28.0f});
  CHECK(read(DType::f4, 4, b(0xf1, 0x87)) == std::vector<float>{0.5f, -6.0f, 6.0f, -0.0f});
  CHECK(std::isnan(read(DType::f8_e4m3, 1, b(0x7f))[0]));
}

TEST_CASE("doubles and integers round once") {
  const double tie = 1.0 + std::ldexp(1.0, -24);
  const std::vector<double> d{tie, std::nextafter(tie, 2.0), 1e300, -1e300, 1e-300};
  const std::vector<float> f = to_float32(from_values<double>("d", {5}, d));
  CHECK(f[0] == 1.0f);
  CHECK(f[1] == std::nextafter(1.0f, 2.0f));
  CHECK(f[2] == std::numeric_limits<float>::infinity());
  CHECK(f[3] == -std::numeric_limits<float>::infinity());
  CHECK(f[4] == 0.0f);
  const std::vector<std::int64_t> i{-1, 16777217, 9007199254740993};
  CHECK(to_float32(from_values<std::int64_t>("i", {3}, i)) ==
        std::vector<float>{-1.0f, 16777216.0f, 9007199254740992.0f});
  const std::vector<std::uint8_t> u{0, 255};
  CHECK(to_float32(from_values<std::uint8_t>("u", {2}, u)) == std::vector<float>{0.0f, 255.0f});
  CHECK(outcome([] {
          return to_float32(Tensor{"c", DType::c64, {}, std::vector<std::byte>(8)});
        }).code == errc::unsupported);
}

TEST_CASE("values are copied as their own type only") {
  const std::vector<std::int32_t> i{1, -2, 3};
  const Tensor t = from_values<std::int32_t>("t", {3}, i);
  CHECK(hex(t.bytes) == "01000000feffffff03000000");
  CHECK(values<std::int32_t>(t) == i);
  CHECK(outcome([&] { return values<float>(t); }).code == errc::bad_argument);
  const std::vector<std::complex<float>> c{{1.0f, 2.0f}};
  CHECK(values<std::complex<float>>(from_values<std::complex<float>>("c", {1}, c)) == c);
  CHECK(values<bool>(Tensor{"b", DType::bool_, {2}, {std::byte{0}, std::byte{7}}}) ==
        std::vector<bool>{false, true});
  Tensor broken = t;
  broken.bytes.pop_back();
  const Outcome o = outcome([&] { return values<std::int32_t>(broken); });
  CHECK(o.code == errc::shape_mismatch);
  CHECK(o.text == "tq::io::values: t: expected 12 bytes for I32 [3], got 11 bytes");
}

TEST_CASE("a tensor of too many axes has no Shape") {
  CHECK(tensor_shape(Tensor{"t", DType::u8, {2, 3}, {}}) == tq::Shape{2, 3});
  CHECK(tensor_shape(Tensor{}) == tq::Shape{});
  const Tensor deep{"t", DType::u8, std::vector<std::size_t>(9, 1), {}};
  CHECK(outcome([&] { return tensor_shape(deep); }).code == errc::rank_too_large);
}

TEST_CASE("halves are converted in memory of the caller, whatever its alignment") {
  std::vector<std::byte> memory(2 * 65536 + 1);
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}}) {
      const std::span<std::byte> bytes(memory.data() + shift, 2 * 65536);
      for (std::size_t i = 0; i < 65536; ++i)
        store_le(bytes.data() + 2 * i, static_cast<std::uint16_t>(i));
      std::vector<float> values(65536);
      to_float32(dtype, bytes, values);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < 65536; ++i) {
        const auto code = static_cast<std::uint16_t>(i);
        const float x = dtype == DType::f16 ? half_to_float(code) : bfloat16_to_float(code);
        wrong += !(values[i] == x || (values[i] != values[i] && x != x)) ||
                 std::signbit(values[i]) != std::signbit(x);
      }
      from_float32(values, dtype, bytes);
      for (std::size_t i = 0; i < 65536; ++i)
        wrong += values[i] == values[i] && load_le<std::uint16_t>(bytes.data() + 2 * i) != i;
      CHECK(wrong == 0);
    }
}

TEST_CASE("what is finite stays finite in a smaller type") {
  const float most = std::numeric_limits<float>::max(),
              infinite = std::numeric_limits<float>::infinity();
  std::vector<float> x{65519.0f, 65520.0f, -1e6f, most, -most, infinite, -infinite, 1.0f};
  std::vector<float> half = x, brain = x, same = x;
  round_to(half, DType::f16);
  round_to(brain, DType::bf16);
  round_to(same, DType::f64);
  CHECK(half == std::vector<float>{65504, 65504, -65504, 65504, -65504, infinite, -infinite, 1});
  const float top = 0x1.fep127f;
  CHECK(brain == std::vector<float>{65536, 65536, -999424, top, -top, infinite, -infinite, 1});
  CHECK(same == x);
  std::vector<float> many(5000, 70000.0f);  // more than are converted at a time
  many[4999] = 1.0009765625f;
  round_to(many, DType::f16);
  CHECK((many[0] == 65504 && many[4998] == 65504 && many[4999] == 1.0009765625f));
  CHECK(outcome_of([&] { round_to(x, DType::u8); }).code == errc::unsupported);
  std::vector<std::byte> three(3);
  CHECK(outcome_of([&] { to_float32(DType::f16, three, x); }).code == errc::shape_mismatch);
  CHECK(outcome_of([&] { from_float32(x, DType::f16, three); }).code == errc::shape_mismatch);
}

TEST_CASE("what is finite stays finite where it is narrowed, and infinities stay what they are") {
  const float inf = std::numeric_limits<float>::infinity(),
              most = std::numeric_limits<float>::max();
  const std::vector<float> x{65504.0f, 65519.0f, 65520.0f,    -65520.0f,   1e30f, -most,
                             inf,      -inf,     0x1.fep127f, 0x1.ffp127f, most,  1.0f};
  const auto back = [&](DType dtype) {
    std::vector<float> rounded = x;
    round_to(rounded, dtype);
    CHECK(rounded == to_float32(from_float32("x", {x.size()}, x, dtype)));
    return rounded;
  };
  const float half = 65504.0f, brain = 0x1.fep127f;
  CHECK(back(DType::f16) ==
        std::vector<float>{half, half, half, -half, half, -half, inf, -inf, half, half, half, 1});
  CHECK(back(DType::bf16) == std::vector<float>{65536, 65536, 65536, -65536,
                                                bfloat16_to_float(float_to_bfloat16(1e30f)), -brain,
                                                inf, -inf, brain, brain, brain, 1});
  CHECK(back(DType::f32) == x);
  CHECK(back(DType::f64) == x);
  std::vector<float> nan{std::nanf("")};
  round_to(nan, DType::f16);
  CHECK(std::isnan(nan[0]));
  CHECK(outcome([&] { round_to(nan, DType::i8); }).code == errc::unsupported);
}
