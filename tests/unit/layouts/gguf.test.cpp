// SPDX-License-Identifier: MIT
// The recorded bytes of ggml are compared by tq-conformance; here are formulas, sizes and errors.
#include <tq/layouts/gguf.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace tq::layouts::gguf;
using tq::errc;

namespace {

std::vector<float> gaussian(std::size_t n, float scale = 1.0f) {
  std::mt19937_64 random(60);
  std::vector<float> out(n);
  for (float& v : out) {  // a sum of twelve, the same everywhere
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random() >> 11) * 0x1p-53;
    v = scale * static_cast<float>(sum);
  }
  return out;
}

template <Block B>
std::vector<std::uint8_t> encoded(std::span<const float> x,
                                  std::span<const float> importance = {}) {
  std::vector<std::uint8_t> blocks(x.size() / B::elements * B::bytes);
  quantize<B>(x, blocks, ggml{}, importance);
  return blocks;
}

template <Block B>
std::vector<float> decoded(std::span<const std::uint8_t> blocks) {
  std::vector<float> out(blocks.size() / B::bytes * B::elements);
  dequantize<B>(blocks, out);
  return out;
}

double decibels(std::span<const float> x, std::span<const float> y) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    signal += double{x[i]} * double{x[i]};
    noise += (double{x[i]} - double{y[i]}) * (double{x[i]} - double{y[i]});
  }
  return 10 * std::log10(signal / noise);
}

template <class F>
void for_each_format(F&& f) {
  for (const TypeInfo& info : types)
    if (has_block(info.type)) detail::with_block("test", info.type, f);
}

}  // namespace

TEST_CASE("types have names, numbers and the sizes of their blocks") {
  for (const TypeInfo& info : types) {
    CHECK(find_type(static_cast<std::uint32_t>(info.type)) == &info);
    CHECK(find_type(info.name) == &info);
    CHECK(info.first_word + info.words * info.word_bytes <= info.bytes);
  }
  CHECK(find_type("Q4_k") == &info_of(Type::q4_K));
  CHECK(find_type("q4_") == nullptr);
  for (const std::uint32_t removed : {4u, 5u, 31u, 33u, 36u, 38u, 43u, 0xffffffffu})
    CHECK(find_type(removed) == nullptr);
  for_each_format([]<class B>(std::type_identity<B>) {
    CHECK(info_of(B::type).elements == B::elements);
    CHECK(info_of(B::type).bytes == B::bytes);
  });
}

TEST_CASE("values of blocks follow the formulas of their formats") {
  std::array<std::uint8_t, 18> q4_0{0x00, 0x38};  // d = 0.5
  q4_0[2] = 0xf3, q4_0[17] = 0x0a;
  const std::vector<float> a = decoded<Q4_0>(q4_0);
  CHECK(a[0] == (3 - 8) * 0.5f);
  CHECK(a[16] == (15 - 8) * 0.5f);
  CHECK(a[15] == (10 - 8) * 0.5f);
  CHECK(a[31] == (0 - 8) * 0.5f);

  std::array<std::uint8_t, 24> q5_1{0x00, 0x3c, 0x00, 0xc0};  // d = 1, m = -2
  q5_1[4] = 0x02, q5_1[9] = 0x07;  // the fifth bit of element 1, low bits of 1 and 17
  CHECK(decoded<Q5_1>(q5_1)[1] == 16.0f + 7.0f - 2.0f);
  CHECK(decoded<Q5_1>(q5_1)[17] == -2.0f);

  std::array<std::uint8_t, 210> q6{};
  q6[208] = 0x00, q6[209] = 0x3c;       // d = 1
  q6[192 + 15] = 0xfe;                  // scale -2 of the last sub-block
  q6[127] = 0xb0, q6[128 + 63] = 0x80;  // element 255: low 11, high 2
  CHECK(decoded<Q6_K>(q6)[255] == -2.0f * (11 + 32 - 32));
  CHECK(decoded<Q6_K>(q6)[240] == -2.0f * -32);
  CHECK(decoded<Q6_K>(q6)[0] == 0.0f);

  std::array<std::uint8_t, 17> mxfp4{130};  // 2^3
  mxfp4[1] = 0x97;                          // 6 and -0.5
  CHECK(decoded<MXFP4>(mxfp4)[0] == 48.0f);
  CHECK(decoded<MXFP4>(mxfp4)[16] == -4.0f);
}

TEST_CASE("values of one magnitude come back to a fourth, and zeros exactly") {
  std::mt19937 random(7);
  for_each_format([&]<class B>(std::type_identity<B>) {
    INFO(info_of(B::type).name);
    std::vector<float> x(2 * B::elements), zeros(B::elements);
    for (float& v : x) v = (random() & 1) != 0 ? 0.5f : -0.5f;
    const std::vector<float> y = decoded<B>(encoded<B>(x));
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(y[i] - x[i]) <= 0.125f);
    for (const float v : decoded<B>(encoded<B>(zeros))) CHECK(v == 0.0f);
  });
}

TEST_CASE("errors of Gaussian rows are those of the widths") {
  const std::vector<float> x = gaussian(std::size_t{256} * 64);
  const auto measured = [&]<class B>(std::type_identity<B>) {
    return decibels(x, decoded<B>(encoded<B>(x)));
  };
  const auto within = [&](auto format, double low, double high) {
    const double db = measured(format);
    INFO(info_of(decltype(format)::type::type).name << ": " << db);
    CHECK(db > low);
    CHECK(db < high);
  };
  within(std::type_identity<Q8_0>{}, 43, 46);
  within(std::type_identity<Q6_K>{}, 34, 36);
  within(std::type_identity<Q5_K>{}, 28, 30);
  within(std::type_identity<Q4_K>{}, 22, 24);
  within(std::type_identity<Q3_K>{}, 15, 18);
  within(std::type_identity<Q2_K>{}, 9, 12);
  within(std::type_identity<IQ4_XS>{}, 20, 23);
}

TEST_CASE("importance lowers the weighted error") {
  const std::size_t columns = 512;
  const std::vector<float> x = gaussian(columns * 8);
  std::vector<float> importance(columns);
  for (std::size_t c = 0; c < columns; ++c) importance[c] = c % 7 == 0 ? 50.0f : 0.1f;
  const auto error = [&](std::span<const float> y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double e = double{y[i]} - double{x[i]};
      sum += double{importance[i % columns]} * e * e;
    }
    return sum;
  };
  for_each_format([&]<class B>(std::type_identity<B>) {
    INFO(info_of(B::type).name);
    const std::vector<std::uint8_t> plain = encoded<B>(x), weighted = encoded<B>(x, importance);
    if (B::uses_importance) CHECK(error(decoded<B>(weighted)) < error(decoded<B>(plain)));
    else CHECK(weighted == plain);
    // Rows are quantized by themselves.
    const std::size_t row = plain.size() / 8;
    const std::vector<std::uint8_t> third =
        encoded<B>(std::span(x).subspan(3 * columns, columns), importance);
    CHECK(std::equal(third.begin(), third.end(),
                     weighted.begin() + static_cast<std::ptrdiff_t>(3 * row)));
  });
}

TEST_CASE("values that are not finite or too large are refused, and nothing is written") {
  for_each_format([&]<class B>(std::type_identity<B>) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      std::vector<float> x(2 * B::elements, 1.0f);
      x[B::elements + 3] = bad;
      std::vector<std::uint8_t> blocks(2 * B::bytes, 0xab);
      const std::string place = "at element " + std::to_string(B::elements + 3);
      test::raises(errc::not_finite, {"expected finite values", place.c_str()},
                   [&] { quantize<B>(x, blocks); });
      CHECK(std::ranges::count(blocks, 0xab) == static_cast<std::ptrdiff_t>(blocks.size()));
    }
  });
  std::vector<float> x(32, 7e4f);
  std::vector<std::uint8_t> blocks(18);
  test::raises(errc::bad_argument, {"65504", "70000", "element 0"},
               [&] { quantize<Q4_0>(x, blocks); });
  std::vector<std::uint8_t> mx(17);
  quantize<MXFP4>(x, mx);
  CHECK(decoded<MXFP4>(mx)[0] == 65536.0f);
}

TEST_CASE("sizes that are not whole blocks are refused") {
  std::vector<float> x(48);
  std::vector<std::uint8_t> blocks(18);
  test::raises(errc::shape_mismatch, {"whole blocks", "32", "48"},
               [&] { quantize<Q4_0>(x, blocks); });
  test::raises(errc::shape_mismatch, {"whole blocks"}, [&] { dequantize<Q4_0>(blocks, x); });
  x.resize(64);
  test::raises(errc::shape_mismatch, {"bytes of blocks", "36", "18"},
               [&] { quantize<Q4_0>(x, blocks); });
  test::raises(errc::shape_mismatch, {"bytes of blocks"},
               [&] { dequantize(Type::q4_0, blocks, x); });
  test::raises(errc::unsupported, {"iq2_xs"}, [&] { dequantize(Type::iq2_xs, blocks, x); });
  test::raises(errc::unsupported, {"f32"}, [&] { quantize(Type::f32, x, blocks); });
  blocks.resize(36);
  std::vector<float> importance(48, 1.0f);
  test::raises(errc::shape_mismatch, {"importance", "48", "64"},
               [&] { quantize<Q4_0>(x, blocks, ggml{}, importance); });
  importance.assign(32, 1.0f);
  importance[5] = -1.0f;
  test::raises(errc::bad_argument, {"importance of 0 to 1e20", "column 5"},
               [&] { quantize<Q4_0>(x, blocks, ggml{}, importance); });
}
