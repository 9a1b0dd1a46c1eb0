// SPDX-License-Identifier: MIT
// Integer codes -> float32.

#include "support.hpp"

#include <tq/core/make_params.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

namespace {

using namespace tq_bench;

template <class Params>
Params params_for(std::size_t n) {
  const std::size_t count =
      tq::param_count(typename Params::granularity_type{}, tq::Shape{n / columns, columns});
  return tq::make_params<Params>({}, std::vector<float>(count, 0.03f),
                                 std::vector<std::int32_t>(Params::has_zero_point ? count : 0, 3));
}

template <class Params>
void codes(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  using code = typename Params::code_type;
  const tq::Shape shape{n / columns, columns};
  const auto params = params_for<Params>(n);
  const tq::TensorView<const code> q(reinterpret_cast<const code*>(source()), shape);
  const tq::TensorView<float> y(target<float>(), shape);
  run(state, 4 + sizeof(code), [&] { tq::dequantize_unchecked(q, params, y); });
}

template <class Params>
void packed(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::Shape shape{n / columns, columns};
  tq::QuantizedTensor<Params> q(shape, params_for<Params>(n));
  tq::quantize(tq::ConstTensorView(source(), shape), q);
  const tq::TensorView<float> y(target<float>(), shape);
  run(state, 4 + Params::type::bits / 8.0, [&] { tq::dequantize(q, y); });
}

template <class Granularity, class Symmetry = tq::Symmetric, class Type = tq::int8>
using P = tq::QuantParams<Type, Granularity, Symmetry>;

BENCHMARK(codes<P<tq::PerTensor>>)
    ->Name("dequantize/int8/per_tensor/symmetric")
    ->Apply(sizes_and_row);
BENCHMARK(codes<P<tq::PerTensor, tq::Asymmetric>>)
    ->Name("dequantize/int8/per_tensor/asymmetric")
    ->Apply(sizes);
BENCHMARK(codes<P<tq::PerChannel<-1>>>)
    ->Name("dequantize/int8/per_channel_last/symmetric")
    ->Apply(sizes);
BENCHMARK(codes<P<tq::PerGroup<32>>>)->Name("dequantize/int8/per_group_32/symmetric")->Apply(sizes);
BENCHMARK(packed<P<tq::PerTensor, tq::Symmetric, tq::int4>>)
    ->Name("dequantize/int4/per_tensor/packed")
    ->Apply(sizes);
BENCHMARK(packed<P<tq::PerGroup<32>, tq::Symmetric, tq::int4>>)
    ->Name("dequantize/int4/per_group_32/packed")
    ->Apply(sizes);

}  // namespace
