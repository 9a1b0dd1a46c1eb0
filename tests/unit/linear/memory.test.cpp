// SPDX-License-Identifier: MIT
// Memory that layers ask for when a row goes through them.
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/quantized_linear.hpp>

#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/inputs.hpp"

namespace {

using tq::Shape;
using Rows = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using Groups = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;

// How often a row is given memory on its way through a layer.
template <class Layer>
std::ptrdiff_t allocations(const Layer& layer, std::size_t inputs, std::size_t outputs) {
  const std::vector<float> x = inputs::normals(inputs, 2);
  std::vector<float> y(outputs);
  const tq::ConstTensorView row(x.data(), Shape{1, inputs});
  const tq::TensorView<float> out(y.data(), Shape{1, outputs});
  layer.forward(row, out);
  const std::ptrdiff_t before = test::allocations;
  layer.forward(row, out);
  return test::allocations - before;
}

}  // namespace

TEST_CASE("a short row through a layer takes no memory from the heap, a long one does") {
  constexpr std::size_t outputs = 40;
  for (const std::size_t length : {1u, 33u, 128u, 172u, 512u, 5000u}) {
    const bool is_short = length <= 512;
    const std::vector<float> w = inputs::normals(outputs * length, 1);
    const tq::ConstTensorView weights(w.data(), Shape{outputs, length});
    const auto bytes = tq::quantize_dynamic<Rows>(weights);
    const auto groups = tq::quantize_dynamic<Groups>(weights);
    const auto check = [&](const auto& layer) {
      CHECK((allocations(layer, length, outputs) == 0) == is_short);
    };
    INFO(length << " inputs");
    check(tq::QuantizedLinear(bytes));
    check(tq::QuantizedLinear<tq::DynamicActivation<tq::uint8, tq::Asymmetric>>(bytes));
    check(tq::GroupedLinear<tq::Int8PerRow>(groups));
    check(tq::GroupedLinear<tq::Int8PerGroup>(groups));
    check(tq::FloatLinear(weights));
    check(tq::GroupedLinear<tq::FloatActivations>(groups));
  }
}
