// SPDX-License-Identifier: MIT
// Whole numbers as scales under a float16, against formulas in double.
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/super_block_scales.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/format_oracle.hpp"
#include "support/inputs.hpp"

namespace {

using tq::Range;
using Six = tq::SuperBlock<tq::uint6, 8>;
using Eight = tq::SuperBlock<tq::uint8, 16>;
using Four = tq::SuperBlock<tq::uint4, 3>;
template <class S>
using Scales = tq::Scales<S>;

static_assert(tq::ScaleType<Six> && tq::OffsetType<Six> && tq::SuperBlockScale<Six>);
static_assert(Six::name == "uint6_super_block_8" && Eight::name == "uint8_super_block_16");
static_assert(tq::scale_type_name<tq::SuperBlock<tq::uint4, 1234>> == "uint4_super_block_1234");
static_assert(!tq::SuperBlockScale<float> && tq::OffsetType<tq::float16> &&
              !tq::OffsetType<tq::float8_e4m3fn>);

double half(std::uint32_t code) {
  const double fraction = (code & 1023u) / 1024.0;
  const int exponent = static_cast<int>(code >> 10 & 31u);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  return (code & 0x8000u) != 0 ? -magnitude : magnitude;
}
// The finite float16 nearest to a number that is not negative, by a search through all.
std::uint32_t nearest_half(double x) {
  const oracle::Format& format = oracle::cached_format<tq::float16>();
  return oracle::encode(format, x, tq::NearestEven{}, true);
}

// The codes and d that `nearest` promises for one super-block of positive scales.
template <class S>
void check_block(const std::vector<float>& exact, const Scales<S>& scales, std::size_t begin,
                 int& failed) {
  constexpr int most = S::element::qmax;
  const std::size_t n = std::min(S::block, exact.size() - begin);
  const float top = *std::max_element(exact.begin() + static_cast<std::ptrdiff_t>(begin),
                                      exact.begin() + static_cast<std::ptrdiff_t>(begin + n));
  const std::uint32_t d = std::max(nearest_half(double(top / static_cast<float>(most))), 1u);
  failed += scales.super_scales()[begin / S::block] != d;
  for (std::size_t i = begin; i < begin + n; ++i) {
    const auto quotient = static_cast<float>(double(exact[i]) / half(d));
    const int code = std::clamp(static_cast<int>(std::nearbyint(quotient)), 1, most);
    failed += int{scales.stored()[i]} != code;
    failed += double(scales.values()[i]) != half(d) * code;
  }
}

template <class S>
void check_nearest() {
  inputs::Random r(5);
  for (const std::size_t count : std::vector<std::size_t>{0, 1, S::block, 4 * S::block + 1}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<float> exact(count);
      for (float& s : exact)
        s = static_cast<float>(
            std::ldexp(1 + r.unit(), round < 10 ? r.between(-6, 2) : r.between(-40, 20)));
      const auto scales = Scales<S>::nearest(exact);
      REQUIRE(scales.values().size() == count);
      REQUIRE(scales.super_scales().size() == (count + S::block - 1) / S::block);
      int failed = 0;
      for (std::size_t i = 0; i < count; i += S::block) check_block<S>(exact, scales, i, failed);
      CHECK(failed == 0);
      const Scales<S> again({scales.stored().begin(), scales.stored().end()},
                            {scales.super_scales().begin(), scales.super_scales().end()});
      CHECK(again == scales);
    }
  }
}

// x of `groups` groups of which each has another size and middle.
std::vector<float> grouped_values(std::size_t groups, std::size_t group, double shift) {
  std::vector<float> x = inputs::normals(groups * group, 9);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(std::ldexp(double(x[i]), static_cast<int>(i / group % 5) - 2) +
                              shift * static_cast<double>(i / group % 3));
  return x;
}

}  // namespace

TEST_CASE("scales of super-blocks are the nearest whole numbers under the nearest float16") {
  check_nearest<Six>();
  check_nearest<Eight>();
  check_nearest<Four>();
}

TEST_CASE("scales of super-blocks that are too small, too large or zero stay scales") {
  const auto tiny = Scales<Six>::nearest(std::vector<float>{1e-30f, 1e-38f});
  CHECK(tiny.super_scales()[0] == 1);
  CHECK(tiny.values()[0] == 0x1p-24f);
  CHECK(tiny.values()[1] == 0x1p-24f);
  const auto large = Scales<Six>::nearest(std::vector<float>{3e38f, 1.0f});
  CHECK(large.values()[0] == 65504.0f * 63.0f);
  CHECK(large.values()[1] == 65504.0f);
  const auto zeros = Scales<Six>::nearest(std::vector<float>(9, 0.0f));
  CHECK(std::ranges::all_of(zeros.values(), [](float s) { return s == 0.0f; }));
  const std::vector<Range> ranges{{0, 0}, {-1, 1}, {0, 0}};
  using tq::Numerics;
  // Integers have no scale of 0, floats have.
  const auto integers = Scales<Four>::fit<tq::int8, tq::Symmetric, Numerics<>>(ranges);
  CHECK(integers.stored()[0] == 1);
  CHECK(integers.stored()[1] == 15);
  const auto alone =
      Scales<Four>::fit<tq::int8, tq::Symmetric, Numerics<>>(std::vector<Range>(2, Range{0, 0}));
  CHECK(alone.values()[1] == 1.0f);
  const auto floats = Scales<Four>::fit<tq::float8_e4m3fn, tq::Symmetric, Numerics<>>(ranges);
  CHECK(floats.values()[0] == 0.0f);
  CHECK(floats.values()[1] > 0.0f);
  // Every value of a type of large values stays finite.
  const std::vector<Range> wide{{-3e38f, 3e38f}, {-1e34f, 1e34f}};
  const auto bounded = Scales<Eight>::fit<tq::bfloat16, tq::Symmetric, Numerics<>>(wide);
  for (const float s : bounded.values()) CHECK(std::isfinite(s * tq::bfloat16::format::max_finite));
}

TEST_CASE("parts of super-blocks that do not fit are refused") {
  using tq::errc;
  using Codes = std::vector<std::uint8_t>;
  using Halves = std::vector<std::uint16_t>;
  test::raises(errc::shape_mismatch, {"2 super scales for 9 scales", "got 1"},
               [] { (void)Scales<Six>(Codes(9), Halves(1)); });
  test::raises(errc::shape_mismatch, {"0 super scales", "got 1"},
               [] { (void)Scales<Six>(Codes(), Halves(1)); });
  test::raises(errc::bad_scale, {"codes up to 63", "got 64"},
               [] { (void)Scales<Six>(Codes{1, 64}, Halves{0x3c00}); });
  for (const std::uint16_t bad : Halves{0x7c00, 0xfc00, 0x7e00})
    test::raises(errc::bad_scale, {"finite super scales"},
                 [&] { (void)Scales<Six>(Codes{1}, Halves{bad}); });
  // Whole parameters are not: scales of integers are positive.
  using P = tq::QuantParams<tq::int8, tq::PerGroup<4>, tq::Symmetric, Six>;
  for (const std::uint16_t d : Halves{0, 0x8000, 0xbc00})
    test::raises(errc::bad_scale, {"positive finite scales"},
                 [&] { (void)P({}, Scales<Six>(Codes{1}, Halves{d})); });
  test::raises(errc::bad_scale, {"positive finite scales", "parameter 1"},
               [] { (void)P({}, Scales<Six>(Codes{1, 0}, Halves{0x3c00})); });
}

TEST_CASE("offsets of super-blocks share a sign") {
  const std::vector<Range> ranges{{-1, 2}, {0.5f, 2},  {-4, -3}, {1, 3},
                                  {2, 3},  {0.25f, 3}, {-1, 0}};
  const auto offsets =
      Scales<Four>::nearest_offsets(std::vector<float>{-1, 0.5f, -4, 1, 2, 0.25f, -1}, ranges);
  const std::vector<int> codes{4, 0, 15, 8, 15, 2, 15};
  REQUIRE(offsets.super_scales().size() == 3);
  CHECK((offsets.super_values()[0] < 0 && offsets.super_values()[1] > 0 &&
         offsets.super_values()[2] < 0));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    CHECK(int{offsets.stored()[i]} == codes[i]);
    CHECK(double(offsets.values()[i]) == half(offsets.super_scales()[i / 3]) * codes[i]);
  }
}

TEST_CASE("tensors under super-blocks with offsets have the nearest codes") {
  using P = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, Six>;
  for (const double shift : {0.0, 3.0, 300.0}) {
    const std::vector<float> x = grouped_values(21, 32, shift);
    const tq::ConstTensorView view(x.data(), tq::Shape{3, 7 * 32});
    const auto params = tq::calibrate<P>(view);
    const auto q = tq::quantize<tq::Unpacked>(view, params);
    const std::vector<float> y = tq::dequantize(q);
    int failed = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t g = i / 32;
      const double scale =
          half(params.stored_scales().super_scales()[g / 8]) * params.stored_scales().stored()[g];
      const double offset =
          half(params.stored_offsets().super_scales()[g / 8]) * params.stored_offsets().stored()[g];
      failed += double(params.scales()[g]) != scale || double(params.offsets()[g]) != offset;
      const double code = std::clamp(std::nearbyint((double(x[i]) - offset) / scale), 0.0, 15.0);
      // One code beside the nearest may be taken where both are as near, but for rounding.
      const double error = std::fabs(double(x[i]) - double(y[i]));
      failed += error > std::fabs(double(x[i]) - (code * scale + offset)) + 1e-4 * scale +
                            1e-5 * std::fabs(offset);
      failed += y[i] != static_cast<float>(q.codes()[i]) * params.scales()[g] + params.offsets()[g];
      // A step of the offset and a step of the scale at each code, at most.
      const double step = std::fabs(half(params.stored_offsets().super_scales()[g / 8])),
                   d = half(params.stored_scales().super_scales()[g / 8]);
      failed += error > scale / 2 + step + 15 * d;
    }
    INFO(shift);
    CHECK(failed == 0);
  }
}

TEST_CASE("tensors under super-blocks with zero points and without have their values") {
  using A = tq::QuantParams<tq::uint6, tq::PerGroup<16>, tq::Asymmetric, Eight>;
  using S = tq::QuantParams<tq::int8, tq::PerGroup<32>, tq::Symmetric, Six>;
  const std::vector<float> x = grouped_values(36, 16, 0.5);
  const tq::ConstTensorView view(x.data(), tq::Shape{6, 96});
  const auto check = [&]<class P>(const P& params, std::size_t group) {
    const auto q = tq::quantize<tq::Unpacked>(view, params);
    const std::vector<float> y = tq::dequantize(q);
    int failed = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto [scale, zero] = params.affine(i / group);
      failed += y[i] != scale * static_cast<float>(q.codes()[i] - zero);
      failed +=
          std::fabs(double(x[i] - y[i])) >
          0.51 * double(scale) +
              double(P::codes.max) * 0.51 *
                  double(params.stored_scales().super_values()[i / group / P::scale_type::block]);
    }
    CHECK(failed == 0);
  };
  check(tq::calibrate<A>(view), 16);
  check(tq::calibrate<S>(view), 32);
}

TEST_CASE("scales of many super-blocks are read as their values") {
  // Rows of every length, so that reads begin within super-blocks and go on to the next.
  using P = tq::QuantParams<tq::uint2, tq::PerGroup<4>, tq::Asymmetric, Four>;
  for (const std::size_t rows : {1u, 2u, 7u}) {
    for (const std::size_t groups : {1u, 5u, 100u}) {
      std::vector<float> x = grouped_values(rows * groups, 4, 0.1);
      const tq::ConstTensorView view(x.data(), tq::Shape{rows, groups * 4});
      const auto q = tq::quantize<tq::Unpacked>(view, tq::calibrate<P>(view));
      const std::vector<float> y = tq::dequantize(q);
      int failed = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto [scale, zero] = q.params().affine(i / 4);
        failed += y[i] != scale * static_cast<float>(q.codes()[i] - zero);
      }
      CHECK(failed == 0);
    }
  }
}
