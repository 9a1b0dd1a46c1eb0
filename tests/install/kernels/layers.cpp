// SPDX-License-Identifier: MIT
// The layers of a program that links the kernel library run the products of its table, bit for bit
// those of the scalar reference; sums of floats, on x86 without FMA, those of the program's own
// instruction set.
#include <tq/core/formats.hpp>
#include <tq/linear.hpp>
#include <tq/ops/backend/native_backend.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cstddef>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <vector>

static_assert(std::is_same_v<tq::default_arch, tq::kernel_library::Running>);

namespace {

constexpr std::size_t outputs = 70, inputs = 50;

std::vector<float> numbers(std::size_t n, std::size_t factor) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = float(i * factor % 4001) / 2000 - 1;
  return out;
}

template <class Params>
auto weights() {
  return tq::quantize_dynamic<Params>(
      tq::ConstTensorView(numbers(outputs * inputs, 7919).data(), {outputs, inputs}));
}

// True if the layer gives the floats of `Arch`, for one row and for several.
template <class Arch, class Layer>
bool equals(const Layer& layer) {
  bool same = true;
  for (const std::size_t rows : {1u, 9u}) {
    const auto x = numbers(rows * inputs, 104729);
    std::vector<float> y(rows * outputs), expected(y.size());
    const tq::ConstTensorView input(x.data(), {rows, inputs});
    layer.forward(input, tq::TensorView<float>(y.data(), {rows, outputs}));
    layer.template forward<Arch>(input, tq::TensorView<float>(expected.data(), {rows, outputs}));
    same = same && y == expected && y[0] != 0;
  }
  return same;
}

template <int Bits>
bool embedding_equals() {
  const tq::QuantizedEmbedding<Bits> table(
      tq::ConstTensorView(numbers(outputs * inputs, 7919).data(), {outputs, inputs}));
  const std::vector<int> rows{3, 69, 0, 3}, bags{0, 3};
  std::vector<float> y(2 * inputs), expected(y.size());
  table.bag(rows, bags, tq::TensorView<float>(y.data(), {2, inputs}));
  table.template bag<tq::arch::scalar>(rows, bags,
                                       tq::TensorView<float>(expected.data(), {2, inputs}));
  return y == expected && y[0] != 0;
}

template <class Params, class Activations>
tq::GroupedLinear<Activations> grouped() {
  return tq::GroupedLinear<Activations>(weights<Params>());
}

int failed(const char* layer) {
  std::printf("%s by %s gives other numbers\n", layer, tq::kernel_library::table().isa);
  return 1;
}

// Layers whose sums are of floats.
template <class Arch>
int check_floats() {
  using Plain = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  using Wide = tq::QuantParams<tq::uint8, tq::PerGroup<16>, tq::Asymmetric>;
  if (!equals<Arch>(grouped<Plain, tq::FloatActivations>())) return failed("int4 by float");
  if (!equals<Arch>(grouped<Wide, tq::FloatActivations>())) return failed("uint8 by float");
  if (!equals<Arch>(grouped<tq::nf4_64, tq::FloatActivations>())) return failed("nf4 by float");
  const auto w = numbers(outputs * inputs, 7919);
  const tq::FloatLinear floats(tq::ConstTensorView(w.data(), {outputs, inputs}));
  return equals<Arch>(floats) ? 0 : failed("FloatLinear");
}

}  // namespace

int main() {
  using Scalar = tq::arch::scalar;
  using Channels = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  using Plain = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  using Wide = tq::QuantParams<tq::uint8, tq::PerGroup<16>, tq::Asymmetric>;
  if (!equals<Scalar>(tq::QuantizedLinear(weights<Channels>()))) return failed("QuantizedLinear");
  if (!equals<Scalar>(grouped<Plain, tq::Int8PerRow>())) return failed("int4 by int8");
  if (!equals<Scalar>(grouped<Wide, tq::Int8PerGroup>())) return failed("uint8 by int8");
  if (!equals<Scalar>(grouped<tq::mxfp4, tq::Int8PerRow>())) return failed("mxfp4 by int8");
  if (!embedding_equals<8>() || !embedding_equals<4>() || !embedding_equals<2>())
    return failed("QuantizedEmbedding");
  const bool has_fma = std::string_view(tq::kernel_library::table().isa).substr(0, 3) != "sse";
  return has_fma ? check_floats<Scalar>() : check_floats<tq::arch::native>();
}
