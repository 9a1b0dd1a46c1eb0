// SPDX-License-Identifier: MIT
// float32 -> integer codes.

#include "support.hpp"

#include <tq/core/make_params.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

namespace {

using namespace tq_bench;

template <class Params>
Params params_for(std::size_t n, typename Params::granularity_type granularity = {}) {
  const tq::Shape shape{n / columns, columns};
  const std::size_t count = tq::param_count(granularity, shape);
  std::vector<float> scales(count);
  for (std::size_t i = 0; i < count; ++i) scales[i] = 0.03f + 1e-5f * static_cast<float>(i % 97);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? count : 0, 3);
  return tq::make_params<Params>(granularity, std::move(scales), std::move(zeros));
}

template <class Params, class Numerics>
void codes(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  using code = typename Params::code_type;
  const auto params = params_for<Params>(n);
  const tq::Shape shape{n / columns, columns};
  const tq::ConstTensorView x(source(), shape);
  const tq::TensorView<code> q(target<code>(), shape);
  run(state, 4 + sizeof(code), [&] { tq::quantize_unchecked(x, params, q, Numerics{}); });
}

template <class Params, class Numerics>
void packed(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::Shape shape{n / columns, columns};
  const tq::ConstTensorView x(source(), shape);
  tq::QuantizedTensor<Params> q(shape, params_for<Params>(n));
  std::memset(q.bytes().data(), 1, q.bytes().size());
  run(state, 4 + Params::type::bits / 8.0, [&] { tq::quantize(x, q, Numerics{}); });
}

template <class Half>
void halves(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::Shape shape{n / columns, columns};
  const tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric> params(0.03f);
  static std::vector<Half> x;
  if (x.size() < n) x.resize(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = Half(source()[i]);
  const tq::TensorView<const Half> view(x.data(), shape);
  const tq::TensorView<std::int8_t> q(target<std::int8_t>(), shape);
  run(state, 3, [&] { tq::quantize(view, params, q); });
}

template <class Params>
void turned(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto rows = static_cast<std::ptrdiff_t>(n / columns);
  const tq::Shape shape{n / columns, columns};
  const auto params = params_for<Params>(n);
  const tq::ConstTensorView x(source(), shape, {1, rows});
  const tq::TensorView<std::int8_t> q(target<std::int8_t>(), shape);
  run(state, 5, [&] { tq::quantize_unchecked(x, params, q); });
}

template <class Params>
void dynamic_rows(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  using code = typename Params::code_type;
  const tq::Shape shape{n / columns, columns};
  const tq::ConstTensorView x(source(), shape);
  const tq::TensorView<code> q(target<code>(), shape);
  std::vector<float> scales(n / columns);
  std::vector<std::int32_t> zeros(Params::has_zero_point ? n / columns : 0);
  run(state, 4 + sizeof(code), [&] {
    tq::quantize_dynamic<Params>(
        x, tq::detail::dynamic_outputs<Params>(q, std::span(scales), std::span(zeros)));
  });
}

template <class Params>
void dynamic_groups(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::Shape shape{n / columns, columns};
  std::vector<float> scales(tq::param_count(typename Params::granularity_type{}, shape));
  std::vector<std::int32_t> zeros(Params::has_zero_point ? scales.size() : 0);
  const std::span<std::byte> bytes(target<std::byte>(), n * Params::type::bits / 8);
  run(state, 4 + Params::type::bits / 8.0, [&] {
    tq::quantize_dynamic<Params>(
        tq::ConstTensorView(source(), shape),
        tq::detail::dynamic_outputs<Params>(bytes, std::span(scales), std::span(zeros)));
  });
}

template <class Granularity, class Symmetry = tq::Symmetric, class Type = tq::int8>
using P = tq::QuantParams<Type, Granularity, Symmetry>;
using Divide = tq::numerics::onnx;
using Reciprocal = tq::numerics::torch;
using tq::Asymmetric;
using tq::PerChannel;
using tq::PerGroup;
using tq::PerTensor;
using tq::PerToken;

#define TQ_ROWS(name, function, params, sizes)                                         \
  BENCHMARK(function<params, Divide>)->Name("quantize/" name "/divide")->Apply(sizes); \
  BENCHMARK(function<params, Reciprocal>)->Name("quantize/" name "/reciprocal")->Apply(sizes)

using Tensor = P<PerTensor>;
using TensorZero = P<PerTensor, Asymmetric>;
using TensorUnsigned = P<PerTensor, Asymmetric, tq::uint8>;
using Axis0 = P<PerChannel<0>>;
using AxisLast = P<PerChannel<-1>>;
using AxisLastZero = P<PerChannel<-1>, Asymmetric>;
using Group32 = P<PerGroup<32>>;
using Int4Tensor = P<PerTensor, tq::Symmetric, tq::int4>;
using Int4Group32 = P<PerGroup<32>, tq::Symmetric, tq::int4>;
using Int2Group32 = P<PerGroup<32>, tq::Symmetric, tq::int2>;

TQ_ROWS("int8/per_tensor/symmetric", codes, Tensor, sizes_and_row);
TQ_ROWS("int8/per_tensor/asymmetric", codes, TensorZero, sizes);
TQ_ROWS("uint8/per_tensor/asymmetric", codes, TensorUnsigned, sizes);
TQ_ROWS("int8/per_channel_0/symmetric", codes, Axis0, sizes);
TQ_ROWS("int8/per_channel_last/symmetric", codes, AxisLast, sizes);
TQ_ROWS("int8/per_channel_last/asymmetric", codes, AxisLastZero, sizes);
TQ_ROWS("int8/per_group_32/symmetric", codes, Group32, sizes);
TQ_ROWS("int4/per_tensor/packed", packed, Int4Tensor, sizes_and_row);
TQ_ROWS("int4/per_group_32/packed", packed, Int4Group32, sizes);
TQ_ROWS("int2/per_group_32/packed", packed, Int2Group32, sizes);

BENCHMARK(halves<tq::float16>)->Name("quantize/int8/per_tensor/of_float16")->Apply(sizes);
BENCHMARK(halves<tq::bfloat16>)->Name("quantize/int8/per_tensor/of_bfloat16")->Apply(sizes);
BENCHMARK(turned<Tensor>)->Name("quantize/int8/per_tensor/turned")->Apply(sizes);
BENCHMARK(turned<Group32>)->Name("quantize/int8/per_group_32/turned")->Apply(sizes);

BENCHMARK(dynamic_rows<P<PerToken>>)
    ->Name("quantize_dynamic/int8/per_token/symmetric")
    ->Apply(sizes_and_row);
BENCHMARK(dynamic_rows<P<PerToken, Asymmetric>>)
    ->Name("quantize_dynamic/int8/per_token/asymmetric")
    ->Apply(sizes_and_row);
BENCHMARK(dynamic_groups<Int4Group32>)
    ->Name("quantize_dynamic/int4/per_group_32/packed")
    ->Apply(sizes);

}  // namespace
