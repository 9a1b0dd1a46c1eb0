// SPDX-License-Identifier: MIT
// Not run: one of every kind of code that reaches a kernel.
#include <tq/checkpoints/decode_checkpoint.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/layouts/bitsandbytes.hpp>
#include <tq/layouts/gptq.hpp>
#include <tq/ptq.hpp>
#include <tq/tq.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

void round_trip(std::vector<float>& x) {
  using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  const std::vector<float> back = tq::dequantize(tq::quantize(x, tq::calibrate<W4>(x)));
  tq::fake_quantize(back, tq::calibrate<W4>(back), x);
  tq::dequantize(tq::quantize_dynamic<tq::mxfp4>(x), x);
}

// Every form of an operation: with options and without, into a new tensor and into one that is
// there.
void forms(std::vector<float>& x) {
  using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  const tq::Serial serial;
  const auto p = tq::calibrate<W4, tq::Histogram>(x, tq::MseCalibrator{}, serial);
  auto q = tq::quantize(x, p, tq::with(serial, tq::numerics::torch{}));
  tq::quantize(x, q, serial);
  std::vector<std::int8_t> codes(x.size());
  std::vector<std::byte> bytes(x.size() / 2);
  tq::quantize(x, p, codes, serial);
  tq::quantize(x, p, bytes, serial);
  tq::dequantize(codes, p, x, serial);
  tq::dequantize(bytes, p, x, serial);
  tq::pack<tq::int4>(codes, bytes);
  tq::unpack<tq::int4>(bytes, codes);
  x = tq::fake_quantize(x, p, serial);
  x = tq::dequantize(tq::quantize<W4>(x, serial), serial);
  std::vector<float> scales(x.size() / 32);
  tq::quantize_dynamic<W4>(x, {.codes = codes, .scales = scales}, serial);
  x[0] = tq::tensor_scale<tq::nvfp4>(x, serial);
  tq::copy(x, scales, serial);
  x = tq::cast_from<tq::bfloat16>(tq::cast_to<tq::bfloat16>(x, serial), serial);
  x[0] = static_cast<float>(tq::compare(x, scales).mse);
}

void observer(std::vector<float>& x) {
  tq::Observer<tq::Histogram, tq::PerTensor> seen;
  seen.observe(x);
  seen.begin({x.size()});
  seen.add_part({x.size()}, 0, x);
  x[0] = tq::calibrate<tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>>(
             seen, tq::KlDivergenceCalibrator{})
             .scales()[0];
}

void stored(std::vector<float>& x, std::vector<std::uint8_t>& bytes) {
  tq::layouts::bitsandbytes::load(bytes, bytes);
  tq::layouts::bitsandbytes::store(bytes, tq::layouts::bitsandbytes::nf4_zero, bytes);
  using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  x = tq::dequantize(tq::GroupedWeight<W4>{tq::quantize<W4>(x, tq::Unpacked{}), {}});
}

void algorithms(std::vector<float>& x) {
  using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  const tq::ConstTensorView w(x.data(), {1, x.size()});
  tq::Observer<tq::AbsMax, tq::PerChannel<1>> range;
  range.observe(w);
  tq::Hessian h(range);
  h.add(w);
  x = tq::dequantize(tq::gptq(w, tq::factor(h), tq::calibrate<W4>(w)).tensor);
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
  forms(x);
  observer(x);
  std::vector<std::uint8_t> bytes(x.size());
  stored(x, bytes);
  algorithms(x);
}
