// SPDX-License-Identifier: MIT
// The corrected and the split reciprocal give the codes of true division.
//
// The enumerated cases, and why they are all. Let q be the corrected quotient of x and s: one
// Newton step in fused arithmetic after x * fl(1 / s). Or the split one: the same product and,
// fused with it, x times what fl(1 / s) lacks. Within correctable() nothing under- or overflows
// near a tie, so q only gets another exponent when x or s are multiplied by a power of two. Hence s
// in [1, 2) stands for all binades of s, and the sign of x is a factor too, so positive x is
// enough. A code depends on q by rounding to an integer. Before its last rounding q is off by far
// less than 2^-40 relative, after it by less than 1.001 half ulps, and the same holds for the
// divided quotient. Two quotients so close round to different integers only if both are within an
// ulp or so of a half-integer h, so x must lie within 2 ulps of h * s; 4 ulps are looked at. Codes
// of 8 bits less a zero point span -255 to 255, and beyond 255.5 every quotient gives the last
// code.
#include <tq/kernels/quotient_simd.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "support/catch.hpp"
#include "support/share.hpp"

#if TQ_HAS_SIMD

namespace {

using Arch = tq::arch::native;
using F = tq::arch::floats<Arch>;
using I = tq::arch::ints<Arch>;
using tq::kernels::Quotient;
constexpr std::size_t width = tq::arch::width<Arch>;
constexpr bool has_fma = tq::arch::lanes<Arch>::has_fma;

// A scale for each lane, as cursors have them.
struct Params {
  F scale_, inverse_, rest_;
  explicit Params(const F& s)
      : scale_(s),
        inverse_(tq::arch::divide<Arch>(F(1.0f), s)),
        rest_(tq::kernels::rest_of<Arch>(s, inverse_)) {}
  [[nodiscard]] const F& scale(std::size_t, std::size_t) const { return scale_; }
  [[nodiscard]] const F& inverse(std::size_t, std::size_t) const { return inverse_; }
  [[nodiscard]] F divided(const F& v, std::size_t, std::size_t) const { return v * inverse_; }
  [[nodiscard]] F by_rest(const F& v, std::size_t, std::size_t) const { return v * rest_; }
  template <class A = Arch>  // where there is one
  [[nodiscard]] F divided_plus(const F& v, const F& w, std::size_t, std::size_t) const {
    return tq::arch::lanes<A>::fma(v, inverse_, w);
  }
};

struct Result {
  std::uint64_t cases = 0, mismatches = 0;
  std::uint32_t bad_scale = 0;
};

// All half-integers up to 255.5 and all x within 4 ulps, for one scale per lane (given as bits).
template <Quotient Method>
void check_lanes(const std::int32_t* scale_bits, float sign, Result& result) {
  if constexpr (has_fma) {
    const I bits = I::load_unaligned(scale_bits);
    const Params p(tq::arch::bit_cast<float>(bits));
    I differences(0);
    for (int twice = 1; twice <= 511; twice += 2) {
      const F h(sign * 0.5f * static_cast<float>(twice));
      const I centre = tq::arch::bit_cast<std::int32_t>(h * p.scale_);
      for (std::int32_t d = -4; d <= 4; ++d) {
        const F x = tq::arch::bit_cast<float>(centre + I(d));
        const I a = tq::arch::round_to_int<Arch>(tq::kernels::quotient<Method, Arch>(x, p, 0, 0));
        const I b =
            tq::arch::round_to_int<Arch>(tq::kernels::quotient<Quotient::divide, Arch>(x, p, 0, 0));
        differences = differences | (a ^ b);
      }
    }
    result.cases += 256 * 9 * width;
    alignas(64) std::int32_t lanes[width];
    differences.store_aligned(lanes);
    for (std::size_t k = 0; k < width; ++k)
      if (lanes[k] != 0) {
        ++result.mismatches;
        result.bad_scale = static_cast<std::uint32_t>(scale_bits[k]);
      }
  }
}

// Significands first, first + step, ... of the binade of `base`.
template <Quotient Method>
Result check_binade(float base, std::uint32_t step, float sign = 1.0f) {
  Result result;
  const auto bits = std::bit_cast<std::int32_t>(base);
  std::int32_t lanes[width];
  std::size_t used = 0;
  for (std::uint32_t m = 0; m < (1u << 23); m += step) {
    lanes[used++] = bits + static_cast<std::int32_t>(m);
    if (used == width || m + step >= (1u << 23)) {
      while (used < width) lanes[used++] = bits + (1 << 23) - 1;  // all ones
      check_lanes<Method>(lanes, sign, result);
      used = 0;
    }
  }
  // Few bits set, few bits clear, and their neighbours.
  for (int i = 0; i < 23; ++i)
    for (const std::int32_t pattern : {1 << i, (1 << 23) - 1 - (1 << i), (1 << 23) - (1 << i)}) {
      for (std::size_t k = 0; k < width; ++k)
        lanes[k] = bits + ((pattern + static_cast<std::int32_t>(k)) & ((1 << 23) - 1));
      check_lanes<Method>(lanes, sign, result);
    }
  return result;
}

template <Quotient Method>
void check_samples() {
  for (const float base : {1.0f, 0x1p-64f, 0x1p-1f, 0x1p63f}) {
    const Result r = check_binade<Method>(base, 65521);
    INFO("binade of " << base << ": " << r.cases << " cases, a bad scale has bits " << r.bad_scale);
    CHECK(r.mismatches == 0);
    CHECK((r.cases > 0) == has_fma);
  }
  CHECK(check_binade<Method>(1.0f, 65521, -1.0f).mismatches == 0);
}

template <Quotient Method>
void check_largest_scale() {
  std::int32_t lanes[width];
  for (std::int32_t& l : lanes) l = std::bit_cast<std::int32_t>(0x1p64f);
  Result r;
  check_lanes<Method>(lanes, 1.0f, r);
  CHECK(r.mismatches == 0);
}

template <Quotient Method>
void check_one_in(std::uint32_t step) {
  const Result r = check_binade<Method>(1.0f, step);
  INFO(r.cases << " cases, " << r.mismatches << " scales with a mismatch, the last has bits "
               << r.bad_scale);
  CHECK(r.mismatches == 0);
}

}  // namespace

TEST_CASE("the corrected quotient has the codes of division: sampled significands", "[quotient]") {
  SECTION("corrected") { check_samples<Quotient::corrected>(); }
  SECTION("split") { check_samples<Quotient::split>(); }
}

TEST_CASE("the corrected quotient has the codes of division: one significand in 257",
          "[quotient][slow]") {
  SECTION("corrected") { check_one_in<Quotient::corrected>(257); }
  SECTION("split") { check_one_in<Quotient::split>(257); }
}

TEST_CASE("the uncorrected quotient does not have the codes of division", "[quotient]") {
  CHECK((check_binade<Quotient::multiply>(1.0f, 65521).mismatches > 0) == has_fma);
}

TEST_CASE("the corrected quotient has the codes of division at the largest correctable scale",
          "[quotient]") {
  SECTION("corrected") { check_largest_scale<Quotient::corrected>(); }
  SECTION("split") { check_largest_scale<Quotient::split>(); }
  STATIC_REQUIRE(tq::kernels::correctable(0x1p64f));
  STATIC_REQUIRE(tq::kernels::correctable(0x1p-64f));
  STATIC_REQUIRE_FALSE(tq::kernels::correctable(0x1.000002p64f));
  STATIC_REQUIRE_FALSE(tq::kernels::correctable(0x1.fffffep-65f));
  STATIC_REQUIRE_FALSE(tq::kernels::correctable(0x1p-149f));
}

// Some 1.9e10 quotients each, or the share of them that is asked for: seconds with optimisation,
// minutes without.
TEST_CASE("the corrected quotient has the codes of division: every significand",
          "[quotient][.long]") {
  SECTION("corrected") { check_one_in<Quotient::corrected>(test::one_in()); }
  SECTION("split") { check_one_in<Quotient::split>(test::one_in()); }
}

#else
TEST_CASE("without SIMD nothing replaces the division", "[quotient]") { SUCCEED(); }
#endif
