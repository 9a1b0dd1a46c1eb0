// SPDX-License-Identifier: MIT
// Against FBGEMM's formulas in long double, whose 64 bits hold every product and sum here.
#include <tq/linear/quantized_embedding.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using tq::BagMode;
using tq::QuantizedEmbedding;
using tq::Shape;
using tq::TensorView;

constexpr std::size_t rows = 40, width = 13;  // no whole number of bytes with 4 bits or 2

std::vector<float> table(std::uint64_t seed) {
  auto x = inputs::normals(rows * width, seed);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(x[i], static_cast<int>(i / width % 7) - 3);
  std::fill(x.begin() + 2 * width, x.begin() + 3 * width, 0.3f);  // one value
  std::fill(x.begin() + 3 * width, x.begin() + 4 * width, 0.0f);
  return x;
}
TensorView<const float> view(const std::vector<float>& x) {
  return {x.data(), Shape{x.size() / width, width}};
}
float rounded(long double v) { return static_cast<float>(v); }

// IEEE 754 binary16 from its fields.
long double half_value(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const long double fraction = bits & 1023;
  const long double v =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 != 0 ? -v : v;
}

struct Row {
  std::vector<unsigned> codes;
  long double scale, bias;
};
template <int Bits>
Row row_of(std::span<const std::byte> bytes, std::size_t r) {
  const std::size_t code_bytes = (width * Bits + 7) / 8, behind = Bits == 8 ? 8 : 4;
  const std::byte* from = bytes.data() + r * (code_bytes + behind);
  Row out{{}, 0, 0};
  for (std::size_t k = 0; k < width; ++k)
    out.codes.push_back(static_cast<unsigned>(from[k * Bits / 8]) >> (k * Bits % 8) &
                        ((1u << Bits) - 1));
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(from[code_bytes + i]); };
  if constexpr (Bits == 8) {
    const auto number = [&](std::size_t i) {
      return std::bit_cast<float>(byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 |
                                  byte(i + 3) << 24);
    };
    out.scale = static_cast<long double>(number(0));
    out.bias = static_cast<long double>(number(4));
  } else {
    out.scale = half_value(byte(0) | byte(1) << 8);
    out.bias = half_value(byte(2) | byte(3) << 8);
  }
  return out;
}

// The nearest binary16, by trying all.
long double nearest_half(long double v) {
  long double best = 0;
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const long double h = half_value(bits), d = std::fabs(h - std::fabs(v));
    const long double least = std::fabs(best - std::fabs(v));
    if (d < least || (d == least && bits % 2 == 0)) best = h;
  }
  return v < 0 ? -best : best;
}

template <int Bits>
bool quantizes(const std::vector<float>& x) {
  const QuantizedEmbedding<Bits> e(view(x));
  bool equal = e.size() == rows && e.width() == width;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const float> row(&x[r * width], width);
    const long double low = static_cast<long double>(*std::min_element(row.begin(), row.end())),
                      high = static_cast<long double>(*std::max_element(row.begin(), row.end()));
    long double scale = 0, bias = low, inverse = 0;
    if constexpr (Bits == 8) {
      const long double range = static_cast<long double>(rounded(high - low));
      scale = static_cast<long double>(rounded(range / 255));
      inverse = static_cast<long double>(rounded(
          255 / static_cast<long double>(rounded(range + static_cast<long double>(1e-8f)))));
    } else {
      bias = nearest_half(low);
      const long double range = static_cast<long double>(rounded(high - bias));
      scale = range == 0
                  ? 1
                  : nearest_half(static_cast<long double>(rounded(range / ((1 << Bits) - 1))));
      if (scale == 0) scale = 1;
      inverse = static_cast<long double>(rounded(1 / scale));
    }
    const Row got = row_of<Bits>(e.bytes(), r);
    equal = equal && got.scale == scale && got.bias == bias &&
            static_cast<long double>(e.scale(r)) == scale &&
            static_cast<long double>(e.bias(r)) == bias;
    for (std::size_t k = 0; k < width; ++k) {
      const long double offset =
          static_cast<long double>(rounded(static_cast<long double>(row[k]) - bias));
      const long double steps = static_cast<long double>(rounded(offset * inverse));
      const long double code = std::clamp<long double>(std::nearbyint(steps), 0, (1 << Bits) - 1);
      equal = equal && static_cast<long double>(got.codes[k]) == code;
    }
  }
  return equal;
}

// sum = fma(scale * weight, code, sum + bias * weight), in order.
template <int Bits, class Index>
std::vector<float> summed(std::span<const std::byte> bytes, std::span<const Index> indices,
                          std::span<const float> weights) {
  std::vector<float> sums(width);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Row row = row_of<Bits>(bytes, static_cast<std::size_t>(indices[i]));
    const long double w = weights.empty() ? 1 : static_cast<long double>(weights[i]);
    const long double scale = static_cast<long double>(rounded(row.scale * w)),
                      bias = static_cast<long double>(rounded(row.bias * w));
    for (std::size_t k = 0; k < width; ++k)
      sums[k] =
          rounded(scale * row.codes[k] +
                  static_cast<long double>(rounded(static_cast<long double>(sums[k]) + bias)));
  }
  return sums;
}

template <int Bits>
void check_lookups(std::uint64_t seed) {
  const auto x = table(seed);
  const QuantizedEmbedding<Bits> e(view(x));
  inputs::Random r(seed);
  std::vector<std::int64_t> indices(500);
  for (auto& i : indices) i = static_cast<std::int64_t>(r.below(rows));
  const auto weights = inputs::normals(indices.size(), seed + 1);

  std::vector<float> y(indices.size() * width);
  e.gather(indices, TensorView<float>(y.data(), Shape{indices.size(), width}), test::Threads{3});
  bool equal = true;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto wanted = summed<Bits>(e.bytes(), std::span<const std::int64_t>(&indices[i], 1), {});
    equal = equal && std::equal(wanted.begin(), wanted.end(), &y[i * width]);
  }
  CHECK(equal);

  // Bags of 0 to 9 rows, one of them at the end.
  std::vector<std::int32_t> offsets;
  for (std::size_t at = 0; at < indices.size(); at += r.below(10))
    offsets.push_back(static_cast<std::int32_t>(at));
  offsets.push_back(static_cast<std::int32_t>(indices.size()));
  const auto check = [&](const tq::BagOptions& options) {
    const std::size_t bags = offsets.size() - (options.include_last_offset ? 1 : 0);
    std::vector<float> sums(bags * width, 7.0f);
    e.bag(indices, offsets, TensorView<float>(sums.data(), Shape{bags, width}), options,
          test::Threads{3});
    bool same = true;
    for (std::size_t b = 0; b < bags; ++b) {
      const auto first = static_cast<std::size_t>(offsets[b]),
                 end = b + 1 < offsets.size() ? static_cast<std::size_t>(offsets[b + 1])
                                              : indices.size();
      auto wanted = summed<Bits>(
          e.bytes(), std::span<const std::int64_t>(indices).subspan(first, end - first),
          options.weights.empty() ? options.weights : options.weights.subspan(first, end - first));
      if (options.mode == BagMode::mean && end != first) {
        const float share = rounded(1 / static_cast<long double>(end - first));
        for (float& v : wanted)
          v = rounded(static_cast<long double>(v) * static_cast<long double>(share));
      }
      same = same && std::equal(wanted.begin(), wanted.end(), &sums[b * width]);
    }
    return same;
  };
  CHECK(check({}));
  CHECK(check({.include_last_offset = true}));
  CHECK(check({.mode = BagMode::mean, .include_last_offset = true}));
  CHECK(check({.weights = weights}));
  CHECK(check({.mode = BagMode::mean, .weights = weights}));
}

}  // namespace

TEST_CASE("QuantizedEmbedding: rows have FBGEMM's codes, scales and biases") {
  const auto x = table(1);
  CHECK(quantizes<8>(x));
  CHECK(quantizes<4>(x));
  CHECK(quantizes<2>(x));
}

TEST_CASE("QuantizedEmbedding: rows are looked up and summed in bags, in FBGEMM's arithmetic") {
  check_lookups<8>(2);
  check_lookups<4>(3);
  check_lookups<2>(4);
}

TEST_CASE("QuantizedEmbedding: bytes worked out by hand") {
  // 0, 1 and 3 with 2 bits: a scale of 1 (0x3c00) and a bias of 0, codes 0, 1, 3 from the lowest.
  const std::array x{0.0f, 1.0f, 3.0f};
  const QuantizedEmbedding<2> two(TensorView<const float>(x.data(), Shape{1, 3}));
  const std::vector<std::byte> wanted{std::byte{0b110100}, std::byte{0}, std::byte{0x3c},
                                      std::byte{0}, std::byte{0}};
  CHECK(std::equal(wanted.begin(), wanted.end(), two.bytes().begin(), two.bytes().end()));
  CHECK(two.row_bytes() == 5);
  const std::array y{-1.0f, 2.0f};  // a scale of 0.2 in float16 is 0x3266
  const QuantizedEmbedding<4> four(TensorView<const float>(y.data(), Shape{1, 2}));
  const std::vector<std::byte> nibbles{std::byte{0xf0}, std::byte{0x66}, std::byte{0x32},
                                       std::byte{0}, std::byte{0xbc}};
  CHECK(std::equal(nibbles.begin(), nibbles.end(), four.bytes().begin(), four.bytes().end()));
  // A row of one value is exact with 8 bits: its scale is 0.
  const std::array same{0.3f, 0.3f};
  const QuantizedEmbedding<8> eight(TensorView<const float>(same.data(), Shape{1, 2}));
  CHECK(eight.row_bytes() == 10);
  CHECK(eight.scale(0) == 0.0f);
  std::vector<float> back(2);
  eight.gather(std::vector<std::int32_t>{0}, TensorView<float>(back.data(), Shape{1, 2}));
  CHECK(back == std::vector<float>{0.3f, 0.3f});
}

TEST_CASE("QuantizedEmbedding: rows that others made are taken as they are") {
  const auto x = table(5);
  const QuantizedEmbedding<4> made(view(x)), taken(width, made.bytes());
  CHECK(std::ranges::equal(made.bytes(), taken.bytes()));
  CHECK(taken.size() == rows);
  test::raises(tq::errc::shape_mismatch, {"whole rows of 11 bytes", "13 codes", "12 bytes"},
               [&] { QuantizedEmbedding<4>(width, made.bytes().first(12)); });
  test::raises(tq::errc::shape_mismatch, {"whole rows"},
               [&] { QuantizedEmbedding<4>(0, made.bytes().first(8)); });
  std::vector<std::byte> broken(made.bytes().begin(), made.bytes().end());
  broken[2 * 11 + 10] = std::byte{0x7c};  // the bias of row 2 becomes infinite
  test::raises(tq::errc::bad_scale, {"finite scale and bias", "of row 2"},
               [&] { QuantizedEmbedding<4>(width, broken); });
}

TEST_CASE("QuantizedEmbedding: floats that no row can hold are refused") {
  auto x = table(6);
  x[5 * width + 3] = std::numeric_limits<float>::quiet_NaN();
  test::raises(tq::errc::not_finite, {"nan in row 5"}, [&] { QuantizedEmbedding<8>(view(x)); });
  x[5 * width + 3] = -70000.0f;
  test::raises(tq::errc::bad_scale, {"of row 5"}, [&] { QuantizedEmbedding<4>(view(x)); });
  CHECK(QuantizedEmbedding<8>(view(x)).bias(5) == -70000.0f);
  x[5 * width + 3] = -3e38f;
  x[5 * width + 4] = 3e38f;
  test::raises(tq::errc::bad_scale, {"of row 5"}, [&] { QuantizedEmbedding<8>(view(x)); });
  test::raises(tq::errc::shape_mismatch, {"[rows, width]", "[520]"},
               [&] { QuantizedEmbedding<8>(TensorView<const float>(x.data(), Shape{520})); });
  test::raises(tq::errc::shape_mismatch, {"[rows, width]", "[3, 0]"},
               [&] { QuantizedEmbedding<8>(TensorView<const float>(x.data(), Shape{3, 0})); });
}

TEST_CASE(
    "QuantizedEmbedding: indices, offsets and outputs are checked before anything is written") {
  const auto x = table(7);
  const QuantizedEmbedding<8> e(view(x));
  std::vector<float> y(3 * width, 5.0f);
  const TensorView<float> to(y.data(), Shape{3, width}), two(y.data(), Shape{2, width});
  using Indices = std::vector<std::int64_t>;
  const Indices fine{1, 2, 3};
  for (const std::int64_t bad :
       {std::int64_t{-1}, std::int64_t{rows}, std::numeric_limits<std::int64_t>::max()}) {
    test::raises(tq::errc::bad_argument, {"below 40", "at 2"},
                 [&] { e.gather(Indices{1, 2, bad}, to); });
    test::raises(tq::errc::bad_argument, {"below 40", "at 2"},
                 [&] { e.bag(Indices{1, 2, bad}, Indices{0, 2}, two); });
  }
  test::raises(tq::errc::shape_mismatch, {"[3, 13]", "[2, 13]"}, [&] { e.gather(fine, two); });
  test::raises(tq::errc::shape_mismatch, {"[2, 13]", "[3, 13]"},
               [&] { e.bag(fine, Indices{0, 2}, to); });
  test::raises(tq::errc::bad_argument, {"rise from 0", "1 at 0"},
               [&] { e.bag(fine, Indices{1, 2}, two); });
  test::raises(tq::errc::bad_argument, {"rise from 0", "1 at 2"},
               [&] { e.bag(fine, Indices{0, 2, 1}, to); });
  test::raises(tq::errc::bad_argument, {"at most 3", "4 at 1"},
               [&] { e.bag(fine, Indices{0, 4}, two); });
  test::raises(tq::errc::bad_argument, {"every index in a bag", "up to 2 of 3"},
               [&] { e.bag(fine, Indices{0, 1, 2}, two, {.include_last_offset = true}); });
  test::raises(tq::errc::bad_argument, {"every index in a bag"},
               [&] { e.bag(fine, Indices{}, two); });
  test::raises(tq::errc::bad_argument, {"every index in a bag"},
               [&] { e.bag(Indices{}, Indices{}, two, {.include_last_offset = true}); });
  const std::array weights{1.0f, 2.0f};
  test::raises(tq::errc::shape_mismatch, {"one for each index", "3", "2"},
               [&] { e.bag(fine, Indices{0, 1}, two, {.weights = weights}); });
  CHECK(y == std::vector<float>(3 * width, 5.0f));

  // Nothing gives nothing, and bags of nothing are 0.
  e.gather(Indices{}, TensorView<float>(y.data(), Shape{0, width}));
  e.bag(Indices{}, Indices{}, TensorView<float>(y.data(), Shape{0, width}));
  CHECK(y == std::vector<float>(3 * width, 5.0f));
  e.bag(Indices{}, Indices{0, 0, 0}, to, {.mode = BagMode::mean});
  CHECK(y == std::vector<float>(3 * width, 0.0f));
  const QuantizedEmbedding<8> empty(TensorView<const float>(x.data(), Shape{0, width}));
  CHECK(empty.size() == 0);
  test::raises(tq::errc::bad_argument, {"below 0"}, [&] { empty.gather(fine, to); });
}
