// SPDX-License-Identifier: MIT
#include <tq/core/detail/scale_fit.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace {

using tq::Range;

std::vector<Range> ranges(std::size_t n) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<Range> out(n);
  for (Range& r : out) {
    const float a = normal(random), b = normal(random);
    r = {std::min(a, b), std::max(a, b)};
  }
  out[n / 2] = {0, 0};
  return out;
}

// Scales of more ranges than are made at a time are those of each by itself.
template <class Scale, class T, class S>
void check_stretches() {
  using N = tq::numerics::onnx;
  const std::vector<Range> all = ranges(2500);
  const auto scales = tq::Scales<Scale>::template fit<T, S, N>(all);
  REQUIRE(scales.values().size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto alone = tq::Scales<Scale>::template fit<T, S, N>(std::span(all).subspan(i, 1));
    INFO("range " << i);
    REQUIRE(scales.values()[i] == alone.values()[0]);
  }
}

}  // namespace

TEST_CASE("scales of many ranges are those of each") {
  check_stretches<float, tq::int8, tq::Symmetric>();
  check_stretches<tq::float16, tq::uint4, tq::Asymmetric>();
  check_stretches<tq::bfloat16, tq::uint4, tq::FloatOffset>();
  check_stretches<tq::float8_e4m3fn, tq::nf4, tq::Symmetric>();
  check_stretches<tq::float8_e8m0fnu, tq::float4_e2m1fn, tq::Symmetric>();
  check_stretches<tq::float8_e8m0fnu, tq::nf4, tq::Symmetric>();
  check_stretches<tq::float8_e8m0fnu, tq::uint4, tq::Asymmetric>();
}

TEST_CASE("block scales of many ranges under a tensor scale are those of each under it") {
  using Scales = tq::Scales<tq::TwoLevel<tq::float8_e4m3fn>>;
  const std::vector<Range> all = ranges(2500);
  const auto scales = Scales::fit<tq::float4_e2m1fn, tq::Symmetric, tq::numerics::onnx>(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto alone = Scales::under<tq::float4_e2m1fn, tq::Symmetric>(
        scales.tensor_scale(), std::span(all).subspan(i, 1));
    REQUIRE(scales.stored()[i] == alone.stored()[0]);
  }
}

TEST_CASE("what makes scales, as values, is what the formulas say") {
  const std::vector<Range> some{{-1, 3}, {0, 0}, {-6, 1}};
  const auto exact = [&](const tq::ScaleFit& fit) {
    std::vector<float> out(some.size());
    fit.exact(some, out.data());
    return out;
  };
  using N = tq::numerics::onnx;
  CHECK(exact(tq::scale_fit<tq::int4, tq::SymmetricNarrow, N>) ==
        std::vector<float>{3.0f / 7, 1, 6.0f / 7});
  CHECK(exact(tq::scale_fit<tq::uint4, tq::Asymmetric, N>) ==
        std::vector<float>{4.0f / 15, 1, 7.0f / 15});
  CHECK(exact(tq::scale_fit<tq::uint4, tq::FloatOffset, N>) ==
        std::vector<float>{4.0f / 15, 1, 7.0f / 15});
  const auto& mx = tq::scale_fit<tq::float4_e2m1fn, tq::Symmetric, N>;
  std::vector<float> zeros(3);
  mx.exact_with_zeros(some, zeros.data());
  CHECK(zeros == std::vector<float>{0.5f, 0, 1});
  std::vector<std::uint8_t> powers(3);
  mx.powers(some, powers.data());  // floor(log2(top)) - emax, and 127 above that
  CHECK(int{powers[0]} == 127 + 1 - 2);
  CHECK(int{powers[2]} == 127 + 2 - 2);
}
