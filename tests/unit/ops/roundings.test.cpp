// SPDX-License-Identifier: MIT
// Roundings other than the library's: the kernels compute what they say.
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {

// The smallest model that the concept's comment shows.
struct Below {
  static constexpr std::string_view name = "below";
  float operator()(float v, std::uint64_t) const noexcept { return std::floor(v); }
};
// Up by a threshold of each element: what a learned rounding does.
struct Learned {
  static constexpr std::string_view name = "learned";
  const float* thresholds = nullptr;
  float operator()(float v, std::uint64_t index) const noexcept {
    const float below = std::floor(v);
    return v - below > thresholds[index] ? below + 1 : below;
  }
};

std::vector<float> values(std::size_t n) { return inputs::normals(n, 11, 3); }

template <class T>
void check_below() {
  using P = tq::QuantParams<T, tq::PerTensor, tq::Symmetric>;
  const std::vector<float> x = values(301);
  std::vector<typename T::code_type> a(x.size()), b(x.size());
  tq::quantize(x, P(0.25f), a, tq::Numerics<Below>{});
  tq::quantize(x, P(0.25f), b, tq::Numerics<tq::Floor>{});
  INFO(T::name);
  CHECK(a == b);
  CHECK(tq::fake_quantize(x, P(0.25f), tq::Numerics<Below>{}) ==
        tq::fake_quantize(x, P(0.25f), tq::Numerics<tq::Floor>{}));
}

}  // namespace

TEST_CASE("a rounding of the user's own is the one that is used", "[roundings]") {
  check_below<tq::int8>();
  check_below<tq::uint8>();
  check_below<tq::int16>();
  check_below<tq::float8_e4m3fn>();
  check_below<tq::float4_e2m1fn>();
  const std::vector<float> x = values(301);
  CHECK(tq::cast_to<tq::float8_e5m2>(x, tq::Numerics<Below>{}) ==
        tq::cast_to<tq::float8_e5m2>(x, tq::Numerics<tq::Floor>{}));
}

TEST_CASE("a rounding is told the index of its element", "[roundings]") {
  using P = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  for (const std::size_t n : {1u, 15u, 64u, 301u}) {
    const std::vector<float> x(n, 5.5f);
    std::vector<float> thresholds(n);
    for (std::size_t i = 0; i < n; ++i) thresholds[i] = i % 3 == 0 ? 0.25f : 0.75f;
    std::vector<std::int8_t> codes(n);
    tq::quantize(x, P(1.0f), codes, tq::Numerics<Learned>{Learned{thresholds.data()}});
    for (std::size_t i = 0; i < n; ++i) REQUIRE(int{codes[i]} == (i % 3 == 0 ? 6 : 5));
  }
}

TEST_CASE("a cast that must not see NaN says so", "[roundings]") {
  const std::vector<float> x{1, std::nanf("")};
  std::vector<std::uint8_t> out(2, 99);
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::RaiseNan>;
  test::raises(tq::errc::not_finite, {"tq::cast_to", "NaN"},
               [&] { tq::cast_to<tq::float4_e2m1fn>(x, std::span(out), Raises{}); });
  CHECK(out == std::vector<std::uint8_t>{99, 99});
}
