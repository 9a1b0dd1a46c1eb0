// SPDX-License-Identifier: MIT
// Parameters by their parts, as files keep them.
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace tq;

namespace {

EncodedTensor encoded(const QuantSpec& spec) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(128);
  for (float& v : x) v = normal(random);
  return encode<all_elements, all_scales>(ConstTensorView(x.data(), {2, 64}), spec);
}

using test::has;
using test::refused;

}  // namespace

TEST_CASE("parameters come back from what files keep of them, in every scheme") {
  std::vector<QuantSpec> specs;
  for (const NamedScheme& scheme : named_schemes()) specs.push_back(scheme.spec);
  for (const char* scales : {"float32", "float16", "bfloat16"})
    specs.push_back({.type = "uint4",
                     .granularity = "per_group",
                     .symmetry = "float_offset",
                     .scale_type = scales});
  for (const QuantSpec& spec : specs) {
    INFO(to_string(spec));
    const EncodedTensor e = encoded(spec);
    EncodedTensor back{e.spec, e.shape, e.codes, {}, {}, {}};
    set_parameters<all_elements, all_scales>(back, stored_parameters<all_scales>(e));
    CHECK(back.scales == e.scales);
    CHECK(back.zero_points == e.zero_points);
    CHECK(back.offsets == e.offsets);
    CHECK(decode<all_elements, all_scales>(back) == decode<all_elements, all_scales>(e));
  }
}

TEST_CASE("what files keep is this") {
  const StoredParameters nvfp4 = stored_parameters<all_scales>(encoded(named_scheme("nvfp4")));
  CHECK(nvfp4.scales.codes.size() == 8);
  CHECK(nvfp4.scales.factors.size() == 1);
  const StoredParameters twice = stored_parameters<all_scales>(encoded(named_scheme("nf4_double")));
  CHECK(twice.scales.codes.size() == 2);
  CHECK(twice.scales.factors.size() == 1);
  CHECK(twice.scales.offset > 0);
  const EncodedTensor e = encoded(named_scheme("uint4_g32"));
  const StoredParameters groups = stored_parameters<all_scales>(e);
  CHECK(groups.scales.codes.empty());
  CHECK(groups.scales.factors == e.scales.values());
  CHECK(groups.zero_points == e.zero_points.values());
  CHECK(groups.zero_points.size() == 4);
}

TEST_CASE("damaged parameters are refused") {
  EncodedTensor e = encoded(named_scheme("nvfp4"));
  const auto refuse = [&](errc code, auto&& damage) {
    EncodedTensor bad = e;
    StoredParameters stored = stored_parameters<all_scales>(e);
    damage(stored);
    return refused(code, [&] {
      set_parameters<all_elements, all_scales>(bad, std::move(stored));
      (void)decode<all_elements, all_scales>(bad);
    });
  };
  refuse(errc::shape_mismatch, [](auto& p) { p.scales.codes.pop_back(); });
  refuse(errc::bad_argument, [](auto& p) { p.scales.factors.clear(); });
  refuse(errc::bad_argument, [](auto& p) { p.scales.codes[0] = 256; });
  refuse(errc::bad_scale, [](auto& p) { p.scales.factors[0] = -1; });
  refuse(errc::bad_scale, [](auto& p) { p.scales.codes[0] = 0x80 | 0x38; });
  refuse(errc::bad_argument, [](auto& p) { p.zero_points = {1}; });
  e = encoded(named_scheme("nf4_double"));
  refuse(errc::shape_mismatch, [](auto& p) { p.scales.factors.clear(); });
  refuse(errc::bad_scale, [](auto& p) { p.scales.offset = std::nanf(""); });
  e = encoded(named_scheme("uint4_g32"));
  CHECK(has(refuse(errc::bad_zero_point, [](auto& p) { p.zero_points[2] = 16; }),
            "expected zero points in [0, 15], got 16 at parameter 2"));
  refuse(errc::shape_mismatch, [](auto& p) { p.zero_points.pop_back(); });
  e = encoded({.type = "uint4", .granularity = "per_group", .symmetry = "float_offset"});
  refuse(errc::not_finite, [](auto& p) { p.offsets.factors[0] = std::nanf(""); });
  refuse(errc::shape_mismatch, [](auto& p) { p.offsets.factors.clear(); });
}

TEST_CASE("parameters that are not stored as the scheme says are no parts") {
  EncodedTensor e = encoded(named_scheme("mxfp4"));
  e.spec.scale_type = "float16";
  CHECK(has(refused(errc::bad_argument, [&] { (void)stored_parameters<all_scales>(e); }),
            "expected scales as"));
}
