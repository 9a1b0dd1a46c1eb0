// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/numeric/overflow.hpp>
#include <tq/numeric/value_format.hpp>

#include <cstdint>

#include "support/catch.hpp"

namespace {

struct sign_bit {  // the smallest model
  static constexpr int bits = 1;
  static constexpr bool has_nan = false;
  static constexpr float max_finite = 1.0f;
  template <tq::OverflowPolicy O, tq::Rounding R>
  static constexpr std::uint32_t encode(float x, const R&, std::uint64_t) noexcept {
    return x < 0 ? 1 : 0;
  }
  static constexpr float decode(std::uint32_t code) noexcept { return code != 0 ? -1.0f : 1.0f; }
};
struct too_wide : sign_bit {
  static constexpr int bits = 17;
};
struct may_throw : sign_bit {
  static constexpr float decode(std::uint32_t) { return 0.0f; }
};
struct to_double : sign_bit {
  static constexpr double decode(std::uint32_t) noexcept { return 0.0; }
};
struct any_rounding : tq::NearestEven {};

static_assert(tq::OverflowPolicy<tq::Saturate> && tq::OverflowPolicy<tq::NonSaturate>);
static_assert(!tq::OverflowPolicy<tq::NearestEven> && !tq::OverflowPolicy<const tq::Saturate>);
static_assert(tq::ValueFormat<sign_bit>);
static_assert(!tq::ValueFormat<too_wide> && !tq::ValueFormat<may_throw> &&
              !tq::ValueFormat<to_double> && !tq::ValueFormat<float>);
static_assert(tq::ValueFormat<tq::float16::format> && tq::ValueFormat<tq::float8_e8m0fnu::format> &&
              tq::ValueFormat<tq::fixed8::format> && tq::ValueFormat<tq::nf4::format> &&
              tq::ValueFormat<tq::binary::format>);
// Grids round in every way, code books and exponents only to nearest.
static_assert(tq::RoundsBy<tq::float8_e5m2::format, tq::Stochastic> &&
              tq::RoundsBy<tq::fixed8::format, tq::Floor> &&
              tq::RoundsBy<tq::float16::format, any_rounding>);
static_assert(tq::RoundsBy<tq::nf4::format, tq::NearestEven> &&
              !tq::RoundsBy<tq::nf4::format, tq::Stochastic>);
static_assert(tq::RoundsBy<tq::float8_e8m0fnu::format, tq::NearestEven> &&
              !tq::RoundsBy<tq::float8_e8m0fnu::format, tq::TowardZero>);

}  // namespace

TEST_CASE("policies and formats have the names that configuration uses", "[value_format]") {
  CHECK(tq::Saturate::name == "saturate");
  CHECK(tq::NonSaturate::name == "non_saturate");
  CHECK(sign_bit::decode(sign_bit::encode<tq::Saturate>(-3.0f, tq::NearestEven{}, 0)) == -1.0f);
}
