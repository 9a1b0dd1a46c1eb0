// SPDX-License-Identifier: MIT
// float32 <-> small floats, code books and block formats.

#include "support.hpp"

#include <tq/core/formats.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <cmath>

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace {

using namespace tq_bench;

template <class T>
void cast_to(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  using code = typename T::code_type;
  run(state, 4 + sizeof(code),
      [&] { tq::cast_to<T>(std::span(source(), n), std::span(target<code>(), n)); });
}

template <class T>
void cast_from(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  using code = typename T::code_type;
  static const Pages<code> codes(static_cast<std::size_t>(in_memory), 0);
  tq::cast_to<T>(std::span(source(), n), std::span(codes.data(), n));
  run(state, 4 + sizeof(code), [&] {
    tq::cast_from<T>(std::span<const code>(codes.data(), n), std::span(target<float>(), n));
  });
}

// Bytes of codes and stored scales per element.
template <class Params>
double stored_bytes(const tq::QuantizedTensor<Params>& q) {
  return static_cast<double>(q.bytes().size() +
                             q.params().scales().size() *
                                 sizeof(tq::detail::stored_scale<typename Params::scale_type>)) /
         static_cast<double>(q.size());
}

// Scales and packed codes.
template <class Params>
void quantize(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::ConstTensorView x(source(), {n / columns, columns});
  auto q = tq::quantize_dynamic<Params>(x);
  std::vector<typename tq::Scales<typename Params::scale_type>::stored_type> scales(
      q.params().scales().size());
  // Into memory made before; scales on two levels with the tensor's, which is found first.
  if constexpr (requires { tq::tensor_scale<Params>(x); })
    run(state, 4 + stored_bytes(q), [&] {
      tq::quantize_dynamic<Params>(x, {.codes = q.bytes(),
                                       .scales = std::span(scales),
                                       .tensor_scale = tq::tensor_scale<Params>(x)});
    });
  else
    run(state, 4 + stored_bytes(q), [&] {
      tq::quantize_dynamic<Params>(x, {.codes = q.bytes(), .scales = std::span(scales)});
    });
}

template <class Params>
void dequantize(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const tq::Shape shape{n / columns, columns};
  const auto q = tq::quantize_dynamic<Params>(tq::ConstTensorView(source(), shape));
  const tq::TensorView<float> out(target<float>(), shape);
  run(state, 4 + stored_bytes(q), [&] { tq::dequantize(q, out); });
}

// The usual loop by hand: the nearest of 16 entries, one value after the other.
void nf4_search(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  constexpr auto& values = tq::codebooks::nf4::values;
  run(state, 5, [&] {
    const float* x = source();
    auto* out = target<std::uint8_t>();
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t best = 0;
      for (std::size_t k = 1; k < values.size(); ++k)
        if (std::abs(x[i] - values[k]) < std::abs(x[i] - values[best])) best = k;
      benchmark::DoNotOptimize(best);  // not many values at a time
      out[i] = static_cast<std::uint8_t>(best);
    }
  });
}

BENCHMARK(cast_to<tq::float16>)->Name("cast/float16")->Apply(sizes);
BENCHMARK(cast_to<tq::bfloat16>)->Name("cast/bfloat16")->Apply(sizes);
BENCHMARK(cast_to<tq::float8_e4m3fn>)->Name("cast/float8_e4m3fn")->Apply(sizes);
BENCHMARK(cast_to<tq::float8_e5m2>)->Name("cast/float8_e5m2")->Apply(sizes);
BENCHMARK(cast_to<tq::float4_e2m1fn>)->Name("cast/float4_e2m1fn/unpacked")->Apply(sizes);
BENCHMARK(cast_to<tq::nf4>)->Name("cast/nf4/unpacked")->Apply(sizes);
BENCHMARK(cast_to<tq::dynamic8>)->Name("cast/dynamic8")->Apply(sizes);
BENCHMARK(nf4_search)->Name("nearest/nf4/scalar_search")->Apply(sizes);
BENCHMARK(cast_from<tq::float16>)->Name("cast_from/float16")->Apply(sizes);
BENCHMARK(cast_from<tq::bfloat16>)->Name("cast_from/bfloat16")->Apply(sizes);
BENCHMARK(cast_from<tq::float8_e4m3fn>)->Name("cast_from/float8_e4m3fn")->Apply(sizes);
BENCHMARK(cast_from<tq::float8_e5m2>)->Name("cast_from/float8_e5m2")->Apply(sizes);
BENCHMARK(quantize<tq::mxfp8_e4m3>)->Name("quantize_dynamic/mxfp8_e4m3")->Apply(sizes);
BENCHMARK(quantize<tq::mxfp4>)->Name("quantize_dynamic/mxfp4")->Apply(sizes);
BENCHMARK(quantize<tq::nvfp4>)->Name("quantize_dynamic/nvfp4")->Apply(sizes);
BENCHMARK(quantize<tq::nf4_64>)->Name("quantize_dynamic/nf4")->Apply(sizes);
BENCHMARK(dequantize<tq::mxfp8_e4m3>)->Name("dequantize/mxfp8_e4m3")->Apply(sizes);
BENCHMARK(dequantize<tq::mxfp4>)->Name("dequantize/mxfp4")->Apply(sizes);
BENCHMARK(dequantize<tq::nvfp4>)->Name("dequantize/nvfp4")->Apply(sizes);
BENCHMARK(dequantize<tq::nf4_64>)->Name("dequantize/nf4")->Apply(sizes);

#if defined(__AVX512BW__)
// Hand-written loops with no tails, no NaN and no overflow: what a cast could cost at best.
void float16_ceiling(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  run(state, 6, [x = source(), out = target<std::uint16_t>(), n] {
    for (std::size_t i = 0; i < n; i += 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                          _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  });
}
void bfloat16_ceiling(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
#if defined(__AVX512BF16__)
  const auto rounded = [](const float* x) {
    return reinterpret_cast<__m512i>(
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x)));
  };
#else
  const auto high = [](const float* x) {
    const __m512i v = _mm512_loadu_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(v, 16), _mm512_set1_epi32(1));
    return _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(v, odd), _mm512_set1_epi32(0x7fff)),
                             16);
  };
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  const auto rounded = [&](const float* x) {
    return _mm512_permutexvar_epi64(order, _mm512_packus_epi32(high(x), high(x + 16)));
  };
#endif
  run(state, 6, [&rounded, x = source(), out = target<std::uint16_t>(), n] {
    for (std::size_t i = 0; i < n; i += 32) _mm512_storeu_si512(out + i, rounded(x + i));
  });
}
BENCHMARK(float16_ceiling)->Name("ceiling/cast/float16")->Apply(sizes);
BENCHMARK(bfloat16_ceiling)->Name("ceiling/cast/bfloat16")->Apply(sizes);
#endif

}  // namespace
