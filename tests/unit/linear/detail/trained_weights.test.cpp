// SPDX-License-Identifier: MIT
#include <tq/linear/detail/trained_weights.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/train/dorefa.hpp>
#include <tq/train/fake_quantize.hpp>

#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

using tq::Shape;
using tq::TensorView;

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
