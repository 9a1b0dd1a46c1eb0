// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace {

template <class T, class P>
constexpr bool is_microscaled =
    std::same_as<P, tq::QuantParams<T, tq::PerGroup<32>, tq::Symmetric, tq::float8_e8m0fnu>>;
static_assert(is_microscaled<tq::float8_e4m3fn, tq::mxfp8_e4m3> &&
              is_microscaled<tq::float8_e5m2, tq::mxfp8_e5m2> &&
              is_microscaled<tq::float6_e2m3fn, tq::mxfp6_e2m3> &&
              is_microscaled<tq::float6_e3m2fn, tq::mxfp6_e3m2> &&
              is_microscaled<tq::float4_e2m1fn, tq::mxfp4> &&
              is_microscaled<tq::fixed8, tq::mxint8>);
static_assert(tq::CodedParams<tq::nvfp4> && tq::CodedParams<tq::nf4_64> &&
              !tq::IntegerParams<tq::mxfp4>);
static_assert(tq::nvfp4::granularity_type{}.size() == 16 &&
              tq::nf4_64::granularity_type{}.size() == 64);
static_assert(std::same_as<tq::nvfp4::scale_type, tq::TwoLevel<tq::float8_e4m3fn>>);
static_assert(!tq::SymmetryFor<tq::Asymmetric, tq::float8_e4m3fn> &&
              !tq::SymmetryFor<tq::SymmetricNarrow, tq::nf4>);
static_assert(!tq::mxfp4::has_zero_point && tq::mxfp4::codes == tq::CodeRange{0, 15});

}  // namespace

TEST_CASE("named formats fit tensors in their blocks", "[formats]") {
  const tq::mxfp4 mx({}, tq::Scales<tq::float8_e8m0fnu>({127, 130, 0}));
  CHECK(mx.check({65}) == tq::errc::ok);
  CHECK(mx.check({97}) == tq::errc::shape_mismatch);
  CHECK(mx.scales()[1] == 8.0f);
  CHECK(mx.stored_scales().stored()[1] == 130);
  const tq::nvfp4 nv({}, {{0x38, 0x00}, 0.5f});
  CHECK(nv.check({2, 7}) == tq::errc::ok);
  CHECK(nv.scales()[0] == 0.5f);
  CHECK(nv.scales()[1] == 0.0f);
}
