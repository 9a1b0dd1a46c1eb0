// SPDX-License-Identifier: MIT
// Hand-written AVX-512 loops with no tails, no NaN and no special cases: what a kernel could cost
// at best. They need sizes that are multiples of 64 and are no part of the library.

#include "support.hpp"

#include <tq/arch/isa.hpp>  // brings the intrinsics, without g++'s false alarms about them

#if defined(__AVX512BW__)

namespace {

using namespace tq_bench;

struct Params {
  float scale, inverse;
  int zero;
};
constexpr Params params{0.03f, 1.0f / 0.03f, 3};

__attribute__((noinline)) void quantize_int8(const float* x, std::int8_t* y, std::size_t n,
                                             Params p) {
  const __m512 s = _mm512_set1_ps(p.inverse), hi = _mm512_set1_ps(static_cast<float>(127 - p.zero));
  const __m512i zero = _mm512_set1_epi16(static_cast<short>(p.zero));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (std::size_t i = 0; i < n; i += 64) {
    __m512i r[4];
    for (std::size_t k = 0; k < 4; ++k)
      r[k] =
          _mm512_cvtps_epi32(_mm512_min_ps(_mm512_mul_ps(_mm512_loadu_ps(x + i + 16 * k), s), hi));
    const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(r[0], r[1]), zero);
    const __m512i b = _mm512_adds_epi16(_mm512_packs_epi32(r[2], r[3]), zero);
    _mm512_storeu_si512(y + i, _mm512_permutexvar_epi32(order, _mm512_packs_epi16(a, b)));
  }
}

// One scale per element of a row, and one zero point where there are any, re-read for every row.
template <bool Zero>
__attribute__((noinline)) void quantize_int8_last_axis(const float* x, std::int8_t* y,
                                                       std::size_t rows, const float* inverse,
                                                       const std::int32_t* zero) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (std::size_t r = 0; r < rows; ++r, x += columns, y += columns)
    for (std::size_t i = 0; i < columns; i += 64) {
      __m512i v[4];
      for (std::size_t k = 0; k < 4; ++k) {
        v[k] = _mm512_cvtps_epi32(
            _mm512_mul_ps(_mm512_loadu_ps(x + i + 16 * k), _mm512_loadu_ps(inverse + i + 16 * k)));
        if (Zero) v[k] = _mm512_add_epi32(v[k], _mm512_loadu_si512(zero + i + 16 * k));
      }
      const __m512i b =
          _mm512_packs_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
      _mm512_storeu_si512(y + i, _mm512_permutexvar_epi32(order, b));
    }
}

// One scale per 32 elements; the reciprocals of 16 are taken at once.
__attribute__((noinline)) void quantize_int8_group_32(const float* x, std::int8_t* y, std::size_t n,
                                                      const float* scale) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  alignas(64) float inverse[16];
  for (std::size_t i = 0; i < n; i += 64) {
    if (i % 512 == 0)
      _mm512_store_ps(inverse,
                      _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_loadu_ps(scale + i / 32)));
    __m512i v[4];
    for (std::size_t k = 0; k < 4; ++k)
      v[k] = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i + 16 * k),
                                              _mm512_set1_ps(inverse[i / 32 % 16 + k / 2])));
    const __m512i b =
        _mm512_packs_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
    _mm512_storeu_si512(y + i, _mm512_permutexvar_epi32(order, b));
  }
}

__attribute__((noinline)) void dequantize_int8(const std::int8_t* x, float* y, std::size_t n,
                                               Params p) {
  const __m512 s = _mm512_set1_ps(p.scale);
  const __m512i zero = _mm512_set1_epi32(p.zero);
  for (std::size_t i = 0; i < n; i += 16) {
    const __m512i w =
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i)));
    _mm512_storeu_ps(y + i, _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(w, zero)), s));
  }
}

__attribute__((noinline)) void fake_quantize_int8(const float* x, float* y, std::size_t n,
                                                  Params p) {
  const __m512 s = _mm512_set1_ps(p.scale), inverse = _mm512_set1_ps(p.inverse);
  const __m512 hi = _mm512_set1_ps(static_cast<float>(127 - p.zero));
  const __m512 lo = _mm512_set1_ps(static_cast<float>(-128 - p.zero));
  for (std::size_t i = 0; i < n; i += 16) {
    const __m512 v = _mm512_roundscale_ps(_mm512_mul_ps(_mm512_loadu_ps(x + i), inverse),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm512_storeu_ps(y + i, _mm512_mul_ps(_mm512_min_ps(_mm512_max_ps(v, lo), hi), s));
  }
}

void quantize(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  run(state, 5, [&] { quantize_int8(source(), target<std::int8_t>(), n, params); });
}
template <bool Zero>
void quantize_last_axis(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<float> inverse(columns, params.inverse);
  const std::vector<std::int32_t> zero(columns, params.zero);
  run(state, 5, [&] {
    quantize_int8_last_axis<Zero>(source(), target<std::int8_t>(), n / columns, inverse.data(),
                                  zero.data());
  });
}
void quantize_group_32(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<float> scale(n / 32, params.scale);
  run(state, 5, [&] { quantize_int8_group_32(source(), target<std::int8_t>(), n, scale.data()); });
}
void dequantize(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto* q = reinterpret_cast<const std::int8_t*>(source());
  run(state, 5, [&] { dequantize_int8(q, target<float>(), n, params); });
}
void fake_quantize(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  run(state, 8, [&] { fake_quantize_int8(source(), target<float>(), n, params); });
}

BENCHMARK(quantize)->Name("ceiling/quantize/int8/per_tensor/asymmetric/reciprocal")->Apply(sizes);
BENCHMARK(quantize_last_axis<false>)
    ->Name("ceiling/quantize/int8/per_channel_last/symmetric/reciprocal")
    ->Apply(sizes);
BENCHMARK(quantize_last_axis<true>)
    ->Name("ceiling/quantize/int8/per_channel_last/asymmetric/reciprocal")
    ->Apply(sizes);
BENCHMARK(quantize_group_32)
    ->Name("ceiling/quantize/int8/per_group_32/symmetric/reciprocal")
    ->Apply(sizes);
BENCHMARK(dequantize)->Name("ceiling/dequantize/int8/per_tensor")->Apply(sizes);
BENCHMARK(fake_quantize)->Name("ceiling/fake_quantize/int8/per_tensor/reciprocal")->Apply(sizes);

}  // namespace

#endif
