// SPDX-License-Identifier: MIT
#include <tq/core/detail/scale_limits.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/quant_params.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/extremes.hpp"

namespace {

using tq::Asymmetric, tq::Symmetric, tq::SymmetricHalf, tq::SymmetricNarrow;
constexpr float biggest = extremes::biggest;
constexpr float tiny = extremes::least;

template <class Scale, class T, class S, class N = tq::numerics::onnx>
float scale(tq::Range r) {
  const std::vector<tq::Range> ranges{r};
  return tq::Scales<Scale>::template fit<T, S, N>(ranges).values()[0];
}

// By definition: the product as a real number, rounded to float32, of both ends.
template <class T, class S>
bool ends_are_finite(float s, std::int32_t zero_point) {
  double low, high;
  if constexpr (tq::CodedElement<T>) {
    high = static_cast<double>(T::format::max_finite);
    low = -high;
  } else {
    low = static_cast<double>(S::template codes<T>().min) - zero_point;
    high = static_cast<double>(S::template codes<T>().max) - zero_point;
  }
  return std::isfinite(static_cast<float>(low * static_cast<double>(s))) &&
         std::isfinite(static_cast<float>(high * static_cast<double>(s)));
}

// Ranges up to the largest float on one side, or on both.
template <class Scale, class T, class S>
void check_ends() {
  inputs::Random r(11);
  std::vector<tq::Range> ranges{
      {-biggest, biggest}, {-biggest, 0}, {0, biggest}, {-biggest, 1}, {-0x1.fep127f, 0x1.fep127f}};
  for (int i = 0; i < 400; ++i) {
    const float big =
        inputs::nudge(biggest, -static_cast<int>(r.below(r.chance(50) ? 40 : 0x1000000)));
    const auto other = static_cast<float>(static_cast<double>(big) * r.unit());
    ranges.push_back(r.chance(50) ? tq::Range{-big, other} : tq::Range{-other, big});
  }
  const auto scales = tq::Scales<Scale>::template fit<T, S, tq::numerics::onnx>(ranges);
  const auto zeros = tq::detail::zero_points_for<T, S, tq::numerics::onnx>(ranges, scales.values());
  int failed = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    failed += !(scales.values()[i] > 0) ||
              !ends_are_finite<T, S>(scales.values()[i], S::has_zero_point ? zeros[i] : 0);
  INFO(T::name << " " << S::name << " scaled by " << tq::scale_type_name<Scale>);
  CHECK(failed == 0);
}

template <class T, class S>
void check_scales() {
  check_ends<float, T, S>();
  check_ends<tq::bfloat16, T, S>();
  check_ends<tq::float8_e8m0fnu, T, S>();
  check_ends<tq::TwoLevel<tq::float8_e4m3fn>, T, S>();
  check_ends<tq::DoubleQuantized, T, S>();
}

}  // namespace

TEST_CASE("the scale of a stored code is the nearest with which both ends are finite",
          "[scale_limits]") {
  const tq::Range all{-biggest, biggest};
  // -128 s: below 2^121; -127 s and -2 s likewise. In steps of bfloat16, and of powers of two.
  CHECK(scale<tq::bfloat16, tq::int8, Symmetric>(all) == 0x1.fep120f);
  CHECK(scale<tq::bfloat16, tq::int8, SymmetricNarrow>(all) == 0x1.02p121f);
  CHECK(scale<tq::bfloat16, tq::int2, Symmetric>(all) == 0x1.fep126f);
  CHECK(scale<tq::bfloat16, tq::int2, SymmetricNarrow>(all) == 0x1.fep127f);
  CHECK(scale<tq::float8_e8m0fnu, tq::int8, Symmetric>(all) == 0x1p120f);
  CHECK(scale<tq::float8_e8m0fnu, tq::int8, SymmetricNarrow>(all) == 0x1p121f);
  CHECK(scale<tq::float8_e8m0fnu, tq::fixed8, Symmetric>(all) == 0x1p127f);
  CHECK(scale<tq::bfloat16, tq::bfloat16, Symmetric>(all) == 1.0f);  // the next is 1.0078
  CHECK(scale<tq::bfloat16, tq::uint8, Asymmetric>(all) ==
        0x1.fcp120f);  // 129 codes below 0; of 0x1.fep120 they overflow
  CHECK(scale<tq::bfloat16, tq::uint8, Asymmetric>({0, biggest}) ==
        0x1p120f);  // 255 above; 2^120.006 is 0x1.01p120
  CHECK(scale<tq::float16, tq::int8, Symmetric>(all) == 65504.0f);
  check_scales<tq::int2, Symmetric>();
  check_scales<tq::int8, Symmetric>();
  check_scales<tq::int8, SymmetricNarrow>();
  check_scales<tq::int8, SymmetricHalf>();
  check_scales<tq::uint2, Asymmetric>();
  check_scales<tq::uint8, Asymmetric>();
  check_scales<tq::int16, Asymmetric>();
  check_scales<tq::float16, Symmetric>();
  check_scales<tq::bfloat16, Symmetric>();
  check_scales<tq::float4_e2m1fn, Symmetric>();
  check_scales<tq::iq4_nl, Symmetric>();
  check_scales<tq::nf4, Symmetric>();
}

TEST_CASE("where no code means 0, what rounds to the scale 0 has it", "[scale_limits]") {
  const tq::Range block{-1e-9f, 1e-9f};  // of iq4_nl: 7.9e-12, and float16 begins at 2^-24
  CHECK(scale<tq::float16, tq::iq4_nl, Symmetric>(block) == 0.0f);
  CHECK(scale<tq::float16, tq::nf4, Symmetric>(block) == 0x1p-24f);  // whose values become 0
  CHECK(scale<tq::float16, tq::int8, Symmetric>(block) == 0x1p-24f);
  CHECK(scale<tq::float16, tq::binary, Symmetric>({-0x1p-25f, 0x1p-25f}) ==
        0.0f);  // a tie, to even
  CHECK(scale<tq::float16, tq::binary, Symmetric>({-0x1.01p-25f, 0x1p-25f}) == 0x1p-24f);
  CHECK(scale<tq::float8_e4m3fn, tq::iq4_nl, Symmetric>({-0.1f, 0.1f}) == 0.0f);
  CHECK(scale<tq::bfloat16, tq::binary, Symmetric>({-tiny, tiny}) == 0.0f);
  using Normal = tq::TwoLevel<tq::float8_e4m3fn, tq::BlockScales::normal>;
  const std::vector<tq::Range> beside{{-1, 1}, block, {0, 0}};
  for (const std::size_t i : {1u, 2u}) {
    CHECK(tq::Scales<Normal>::fit<tq::binary, Symmetric, tq::numerics::onnx>(beside).values()[i] ==
          0.0f);
    CHECK(
        tq::Scales<tq::TwoLevel<tq::float8_e4m3fn>>::fit<tq::binary, Symmetric, tq::numerics::onnx>(
            beside)
            .values()[i] == 0.0f);
    CHECK(tq::Scales<tq::DoubleQuantized>::fit<tq::binary, Symmetric, tq::numerics::onnx>(beside)
              .values()[i] == 0.0f);
    CHECK(tq::Scales<Normal>::fit<tq::float4_e2m1fn, Symmetric, tq::numerics::onnx>(beside)
              .values()[i] > 0);
  }
  CHECK(tq::Scales<tq::DoubleQuantized>::fit<tq::binary, Symmetric, tq::numerics::onnx>(beside)
            .offset() == 0.0f);
}

TEST_CASE("scales that values are multiplied by the reciprocal of have a finite one",
          "[scale_limits]") {
  using tq::numerics::bitsandbytes;
  const tq::Range block{-1e-39f, 1e-39f};
  const float least = 0x1.000008p-128f;
  CHECK(tq::scale_rules<tq::int8, Symmetric, bitsandbytes>.least == least);
  CHECK(std::isinf(1.0f / 0x1p-128f));
  CHECK(std::isfinite(1.0f / least));
  CHECK(tq::scale_rules<tq::int8, Symmetric, tq::numerics::onnx>.least == tiny);
  CHECK(scale<tq::bfloat16, tq::nf4, Symmetric, bitsandbytes>(block) == 0.0f);
  using Two = tq::TwoLevel<tq::float8_e4m3fn>;
  CHECK(scale<Two, tq::int8, Symmetric, bitsandbytes>(block) >= least);
  CHECK(scale<Two, tq::float4_e2m1fn, Symmetric, bitsandbytes>(block) == 0.0f);
  const std::vector<tq::Range> ranges{
      {-1, 1}, {-2, 2}, {-1e-30f, 1e-30f}, {-1, 1}};  // the mean lies above most
  const auto doubled =
      tq::Scales<tq::DoubleQuantized>::fit<tq::int8, Symmetric, bitsandbytes>(ranges);
  for (const float s : doubled.values()) CHECK(s >= least);
}

TEST_CASE("the next smaller and the next larger code", "[scale_limits]") {
  using F = tq::float16::format;
  using Map = tq::dynamic8::format;
  CHECK(tq::detail::code_below<F>(5) == 4u);
  CHECK(tq::detail::code_below<F>(0) == 0u);
  CHECK(tq::detail::code_above<F>(F::max_code - 1) == F::max_code);
  CHECK(tq::detail::code_above<F>(F::max_code) == F::max_code);
  CHECK(tq::detail::code_above<tq::ExponentFormat>(254) == 254u);
  for (std::uint32_t c = 0; c < 255; ++c) {
    CHECK(tq::detail::code_below<Map>(tq::detail::code_above<Map>(c)) == c);
    CHECK(Map::decode(tq::detail::code_above<Map>(c)) > Map::decode(c));
  }
}
