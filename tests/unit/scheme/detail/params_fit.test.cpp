// SPDX-License-Identifier: MIT
#include <tq/core/fit_params.hpp>
#include <tq/core/formats.hpp>
#include <tq/scheme/detail/params_fit.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

using namespace tq;

namespace {

// Ranges of all magnitudes, of zeros, and the widest there is.
std::vector<Range> ranges() {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<Range> out;
  for (int i = 0; i < 300; ++i) {
    const float middle = normal(random),
                half = std::abs(normal(random)) * std::exp2(static_cast<float>(i % 60 - 30));
    out.push_back({middle - half, middle + half});
  }
  constexpr float most = std::numeric_limits<float>::max();
  out.insert(out.end(), {{0, 0}, {-most, most}, {0, most}, {1, 1}});
  return out;
}

// The parameters of a scheme that is a value are those of the static types.
template <class Params, class N = numerics::onnx>
void same_as_static(std::string_view preset = "onnx") {
  const std::vector<Range> all = ranges();
  const Params params = fit_params<Params, N>(typename Params::granularity_type{}, all);
  EncodedTensor t{spec_of(params), {}, {}, {}, {}, {}};
  t.spec.numerics = preset;
  detail::fit_parameters<all_elements, all_scales>(t, all);
  INFO(to_string(t.spec));
  const auto* scales = t.scales.get_if<Scales<typename Params::scale_type>>();
  REQUIRE(scales != nullptr);
  CHECK(*scales == params.stored_scales());
  if constexpr (Params::has_zero_point) {
    const auto* zero_points = t.zero_points.get_if<ZeroPoints<typename Params::type>>();
    REQUIRE(zero_points != nullptr);
    CHECK(*zero_points == params.stored_zero_points());
  } else {
    CHECK(t.zero_points.empty());
  }
  if constexpr (OffsetParams<Params>) {
    const auto* offsets = t.offsets.get_if<Scales<typename Params::scale_type>>();
    REQUIRE(offsets != nullptr);
    CHECK(*offsets == params.stored_offsets());
  } else {
    CHECK(t.offsets.empty());
  }
}

}  // namespace

TEST_CASE("schemes that are values make of ranges what the static types make") {
  same_as_static<QuantParams<int4, PerGroup<32>, Symmetric>>();
  same_as_static<QuantParams<uint4, PerGroup<32>, Asymmetric, float16>>();
  same_as_static<QuantParams<uint16, PerGroup<32>, Asymmetric>, numerics::exact>("exact");
  same_as_static<QuantParams<int8, PerGroup<32>, SymmetricHalf>, numerics::torch>("torch");
  same_as_static<QuantParams<uint4, PerGroup<32>, FloatOffset>>();
  same_as_static<QuantParams<int3, PerGroup<32>, FloatOffset, bfloat16>, numerics::exact>("exact");
  same_as_static<QuantParams<uint2, PerGroup<16>, Asymmetric, float8_e8m0fnu>>();
  same_as_static<mxfp4, numerics::ocp>("ocp");
  same_as_static<nvfp4>();
  same_as_static<nf4_64_double, numerics::bitsandbytes>("bitsandbytes");
}

TEST_CASE("what was fitted before is gone") {
  EncodedTensor t{spec_of<QuantParams<uint4, PerGroup<32>, Asymmetric>>(), {}, {}, {}, {}, {}};
  detail::fit_parameters<all_elements, all_scales>(t, ranges());
  CHECK(t.zero_points.size() == t.scales.size());
  t.spec.symmetry = "float_offset";
  detail::fit_parameters<all_elements, all_scales>(t, ranges());
  CHECK(t.zero_points.empty());
  CHECK(t.offsets.size() == t.scales.size());
}
