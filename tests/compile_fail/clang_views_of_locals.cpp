// expect: 9 errors: stack memory associated with
// flags: -Werror=return-stack-address
// SPDX-License-Identifier: MIT
#include <tq/core/as_tensor.hpp>
#include <tq/core/quantized_tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using Params = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Asymmetric>;
using Offsets = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::FloatOffset>;
using Tensor = tq::QuantizedTensor<Params>;
Tensor make();
auto scales(Params p) { return p.scales(); }
auto zero_points(Params p) { return p.zero_points(); }
auto offsets(Offsets p) { return p.offsets(); }
const Params& params(Tensor q) { return q.params(); }
std::span<const std::byte> bytes() {
  const Tensor q = make();
  return q.bytes();
}
std::span<std::int8_t> codes(Tensor q) { return q.codes(); }
tq::ConstTensorView view(std::vector<float> x) { return x; }
tq::ConstTensorView named(std::vector<float> x) { return tq::ConstTensorView(x); }
tq::TensorView<float> tensor(std::vector<float> x) { return tq::as_tensor(x); }
