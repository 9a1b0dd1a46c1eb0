// SPDX-License-Identifier: MIT
// Not run: one of every kind of code that reaches a kernel.
#include <tq/checkpoints/decode_checkpoint.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/tq.hpp>

#include <cstddef>
#include <vector>

namespace {

void round_trip(std::vector<float>& x) {
  using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  const std::vector<float> back = tq::dequantize(tq::quantize(x, tq::calibrate<W4>(x)));
  tq::fake_quantize(back, tq::calibrate<W4>(back), x);
  tq::dequantize(tq::quantize_dynamic<tq::mxfp4>(x), x);
}

void layer(std::vector<float>& x) {
  tq::FakeQuantize<tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>> layer;
  layer.forward(x, x);
  layer.backward(x, x, x);
}

void file(std::vector<float>& x) {
  std::vector<std::byte> bytes(2 * x.size());
  tq::io::from_float32(x, tq::io::DType::f16, bytes);
  tq::io::to_float32(tq::io::DType::f16, bytes, x);
}

void checkpoint(std::vector<float>& x) { x = tq::io::decode_checkpoint({}, {}); }

}  // namespace

extern "C" void every_kind(std::vector<float>& x);
extern "C" void every_kind(std::vector<float>& x) {
  round_trip(x);
  layer(x);
  file(x);
  checkpoint(x);
}
