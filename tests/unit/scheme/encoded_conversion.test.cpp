// SPDX-License-Identifier: MIT
// Tensors of static types as encoded ones and back.
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/scheme/encoded_conversion.hpp>
#include <tq/scheme/encoded_tensor.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace tq;

namespace {

std::vector<float> data(std::size_t n) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.3f);
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

const std::vector<float> x = data(6 * 64);
const ConstTensorView view(x.data(), {6, 64});

// There and back: the same tensor, and the bits of `encode`, in the memory that was there.
template <class Params>
void round_trip(
    typename Params::granularity_type granularity = typename Params::granularity_type{}) {
  const auto q = quantize(view, calibrate<Params>(view, granularity));
  auto moved = q;
  const std::byte* const memory = moved.bytes().data();
  EncodedTensor e = to_encoded(std::move(moved));
  INFO(to_string(e.spec));
  CHECK(e.codes.data() == memory);
  CHECK(e.spec == spec_of(q.params()));
  const EncodedTensor whole = encode<all_elements, all_scales>(view, e.spec);
  CHECK(e.scales == whole.scales);
  CHECK(e.zero_points == whole.zero_points);
  CHECK(e.offsets == whole.offsets);
  CHECK(std::ranges::equal(e.codes.span(), whole.codes.span()));
  CHECK(decode<all_elements, all_scales>(e) == dequantize(q));
  CHECK(to_quantized<Params>(e) == q);  // of a copy
  const auto back = to_quantized<Params>(std::move(e));
  CHECK(back == q);
  CHECK(back.bytes().data() == memory);
}

using test::has;
using test::refused;

}  // namespace

TEST_CASE("tensors of static types are encoded ones, and back") {
  round_trip<QuantParams<int8, PerTensor, Symmetric>>();
  round_trip<QuantParams<uint8, PerTensor, Asymmetric>>();
  round_trip<QuantParams<uint4, PerTensor, FloatOffset>>();
  round_trip<QuantParams<int4, PerTensor, SymmetricNarrow, float16>>();
  round_trip<QuantParams<float16, PerTensor, Symmetric, Unscaled>>();
  round_trip<QuantParams<int16, PerChannel<0>, Symmetric>>();
  round_trip<QuantParams<uint3, PerGroup<32>, Asymmetric>>();
  round_trip<QuantParams<uint16, PerChannel<>, Asymmetric, bfloat16>>(PerChannel<>(1));
  round_trip<QuantParams<int5, PerBlock<>, Asymmetric, float16>>(PerBlock<>(2, 16));
  round_trip<QuantParams<uint4, PerGroup<32>, FloatOffset, float16>>();
  round_trip<QuantParams<binary, PerToken, Symmetric>>();
  round_trip<mxfp4>();
  round_trip<mxint8>();
  round_trip<nvfp4>();
  round_trip<nf4_64_double>();
  QuantSpec groups{.granularity = "per_group", .group_size = 16};
  round_trip<QuantParams<int4, AnyGranularity, Symmetric>>(AnyGranularity(groups));
}

TEST_CASE("parameters move without a copy") {
  using Params = QuantParams<uint4, PerGroup<32>, Asymmetric, float16>;
  auto q = quantize(view, calibrate<Params>(view));
  const void *const scales = q.params().stored_scales().stored().data(),
                    *const zero_points = q.params().stored_zero_points().stored().data();
  EncodedTensor e = to_encoded(std::move(q));
  CHECK(e.scales.get_if<Scales<float16>>()->stored().data() == scales);
  CHECK(e.zero_points.get_if<ZeroPoints<uint4>>()->stored().data() == zero_points);
  const auto back = to_quantized<Params>(std::move(e));
  CHECK(back.params().stored_scales().stored().data() == scales);
  CHECK(back.params().stored_zero_points().stored().data() == zero_points);
}

TEST_CASE(
    "another static type than that of the spec is refused, and so are parts that do not fit") {
  using Params = QuantParams<int4, PerGroup<32>, Asymmetric, float16>;
  const EncodedTensor e = to_encoded(quantize(view, calibrate<Params>(view)));
  const auto refuse = [&]<class P>(std::type_identity<P>) {
    return refused(errc::bad_argument, [&] { (void)to_quantized<P>(e); });
  };
  CHECK(has(refuse(std::type_identity<QuantParams<int8, PerGroup<32>, Asymmetric, float16>>{}),
            "tq::to_quantized: expected a tensor encoded as int8 per_group(32, axis -1) asymmetric "
            "scales float16, got int4"));
  refuse(std::type_identity<QuantParams<uint4, PerGroup<32>, Asymmetric, float16>>{});
  refuse(std::type_identity<QuantParams<int4, PerGroup<64>, Asymmetric, float16>>{});
  refuse(std::type_identity<QuantParams<int4, PerChannel<0>, Asymmetric, float16>>{});
  refuse(std::type_identity<QuantParams<int4, PerGroup<32>, Symmetric, float16>>{});
  refuse(std::type_identity<QuantParams<int4, PerGroup<32>, FloatOffset, float16>>{});
  refuse(std::type_identity<QuantParams<int4, PerGroup<32>, Asymmetric>>{});
  const auto damaged = [&](errc code, auto&& damage) {
    EncodedTensor bad = e;
    damage(bad);
    return refused(code, [&] { (void)to_quantized<Params>(std::move(bad)); });
  };
  CHECK(has(damaged(errc::bad_argument, [](auto& t) { t.scales = Scales<float>{1, 1}; }),
            "expected scales as int4"));
  damaged(errc::bad_argument, [](auto& t) { t.zero_points = {}; });
  damaged(errc::shape_mismatch, [](auto& t) { t.scales = Scales<float16>({0x3c00}); });
  damaged(errc::shape_mismatch, [](auto& t) { t.codes = Buffer<std::byte>(3); });
  damaged(errc::shape_mismatch, [](auto& t) { t.shape = Shape{6, 32}; });
}
