// SPDX-License-Identifier: MIT
// Float offsets of the moment: the parameters of `calibrate` by the extremes, and the codes of
// `quantize`.
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/min_max.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

template <class Params, class Pack = tq::LowFirst>
void check(typename Params::granularity_type g = {}) {
  const tq::Shape shape{6, 5, 64};
  std::vector<float> x = inputs::normals(shape.size(), 2, 5);
  for (std::size_t i = 0; i < 64; ++i) x[i] = 0.25f;  // a block without a range
  const tq::ConstTensorView view(x.data(), shape);
  const auto wanted = tq::quantize<Pack>(view, tq::calibrate<Params>(view, g));
  const auto got = tq::quantize_dynamic<Params, Pack>(view, g);
  CHECK(got.params() == wanted.params());
  CHECK(std::memcmp(got.bytes().data(), wanted.bytes().data(), wanted.bytes().size()) == 0);
}

}  // namespace

TEST_CASE("quantize_dynamic fits float offsets as calibrate does", "[quantize_dynamic]") {
  using namespace tq;
  check<QuantParams<uint4, PerGroup<32>, FloatOffset, float16>>();
  check<QuantParams<uint8, PerTensor, FloatOffset>>();
  check<QuantParams<uint3, PerChannel<1>, FloatOffset>, HighFirst>();
}
