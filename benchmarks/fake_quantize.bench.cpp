// SPDX-License-Identifier: MIT
// float32 -> the float32 its code stands for.

#include "support.hpp"

#include <tq/core/make_params.hpp>
#include <tq/ops/fake_quantize.hpp>

namespace {

using namespace tq_bench;

template <class Params, class Numerics>
void values(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::Shape shape{n / columns, columns};
  const std::size_t count = tq::param_count(typename Params::granularity_type{}, shape);
  const auto params =
      tq::make_params<Params>({}, std::vector<float>(count, 0.03f),
                              std::vector<std::int32_t>(Params::has_zero_point ? count : 0, 3));
  const tq::ConstTensorView x(source(), shape);
  const tq::TensorView<float> y(target<float>(), shape);
  run(state, 8, [&] { tq::fake_quantize_unchecked(x, params, y, Numerics{}); });
}

using Tensor = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
using AxisLast = tq::QuantParams<tq::int8, tq::PerChannel<-1>, tq::Symmetric>;
using Divide = tq::numerics::onnx;
using Reciprocal = tq::numerics::torch;

BENCHMARK(values<Tensor, Divide>)
    ->Name("fake_quantize/int8/per_tensor/asymmetric/divide")
    ->Apply(sizes_and_row);
BENCHMARK(values<Tensor, Reciprocal>)
    ->Name("fake_quantize/int8/per_tensor/asymmetric/reciprocal")
    ->Apply(sizes);
BENCHMARK(values<AxisLast, Divide>)
    ->Name("fake_quantize/int8/per_channel_last/symmetric/divide")
    ->Apply(sizes);
BENCHMARK(values<AxisLast, Reciprocal>)
    ->Name("fake_quantize/int8/per_channel_last/symmetric/reciprocal")
    ->Apply(sizes);

}  // namespace
