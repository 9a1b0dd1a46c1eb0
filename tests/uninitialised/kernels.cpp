// SPDX-License-Identifier: MIT
// Runs the kernels over rows of every length up to 130, with parameters of every place, and looks
// at all that they give. run.py builds it for a tool that knows which bytes were never written.
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/core/formats.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/train/backward.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

namespace {

using tq::Shape;
using tq::TensorView;

// Branches on every byte, so that a tool reports one that was never written.
std::size_t seen = 0;
template <class T>
void look(const std::vector<T>& values) {
  for (const std::byte b : std::as_bytes(std::span<const T>(values)))
    if (b != std::byte{0}) ++seen;
}
void look(std::span<const std::byte> bytes) {
  for (const std::byte b : bytes)
    if (b != std::byte{0}) ++seen;
}

std::vector<float> numbers(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = 0.1f * static_cast<float>(static_cast<int>(i * 37 % 101) - 50);
  return x;
}

// Leaves the stack uninitialised: a kernel must not find the values of an earlier call there.
TQ_NO_INLINE void give_up_stack() {
  volatile char rest[1 << 16];
  rest[0] = 0;
  static_cast<void>(rest[0]);
}

template <class Params>
void there_and_back(const std::vector<float>& x, const Shape& shape) {
  give_up_stack();
  const TensorView<const float> view(x.data(), shape);
  const Params params = tq::calibrate<Params>(view);
  const auto q = tq::quantize(view, params);
  look(q.bytes());
  look(tq::dequantize(q));
  look(tq::fake_quantize(view, params));
  const auto dynamic = tq::quantize_dynamic<Params>(view);
  look(dynamic.bytes());
}

template <class Params>
void gradients(const std::vector<float>& x, const Shape& shape) {
  give_up_stack();
  const TensorView<const float> view(x.data(), shape);
  const Params params = tq::calibrate<Params>(view);
  std::vector<float> grad(x.size());
  const auto sums =
      tq::fake_quantize_backward(view, params, view, TensorView<float>(grad.data(), shape));
  look(grad);
  look(sums.scale);
  look(sums.offset);
}

template <class Params>
void halves(const std::vector<float>& x, const Shape& shape) {
  give_up_stack();
  std::vector<tq::float16> half(x.begin(), x.end());
  const TensorView<const tq::float16> view(half.data(), shape);
  const Params params = tq::calibrate<Params>(TensorView<const float>(x.data(), shape));
  const auto q = tq::quantize(view, params);
  look(q.bytes());
  tq::dequantize(q, TensorView<tq::float16>(half.data(), shape));
  look(half);
}

template <class T>
void casts(const std::vector<float>& x) {
  give_up_stack();
  const auto codes = tq::cast_to<T>(std::span<const float>(x));
  look(codes);
  look(tq::cast_from<T>(std::span<const typename T::code_type>(codes)));
}

void histograms(const std::vector<float>& x, const Shape& shape) {
  using Params = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  give_up_stack();
  tq::Observer<tq::Histogram, tq::PerChannel<0>> observer;
  observer.observe(TensorView<const float>(x.data(), shape));
  const auto params = tq::calibrate<Params>(observer, tq::MseCalibrator{});
  look(std::vector<float>(params.scales().begin(), params.scales().end()));
}

// Layers of `length` inputs and as many outputs as there are rows.
void products(const std::vector<float>& x, std::size_t rows, std::size_t length) {
  using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  using Grouped = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::Asymmetric>;
  using Codes = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  give_up_stack();
  const TensorView<const float> w(x.data(), {rows, length});
  const std::vector<float> bias(rows, 0.5f);
  std::vector<float> y(rows * rows);
  const TensorView<float> out(y.data(), {rows, rows});
  tq::QuantizedLinear(tq::quantize_dynamic<Weights>(w), bias).forward(w, out);
  look(y);
  tq::GroupedLinear<tq::FloatActivations>(tq::quantize_dynamic<Grouped>(w), bias).forward(w, out);
  look(y);
  tq::GroupedLinear<tq::Int8PerRow>(tq::quantize_dynamic<Grouped>(w), bias).forward(w, out);
  look(y);
  std::vector<std::uint8_t> codes(rows * rows);
  tq::QuantizedLinear(tq::quantize_dynamic<Weights>(w), bias,
                      tq::StaticActivation(Codes(0.05f, 128)), tq::CodeOutput(Codes(0.1f, 128)))
      .forward(w, TensorView<std::uint8_t>(codes.data(), {rows, rows}));
  look(codes);
}

template <class T>
using Tensor = tq::QuantParams<T, tq::PerTensor, tq::Asymmetric>;
template <class T>
using Rows = tq::QuantParams<T, tq::PerChannel<0>, tq::Symmetric>;
template <class T>
using Columns = tq::QuantParams<T, tq::PerChannel<1>, tq::Asymmetric>;
template <class T>
using Groups = tq::QuantParams<T, tq::PerGroup<32>, tq::Symmetric>;

void all(std::size_t rows, std::size_t length) {
  const std::vector<float> x = numbers(rows * length);
  const Shape shape{rows, length};
  there_and_back<Tensor<tq::uint8>>(x, shape);
  there_and_back<Rows<tq::int8>>(x, shape);
  there_and_back<Columns<tq::uint8>>(x, shape);
  there_and_back<Groups<tq::int4>>(x, shape);
  there_and_back<Groups<tq::float8_e4m3fn>>(x, shape);
  there_and_back<tq::nf4_64>(x, shape);
  there_and_back<tq::mxfp4>(x, shape);
  gradients<Rows<tq::int8>>(x, shape);
  gradients<tq::QuantParams<tq::uint4, tq::PerGroup<16>, tq::Asymmetric>>(x, shape);
  halves<Rows<tq::int8>>(x, shape);
  halves<tq::QuantParams<tq::uint4, tq::PerGroup<16>, tq::Asymmetric>>(x, shape);
  casts<tq::float16>(x);
  casts<tq::float8_e5m2>(x);
  casts<tq::float4_e2m1fn>(x);
  histograms(x, shape);
  products(x, rows, length);
}

}  // namespace

int main() {
  for (std::size_t length = 1; length <= 130; ++length)
    for (const std::size_t rows : {std::size_t{1}, std::size_t{3}}) all(rows, length);
  std::printf("%zu bytes that are not 0\n", seen);
}
