// SPDX-License-Identifier: MIT
#include <tq/linear/weight_codes.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/fake_quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {
using tq::Shape;
using tq::TensorView;
using tq::detail::WeightCodes;
template <class Granularity>
using Nibbles = tq::QuantParams<tq::uint4, Granularity, tq::Asymmetric>;
}  // namespace

TEST_CASE("packed weights come apart into codes and parameters") {
  const auto w = inputs::normals(2 * 3 * 5, 1);
  const TensorView<const float> view(w.data(), Shape{2, 3, 5});
  const auto q = tq::quantize_dynamic<Nibbles<tq::PerChannel<0>>>(view);
  const WeightCodes codes("here", q);
  CHECK(codes.shape == Shape{2, 3, 5});
  const auto plain = tq::quantize_dynamic<Nibbles<tq::PerChannel<0>>, tq::Unpacked>(view);
  bool equal = true;
  for (std::size_t i = 0; i < w.size(); ++i)
    equal = equal && codes.codes.data()[i] == plain.codes()[i];
  CHECK(equal);
  CHECK(codes.scales == std::vector<float>{q.params().scales()[0], q.params().scales()[1]});
  CHECK(codes.zero_points ==
        std::vector<std::int32_t>{q.params().zero_points()[0], q.params().zero_points()[1]});

  const WeightCodes one("here", tq::quantize_dynamic<Nibbles<tq::PerTensor>>(view));
  CHECK(one.scales.size() == 1);
  // A group as long as a row is one of an output, and so is a row without inputs.
  const TensorView<const float> matrix(w.data(), Shape{2, 15});
  CHECK(
      WeightCodes("here", tq::quantize_dynamic<Nibbles<tq::PerGroup<16>>>(matrix)).scales.size() ==
      2);
  const TensorView<const float> empty(w.data(), Shape{2, 0});
  CHECK(
      WeightCodes("here", tq::quantize_dynamic<Nibbles<tq::PerChannel<0>>>(empty)).scales.size() ==
      2);
}

TEST_CASE("weights with parameters of groups, or of another axis, are refused") {
  const std::vector<float> w(24, 1.0f);
  const TensorView<const float> view(w.data(), Shape{4, 6});
  test::raises(tq::errc::unsupported, {"here", "one for each output", "12", "[4, 6]"},
               [&] { WeightCodes("here", tq::quantize_dynamic<Nibbles<tq::PerGroup<2>>>(view)); });
  const TensorView<const float> square(w.data(), Shape{4, 4});
  test::raises(tq::errc::unsupported, {"here", "one for each output", "[4, 4]"}, [&] {
    WeightCodes("here", tq::quantize_dynamic<Nibbles<tq::PerChannel<1>>>(square));
  });
}

TEST_CASE("trained weights are those that fake quantization dequantizes") {
  const auto w = inputs::normals(6 * 8, 2);
  const TensorView<const float> view(w.data(), Shape{6, 8});
  const auto check = [&](auto fake) {
    std::vector<float> wanted(w.size()), got(w.size());
    test::raises(tq::errc::no_data, {"a batch first"},
                 [&] { (void)tq::trained_weights(view, fake); });
    fake.forward(view, TensorView<float>(wanted.data(), view.shape()));
    const auto q = tq::trained_weights(view, fake);
    tq::dequantize(q, TensorView<float>(got.data(), view.shape()));
    CHECK(got == wanted);
  };
  using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  check(tq::FakeQuantize<Weights>{});
  check(tq::FakeQuantize<Weights, tq::MinMax, tq::ClippedStraightThrough, tq::MinMaxCalibrator,
                         tq::numerics::torch>{});
  check(tq::FakeQuantize<tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>, tq::MinMax,
                         tq::DoReFa>{});
}
