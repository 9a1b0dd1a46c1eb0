// SPDX-License-Identifier: MIT
#include "conformance/tolerance.hpp"

#include <tq/containers/tensor.hpp>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

using namespace conformance;

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

template <class T>
Tensor tensor(std::initializer_list<T> v) {
  return tq::io::from_values<T>("t", {v.size()}, std::span<const T>(v.begin(), v.size()));
}
Tensor f32(std::initializer_list<float> v) { return tensor(v); }
Tensor i8(std::initializer_list<std::int8_t> v) { return tensor(v); }
Tensor u8(std::initializer_list<std::uint8_t> v) { return tensor(v); }

Tolerance tolerance(const char* json) { return Tolerance(nlohmann::json::parse(json)); }

}  // namespace

TEST_CASE("exact: bit for bit, any NaN equals any NaN") {
  CHECK(!exact(f32({1, -0.0f, inf}), f32({1, -0.0f, inf})));
  CHECK(!exact(f32({nan_value}), f32({-nan_value})));
  CHECK(!exact(i8({-128, 127}), i8({-128, 127})));

  const Verdict v = exact(f32({1, 2, 3}), f32({1, std::nextafter(2.0f, 3.0f), 4}));
  REQUIRE(v);
  CHECK(v->index == 1u);
  CHECK(v->expected == "2 (0x40000000)");
  CHECK(v->got == "2.00000024 (0x40000001)");
  CHECK(exact(f32({nan_value}), f32({1})));
  CHECK(exact(f32({1}), f32({nan_value})));
  CHECK(exact(i8({-1}), i8({1}))->expected == "-1");
}

TEST_CASE("exact: the sign of zero counts unless told otherwise") {
  CHECK(exact(f32({0.0f}), f32({-0.0f})));
  CHECK(!exact(f32({0.0f}), f32({-0.0f}), "", ZeroSign::ignored));
  CHECK(exact(f32({0.0f}), f32({1e-45f}), "", ZeroSign::ignored));
}

TEST_CASE("exact: type and shape must agree") {
  CHECK(exact(i8({1}), u8({1}))->text == "type");
  CHECK(exact(i8({1, 2}), i8({1}))->text == "shape");
  CHECK(exact(tq::io::from_values<std::int8_t>("t", {2, 1}, std::vector<std::int8_t>{1, 2}),
              i8({1, 2})));
}

TEST_CASE("exact: NaN codes of narrow floats are equal, other codes are not") {
  CHECK(!exact(u8({0x7f}), u8({0xff}), "float8_e4m3fn"));
  CHECK(exact(u8({0x7e}), u8({0xfe}), "float8_e4m3fn"));
  CHECK(!exact(u8({0x7d}), u8({0xff}), "float8_e5m2"));
  CHECK(exact(u8({0x7c}), u8({0x7d}), "float8_e5m2"));
  CHECK(exact(u8({0x80}), u8({0x00}), "float8_e4m3fnuz"));
  CHECK(exact(u8({0xff}), u8({0xfe}), "float8_e8m0fnu"));
  CHECK(exact(u8({0x7f}), u8({0xff})));
  CHECK(!exact(tensor<std::uint16_t>({0x7e00}), tensor<std::uint16_t>({0xfe01}), "float16"));
  CHECK(exact(tensor<std::uint16_t>({0x7c00}), tensor<std::uint16_t>({0x7c01}), "float16"));
  CHECK(!exact(tensor<std::uint16_t>({0x7fc0}), tensor<std::uint16_t>({0xff81}), "bfloat16"));
}

TEST_CASE("exact_bytes") {
  const std::vector<std::byte> a{std::byte{1}, std::byte{2}}, b{std::byte{1}, std::byte{3}};
  CHECK(!exact_bytes(a, a));
  CHECK(exact_bytes(a, b)->index == 1u);
  CHECK(exact_bytes(a, std::span(b).first(1)));
}

TEST_CASE("max_code_diff: size of a difference and number of differences") {
  const Tensor expected = i8({0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(!max_code_diff(expected, expected, 1, 0));
  CHECK(!max_code_diff(expected, i8({0, 1, 2, 4, 4, 5, 6, 6}), 1, 0.25));
  CHECK(max_code_diff(expected, i8({0, 1, 2, 4, 4, 5, 6, 6}), 1, 0.24)->index == 3u);
  CHECK(max_code_diff(expected, i8({0, 1, 2, 3, 4, 5, 6, 9}), 1, 1)->index == 7u);
  CHECK(!max_code_diff(expected, i8({0, 1, 2, 3, 4, 5, 6, 9}), 2, 1));
  CHECK(max_code_diff(u8({0}), u8({255}), 1, 1));  // not a step of -1
  CHECK_THROWS_AS(max_code_diff(f32({1}), f32({1}), 1, 1), std::runtime_error);
}

TEST_CASE("codes_exact_off_midpoint") {
  const Tensor expected = u8({7, 7, 7, 7});
  CHECK(!codes_exact_off_midpoint(expected, u8({7, 8, 7, 7}), 0.25));
  CHECK(codes_exact_off_midpoint(expected, u8({7, 8, 6, 7}), 0.25));
  CHECK(codes_exact_off_midpoint(expected, u8({7, 9, 7, 7}), 1));
}

TEST_CASE("exact_or_neighbour: one step, few elements, gradients with them") {
  const Tensor y = f32({0, 0.5f, 1, 1.5f}), dy = f32({1, 2, 3, 4});
  const std::vector<float> step(4, 0.5f);
  CHECK(!exact_or_neighbour(y, y, step, dy, dy, 0));
  CHECK(!exact_or_neighbour(y, f32({0, 1, 1, 1.5f}), step, dy, dy, 0.25));
  CHECK(exact_or_neighbour(y, f32({0, 1, 1, 1.5f}), step, dy, dy, 0.2)->index == 1u);
  CHECK(exact_or_neighbour(y, f32({0, 1.5f, 1, 1.5f}), step, dy, dy, 1)->index == 1u);  // two steps
  CHECK(exact_or_neighbour(y, f32({0, 0.75f, 1, nan_value}), step, dy, dy, 1)->index == 3u);
  // The gradient may differ on as many elements, together with the values.
  CHECK(!exact_or_neighbour(y, y, step, dy, f32({1, 2, 3, 0}), 0.25));
  CHECK(exact_or_neighbour(y, y, step, dy, f32({1, 2, 0, 0}), 0.25)->index == 2u);
  CHECK(exact_or_neighbour(y, f32({0.5f, 0.5f, 1, 1.5f}), step, dy, f32({1, 2, 3, 0}), 0.25));
}

TEST_CASE("rel_abs") {
  CHECK(!rel_abs(f32({100}), f32({101}), 0.01, 0));
  CHECK(rel_abs(f32({100}), f32({101.1f}), 0.01, 0));
  CHECK(!rel_abs(f32({0}), f32({1e-3f}), 0, 1e-2));
  CHECK(rel_abs(f32({0, 0}), f32({0, 2e-2f}), 0, 1e-2)->index == 1u);
  CHECK(!rel_abs(f32({inf, nan_value}), f32({inf, nan_value}), 0, 0));
  CHECK(rel_abs(f32({inf}), f32({1}), 0.5, 1));
  CHECK(rel_abs(f32({1}), f32({nan_value}), 0.5, 1));
  CHECK(rel_abs(f32({inf}), f32({-inf}), 0.5, 1));
}

TEST_CASE("scale_rel_zp_abs") {
  const Tensor s = f32({0.5f}), z = tensor<std::int32_t>({10});
  CHECK(!scale_rel_zp_abs(s, f32({0.505f}), z, tensor<std::int32_t>({12}), 0.02, 2));
  CHECK(scale_rel_zp_abs(s, f32({0.52f}), z, z, 0.02, 2)->text == "scale");
  CHECK(scale_rel_zp_abs(s, s, z, tensor<std::int32_t>({13}), 0.02, 2)->text == "zero point");
}

TEST_CASE("error_ratio: per row, weighted") {
  const std::vector<float> x(4, 0), reference{1, 0, 2, 0};
  CHECK(!error_ratio(x, 2, reference, reference, {}, 1, 0));
  CHECK(!error_ratio(x, 2, reference, std::vector<float>{0, 1.02f, 2, 0}, {}, 1.05, 0));
  // A better second row does not pay for a worse first.
  CHECK(error_ratio(x, 2, reference, std::vector<float>{1.1f, 0, 0, 0}, {}, 1.05, 0)->index == 0u);
  CHECK(!error_ratio(x, 2, reference, std::vector<float>{1.1f, 0, 0, 0}, {}, 1.05, 0.5));
  const std::vector<float> weights{4, 1};
  CHECK(!error_ratio(x, 2, reference, std::vector<float>{0, 2, 0, 4}, weights, 1, 0));
  CHECK(error_ratio(x, 2, reference, std::vector<float>{0, 2, 0, 4.1f}, weights, 1, 0)->index ==
        2u);
  CHECK(error_ratio(x, 2, reference, std::vector<float>{nan_value, 0, 2, 0}, {}, 1.05, 0));
}

TEST_CASE("nvfp4: scales exact, few codes one step of the value off") {
  const Tensor s = u8({0x38}), codes = u8({0, 1, 9, 7});
  CHECK(!nvfp4(s, s, codes, codes, 0));
  CHECK(nvfp4(s, u8({0x39}), codes, codes, 1)->text == "scale");
  CHECK(!nvfp4(s, s, codes, u8({0, 1, 10, 7}), 0.25));
  CHECK(!nvfp4(s, s, codes, u8({0, 1, 8, 7}), 0.25));  // -0.5 and -0 are neighbours
  CHECK(nvfp4(s, s, codes, u8({0, 1, 10, 6}), 0.25));
  CHECK(nvfp4(s, s, codes, u8({0, 1, 1, 7}), 1)->index == 2u);  // -0.5 and 0.5 are not
}

TEST_CASE("must_reject and should_reject") {
  CHECK(!rejection(Reading::rejected));
  CHECK(!rejection(Reading::rejected_by_rule));
  CHECK(rejection(Reading::accepted));
}

TEST_CASE("verdict") {
  CHECK(!fuzz_verdict(0, Reading::rejected));
  CHECK(!fuzz_verdict(0, Reading::rejected_by_rule));
  CHECK(fuzz_verdict(0, Reading::accepted));
  CHECK(!fuzz_verdict(1, Reading::accepted));
  CHECK(!fuzz_verdict(1, Reading::rejected_by_rule));
  CHECK(fuzz_verdict(1, Reading::rejected));
  CHECK(!fuzz_verdict(2, Reading::accepted));
  CHECK(!fuzz_verdict(2, Reading::rejected));
  CHECK(fuzz_verdict(3, Reading::accepted));
}

TEST_CASE("within: the kind and its numbers come from the manifest") {
  const Tensor a = i8({1, 2}), b = i8({1, 3});
  CHECK(!within(tolerance(R"({"kind": "exact"})"), a, a));
  CHECK(within(tolerance(R"({"kind": "exact"})"), a, b));
  CHECK(!within(tolerance(R"({"kind": "exact_bytes"})"), a, a));
  CHECK(within(tolerance(R"({"kind": "exact_bytes"})"), a, b));
  CHECK(!within(tolerance(R"({"kind": "max_code_diff", "max": 1, "max_fraction": 0.5})"), a, b));
  CHECK(within(tolerance(R"({"kind": "max_code_diff", "max": 1, "max_fraction": 0.4})"), a, b));
  CHECK(!within(tolerance(R"({"kind": "rel_abs", "rel": 0.5, "abs": 0})"), a, b));
  CHECK(within(tolerance(R"({"kind": "rel_abs", "rel": 0.4, "abs": 0})"), a, b));
  CHECK(!within(
      tolerance(R"({"kind": "codes_exact_off_midpoint", "max_fraction_off_by_one": 0.5})"), a, b));
  CHECK(within(tolerance(R"({"kind": "codes_exact_off_midpoint", "max_fraction_off_by_one": 0.1})"),
               a, b));
  // Nothing passes by a kind that is not understood or lacks its numbers.
  CHECK_THROWS_AS(within(tolerance(R"({"kind": "close_enough"})"), a, a), std::runtime_error);
  CHECK_THROWS_AS(within(tolerance(R"({"kind": "rel_abs", "rel": 1})"), a, a), std::runtime_error);
}
