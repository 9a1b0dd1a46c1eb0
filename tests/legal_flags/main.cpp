// SPDX-License-Identifier: MIT
// The bits of kernels against scalar formulas, under flags that programs may legally be built with.
#include <tq/core/formats.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace {

int failures = 0;

void check(bool holds, const char* operation, std::string_view type, double input) {
  if (holds) return;
  std::printf("%s %s: wrong for %g\n", operation, std::string(type).c_str(), input);
  ++failures;
}

std::vector<float> values() {
  std::vector<float> out{0.0f, -0.0f, 0.5f, 1.5f, 2.5f, 3.0f, 1e-3f, 448.0f, 1e30f, 1e-40f};
  for (const float x : std::vector<float>(out)) out.push_back(-x);
  std::uint32_t state = 1;
  for (int i = 0; i < 200; ++i) {
    state = state * 1664525u + 1013904223u;
    out.push_back((static_cast<float>(state >> 8) / 8388608.0f - 1) * static_cast<float>(i));
  }
  return out;
}

template <class T>
void casts() {
  using code = typename T::code_type;
  std::vector<code> codes;
  for (std::uint32_t c = 0; c < (1u << T::format::bits); ++c) codes.push_back(static_cast<code>(c));
  const std::vector<float> decoded = tq::cast_from<T>(std::span<const code>(codes));
  for (std::size_t c = 0; c < codes.size(); ++c) {
    const float expected = T::format::decode(static_cast<std::uint32_t>(c));
    check(std::bit_cast<std::uint32_t>(decoded[c]) == std::bit_cast<std::uint32_t>(expected) ||
              (std::isnan(decoded[c]) && std::isnan(expected)),
          "cast_from", T::name, static_cast<double>(c));
  }
  const std::vector<float> x = values();
  const std::vector<code> encoded = tq::cast_to<T>(std::span<const float>(x));
  for (std::size_t i = 0; i < x.size(); ++i)
    check(encoded[i] == static_cast<code>(
                            T::format::template encode<tq::Saturate>(x[i], tq::NearestEven{}, 0)),
          "cast_to", T::name, static_cast<double>(x[i]));
}

template <class T>
void integers(float scale, std::int32_t zero_point) {
  using Params = tq::QuantParams<T, tq::PerTensor, tq::Asymmetric>;
  const Params params = Params(scale, zero_point);
  const std::vector<float> x = values();
  const auto q = tq::quantize(std::span<const float>(x), params);
  const std::vector<float> back = tq::dequantize(q);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float rounded = std::nearbyint(x[i] / scale) + static_cast<float>(zero_point);
    const auto code = static_cast<std::int32_t>(
        std::clamp(rounded, static_cast<float>(T::qmin), static_cast<float>(T::qmax)));
    check(back[i] == static_cast<float>(code - zero_point) * scale, "quantize", T::name,
          static_cast<double>(x[i]));
  }
}

}  // namespace

int main() {
  casts<tq::float16>();
  casts<tq::bfloat16>();
  casts<tq::float8_e4m3fn>();
  casts<tq::float8_e5m2>();
  casts<tq::float8_e4m3fnuz>();
  casts<tq::float8_e5m2fnuz>();
  casts<tq::float6_e2m3fn>();
  casts<tq::float6_e3m2fn>();
  casts<tq::float4_e2m1fn>();
  casts<tq::float8_e8m0fnu>();
  integers<tq::int8>(0.37f, 3);
  integers<tq::uint4>(1.25f, 9);
  return failures == 0 ? 0 : 1;
}
