// SPDX-License-Identifier: MIT
#include <tq/core/detail/block_reach.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/quant_params.hpp>

#include <cmath>
#include <limits>

#include "support/catch.hpp"

namespace {

// Checks the exponent rules' constants for integers: floor(log2) of the longest distance of codes
// from their zero point.
template <class T, class S>
void check_integer() {
  using rule = typename tq::detail::rule_format<T, S>::type;
  const auto codes = S::template codes<T>();
  const double top = S::has_zero_point ? double(codes.max) - codes.min : codes.max;
  INFO(T::name << ' ' << S::name);
  CHECK(rule::emax == std::ilogb(top));
  CHECK(double(rule::max_finite) == double(static_cast<float>(top)));
  CHECK((rule::mantissa_bits == rule::emax || (rule::emax > 22 && rule::mantissa_bits == 22)));
}

template <class S>
float power_for(float top) {
  using Params = tq::QuantParams<tq::int32, tq::PerTensor, S, tq::float8_e8m0fnu>;
  return tq::fit_affine<Params>({S::has_zero_point ? 0.0f : -top, top}).scale;
}

}  // namespace

TEST_CASE("exponent rules know how far integers reach", "[block_reach]") {
  check_integer<tq::int2, tq::Symmetric>();
  check_integer<tq::int4, tq::SymmetricNarrow>();
  check_integer<tq::int8, tq::Symmetric>();
  check_integer<tq::int8, tq::Asymmetric>();
  check_integer<tq::uint8, tq::Symmetric>();
  check_integer<tq::uint16, tq::Asymmetric>();
  check_integer<tq::int32, tq::Symmetric>();
  check_integer<tq::int32, tq::Asymmetric>();
}

// Codes of 32 bits, of which float32 does not hold every one: they reach to just below 2^31, and
// 2^32 with a zero point.
TEST_CASE("powers of two for codes of 32 bits", "[block_reach]") {
  CHECK(power_for<tq::Symmetric>(0x1.fffffep30f) == 1.0f);
  CHECK(power_for<tq::Symmetric>(0x1p31f) == 2.0f);
  CHECK(power_for<tq::Asymmetric>(0x1.fffffep31f) == 1.0f);
  CHECK(power_for<tq::Asymmetric>(0x1p32f) == 2.0f);
}
