// SPDX-License-Identifier: MIT
// Products of matrices: of int8 into int32, of floats by Eigen beside them, and what the
// multiplication alone reaches.

#include <tq/arch/byte_dot.hpp>
#include <tq/arch/pair_dot.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/core/buffer.hpp>
#include <tq/driver/gemm_tuning.hpp>
#include <tq/interop/openmp.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/matmul_int16.hpp>
#include <tq/linear/quantized_linear.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include "products.hpp"

#include <benchmark/benchmark.h>
#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

template <class T>
std::vector<T> random(std::size_t n) {
  std::mt19937 r(1);
  std::vector<T> out(n);
  for (T& v : out) v = static_cast<T>(static_cast<int>(r() % 255) - 127);
  return out;
}

struct Sizes {
  std::size_t rows, outputs, inputs;
  explicit Sizes(const benchmark::State& state)
      : rows(static_cast<std::size_t>(state.range(0))),
        outputs(static_cast<std::size_t>(state.range(1))),
        inputs(static_cast<std::size_t>(state.range(2))) {}
  [[nodiscard]] std::size_t products() const { return rows * outputs * inputs; }
};

// The range of weights: 8 bits, or 7 bits, which AVX2 also multiplies as bytes.
enum class Range : std::uint8_t { whole, narrow };

template <class X, class Executor>
void integers_by(benchmark::State& state, const Executor& executor, Range range = Range::whole) {
  const Sizes s(state);
  const auto x = random<X>(s.rows * s.inputs);
  auto w = random<std::int8_t>(s.outputs * s.inputs);
  if (range == Range::narrow)
    for (std::int8_t& v : w) v = static_cast<std::int8_t>(v / 2);
  const tq::PackedWeights packed(
      tq::TensorView<const std::int8_t>(w.data(), {s.outputs, s.inputs}));
  std::vector<std::int32_t> y(s.rows * s.outputs);
  for (auto _ : state) {
    tq::matmul_integer(tq::TensorView<const X>(x.data(), {s.rows, s.inputs}), {}, packed,
                       tq::TensorView<std::int32_t>(y.data(), {s.rows, s.outputs}), executor);
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, s.products(), w.size() + x.size());
}

template <class X>
void integers(benchmark::State& state) {
  integers_by<X>(state, tq::serial);
}
template <class X>
void narrow_integers(benchmark::State& state) {
  integers_by<X>(state, tq::serial, Range::narrow);
}
template <class X>
void integers_on_two(benchmark::State& state) {
  integers_by<X>(state, tq::interop::OpenMp{2});
}

void integers_of_16(benchmark::State& state) {
  const Sizes s(state);
  const auto x = random<std::int16_t>(s.rows * s.inputs),
             w = random<std::int16_t>(s.outputs * s.inputs);
  const tq::PackedInt16Weights packed(
      tq::TensorView<const std::int16_t>(w.data(), {s.outputs, s.inputs}));
  std::vector<std::int64_t> y(s.rows * s.outputs);
  for (auto _ : state) {
    tq::matmul_integer(tq::TensorView<const std::int16_t>(x.data(), {s.rows, s.inputs}), {}, packed,
                       tq::TensorView<std::int64_t>(y.data(), {s.rows, s.outputs}));
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, s.products(), 2 * (w.size() + x.size()));
}

void layer(benchmark::State& state) {
  const Sizes s(state);
  const auto x = random<float>(s.rows * s.inputs), w = random<float>(s.outputs * s.inputs);
  using Weights = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  const tq::QuantizedLinear linear(
      tq::quantize_dynamic<Weights>(tq::ConstTensorView(w.data(), {s.outputs, s.inputs})));
  std::vector<float> y(s.rows * s.outputs);
  for (auto _ : state) {
    linear.forward(tq::ConstTensorView(x.data(), {s.rows, s.inputs}),
                   tq::TensorView<float>(y.data(), {s.rows, s.outputs}));
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, s.products(), w.size() + 4 * x.size());
}

void floats(benchmark::State& state) {
  const Sizes s(state);
  const auto x = random<float>(s.rows * s.inputs), w = random<float>(s.outputs * s.inputs);
  const tq::FloatLinear linear(tq::ConstTensorView(w.data(), {s.outputs, s.inputs}));
  std::vector<float> y(s.rows * s.outputs);
  for (auto _ : state) {
    linear.forward(tq::ConstTensorView(x.data(), {s.rows, s.inputs}),
                   tq::TensorView<float>(y.data(), {s.rows, s.outputs}));
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, s.products(), 4 * (s.rows + s.outputs) * s.inputs);
}

void eigen(benchmark::State& state) {
  const Sizes s(state);
  const auto n = [](std::size_t v) { return static_cast<Eigen::Index>(v); };
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix x = Matrix::Random(n(s.rows), n(s.inputs)),
               w = Matrix::Random(n(s.outputs), n(s.inputs));
  Matrix y(n(s.rows), n(s.outputs));
  for (auto _ : state) {
    y.noalias() = x * w.transpose();
    benchmark::ClobberMemory();
  }
  tq_bench::count_products(state, s.products(), 4 * (s.rows + s.outputs) * s.inputs);
}

// Products of registers, without memory: the ceiling of the others.
template <class Dot>
void peak(benchmark::State& state) {
  constexpr std::size_t registers = 12, times = 1000;
  const auto weights = random<std::int8_t>(Dot::depth * Dot::width);
  const auto numbers = random<typename Dot::number>(Dot::depth);
  auto a = Dot::splat(numbers.data());
  const auto b = Dot::load(weights.data());
  typename Dot::sums sums[registers];
  for (auto& s : sums) s = Dot::zero();
  for (auto _ : state)
    for (std::size_t i = 0; i < times; ++i) {
      TQ_UNROLL
      for (std::size_t k = 0; k < registers; ++k) {
        // Products of the same numbers would be made once.
        if constexpr (Dot::width > 1) a = tq::arch::kept(a);
        // g++ moves sums from register to register unless they are kept.
        sums[k] = tq::arch::kept(Dot::add(sums[k], a, b));
      }
    }
  std::int32_t out[registers * Dot::width];
  for (std::size_t k = 0; k < registers; ++k) Dot::store(out + k * Dot::width, sums[k]);
  benchmark::DoNotOptimize(out);
  tq_bench::count_products(state, times * registers * Dot::depth * Dot::width, 0);
}

// The weights of a product, only read: what one row can reach.
template <class Dot>
void read(benchmark::State& state) {
  constexpr std::size_t registers = 8, sums_of_register = Dot::width;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  tq::Buffer<std::int32_t> memory(bytes / 4);
  std::fill_n(memory.data(), memory.size(), 1);
  typename Dot::sums sums[registers];
  for (auto& s : sums) s = Dot::zero();
  for (auto _ : state)
    for (std::size_t i = 0; i + registers * sums_of_register <= memory.size();
         i += registers * sums_of_register) {
      TQ_UNROLL
      for (std::size_t k = 0; k < registers; ++k) {
        const std::int32_t* at = memory.data() + i + k * sums_of_register;
        if (4 * k * sums_of_register % 64 == 0)
          tq::arch::prefetch(at, tq::driver::gemv_bytes_ahead);
        sums[k] = Dot::plus(sums[k], Dot::read(at));
      }
    }
  std::int32_t out[registers * Dot::width];
  for (std::size_t k = 0; k < registers; ++k) Dot::store(out + k * Dot::width, sums[k]);
  benchmark::DoNotOptimize(out);
  tq_bench::count_products(state, bytes, bytes);
}

using pairs = tq::arch::pair_dot<tq::arch::native>;
using best = tq::arch::best_dot<tq::arch::native>;

BENCHMARK(peak<pairs>)->Name("matmul/peak/pairs/12000");
BENCHMARK(peak<best>)->Name("matmul/peak/best/12000");
BENCHMARK(read<best>)->Name("matmul/read")->Arg(4096 * 4096)->Arg(10 << 20);
BENCHMARK(integers<std::uint8_t>)
    ->Name("matmul/uint8_int8")
    ->Args({1024, 1024, 1024})
    ->Args({128, 1024, 1024})
    ->Args({1, 4096, 4096});
BENCHMARK(narrow_integers<std::uint8_t>)
    ->Name("matmul/uint8_int7")
    ->Args({1024, 1024, 1024})
    ->Args({1, 4096, 4096});
BENCHMARK(integers_on_two<std::uint8_t>)
    ->Name("matmul/uint8_int8/two_threads")
    ->Args({1024, 1024, 1024})
    ->UseRealTime();
BENCHMARK(integers<std::int8_t>)
    ->Name("matmul/int8_int8")
    ->Args({1024, 1024, 1024})
    ->Args({1, 4096, 4096});
BENCHMARK(integers_of_16)
    ->Name("matmul/int16_int16")
    ->Args({1024, 1024, 1024})
    ->Args({1, 4096, 4096});
BENCHMARK(layer)
    ->Name("linear/int8_dynamic/float32")
    ->Args({1024, 1024, 1024})
    ->Args({1, 512, 512})
    ->Args({1, 4096, 4096});
BENCHMARK(floats)
    ->Name("matmul/float32/tq")
    ->Args({1024, 1024, 1024})
    ->Args({128, 1024, 1024})
    ->Args({1, 512, 512})
    ->Args({1, 4096, 4096});
BENCHMARK(eigen)
    ->Name("matmul/float32/eigen")
    ->Args({1024, 1024, 1024})
    ->Args({128, 1024, 1024})
    ->Args({1, 512, 512})
    ->Args({1, 4096, 4096});

}  // namespace
