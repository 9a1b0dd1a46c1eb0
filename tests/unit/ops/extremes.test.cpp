// SPDX-License-Identifier: MIT
// Finite values stay finite through the operations of the static types, and what is next to nothing
// stays so.
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include "support/catch.hpp"
#include "support/extremes.hpp"

#include <vector>

namespace {

template <class Params, class N = tq::numerics::onnx>
void check(std::size_t block) {
  inputs::Random random(3);
  const tq::Shape shape{3, 96};
  int failed = 0;
  for (const float magnitude : extremes::magnitudes())
    for (int kind = 0; kind < extremes::kinds; ++kind) {
      const std::vector<float> x = extremes::tensor(shape.size(), magnitude, kind, random);
      const tq::ConstTensorView view(x.data(), shape);
      const auto dynamic = tq::quantize_dynamic<Params>(view, N{});
      const std::vector<float> back = tq::dequantize(dynamic);
      std::vector<float> fake(x.size());
      tq::fake_quantize(view, dynamic.params(), tq::TensorView<float>(fake.data(), shape), N{});
      failed += extremes::not_finite(back) != 0 || fake != back;
      failed += extremes::amplified_blocks(x, back, block) != 0;
      const auto params = tq::calibrate<Params>(view, N{});
      failed += tq::dequantize(tq::quantize(view, params, N{})) != back;
    }
  INFO(Params::type::name << " " << Params::symmetry_type::name);
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("finite values come back finite through quantize, quantize_dynamic and fake_quantize",
          "[extremes]") {
  using namespace tq;
  check<QuantParams<int8, PerTensor, Symmetric>>(288);
  check<QuantParams<int8, PerToken, SymmetricHalf>, numerics::torch>(96);
  check<QuantParams<uint8, PerChannel<0>, Asymmetric>>(96);
  check<QuantParams<uint8, PerToken, Asymmetric>, numerics::torch>(96);
  check<QuantParams<int4, PerGroup<32>, SymmetricNarrow>>(32);
}

TEST_CASE("so they do in block formats, whose small blocks stay small", "[extremes]") {
  using namespace tq;
  check<mxfp4>(32);
  check<mxint8>(32);
  check<nvfp4>(16);
  check<nf4_64_double, numerics::bitsandbytes>(96);
  check<QuantParams<iq4_nl, PerGroup<32>, Symmetric, float16>>(32);
  check<QuantParams<binary, PerGroup<32>, Symmetric, bfloat16>>(32);
  check<QuantParams<float16, PerGroup<32>, Symmetric, bfloat16>>(32);
}
