// SPDX-License-Identifier: MIT
// Scales and offsets of ranges against their definitions in double.
#include <tq/core/fit_params.hpp>
#include <tq/core/offsets.hpp>
#include <tq/core/quant_params.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using tq::FloatOffset;

static_assert(tq::OffsetSymmetry<FloatOffset> && !tq::OffsetSymmetry<tq::Asymmetric> &&
              !tq::OffsetSymmetry<int>);
static_assert(tq::SymmetryFor<FloatOffset, tq::uint4> && tq::SymmetryFor<FloatOffset, tq::int16>);
static_assert(!tq::SymmetryFor<FloatOffset, tq::int32> &&
              !tq::SymmetryFor<FloatOffset, tq::float8_e4m3fn>);
static_assert(tq::ScaleTypeFor<float, FloatOffset> && tq::ScaleTypeFor<tq::bfloat16, FloatOffset>);
static_assert(!tq::ScaleTypeFor<tq::DoubleQuantized, FloatOffset> &&
              !tq::ScaleTypeFor<tq::float8_e4m3fn, FloatOffset>);
static_assert(tq::ScaleTypeFor<tq::DoubleQuantized, tq::Asymmetric> &&
              !tq::ScaleTypeFor<double, FloatOffset>);

constexpr float most = std::numeric_limits<float>::max();

// How a number is stored: significant bits, the exponent of the least normal number, the largest
// number.
struct Form {
  int bits, least;
  double most;
};
template <class S>
constexpr Form form{24, -126, static_cast<double>(most)};
template <>
constexpr Form form<tq::float16>{11, -14, 65504};
template <>
constexpr Form form<tq::bfloat16>{8, -126, 0xff.0p120};

// The number of a form nearest to v, ties to even, what is too large the largest.
double rounded(double v, Form f) {
  if (v == 0) return v;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(v), f.least) - f.bits + 1);
  return std::clamp(std::nearbyint(v / unit) * unit, -f.most, f.most);
}
double in_float(double v) { return static_cast<double>(static_cast<float>(v)); }

struct Wanted {
  double scale, offset;
};
// A: whether every step is rounded to float32. Of ranges whose numbers are far from the ends of the
// types.
template <class T, class Stored, bool InFloat>
Wanted wanted(tq::Range r) {
  const auto lo = static_cast<double>(r.min), hi = static_cast<double>(r.max);
  const double steps = static_cast<double>(T::qmax) - T::qmin;
  const double exact = in_float((InFloat ? in_float(hi - lo) : hi - lo) / steps);
  Wanted w{rounded(exact == 0 ? 1 : exact, form<Stored>), 0};
  if (w.scale == 0) w.scale = std::ldexp(1.0, form<Stored>.least - form<Stored>.bits + 1);
  const double product = T::qmin * w.scale;
  w.offset = rounded(
      in_float(hi - lo) < w.scale ? lo : in_float(lo - (InFloat ? in_float(product) : product)),
      form<Stored>);
  return w;
}

float ordinary_end(inputs::Random& r) {
  return static_cast<float>(std::ldexp(1 + r.unit(), r.between(-6, 8)) * (r.chance(50) ? 1 : -1));
}

template <class T, class Stored, class N>
std::string check_ordinary(inputs::Random& r) {
  float a = ordinary_end(r), b = ordinary_end(r);
  if (r.chance(20)) b = inputs::nudge(a, r.between(0, 3));
  if (r.chance(10)) b = 0;
  const tq::Range range{std::min(a, b), std::max(a, b)};
  using Params = tq::QuantParams<T, tq::PerTensor, FloatOffset, Stored>;
  const tq::OffsetAffine got = tq::fit_affine<Params, N>(range);
  const Wanted w = wanted<T, Stored, !std::same_as<N, tq::numerics::exact>>(range);
  if (static_cast<double>(got.scale) == w.scale && static_cast<double>(got.offset) == w.offset)
    return {};
  std::ostringstream text;
  text << std::hexfloat << T::name << " in " << tq::scale_type_name<Stored> << ", [" << range.min
       << ", " << range.max << "]: expected " << w.scale << " and " << w.offset << ", got "
       << got.scale << " and " << got.offset << "\n";
  return text.str();
}

// Whatever the range: parameters are valid, every code decodes to a finite value, and both ends are
// reached, as near as float32 and what is stored allow.
template <class T, class Stored, class N>
std::string check_any(inputs::Random& r) {
  const auto end = [&] {
    switch (r.below(5)) {
      case 0: return inputs::nudge(r.chance(50) ? most : -most, -r.between(0, 3));
      case 1:
        return static_cast<float>(std::ldexp(1 + r.unit(), r.between(120, 127)) *
                                  (r.chance(50) ? 1 : -1));
      case 2:
        return static_cast<float>(std::ldexp(r.unit(), r.between(-149, -120)) *
                                  (r.chance(50) ? 1 : -1));
      case 3: return 0.0f;
      default: {
        const float v = inputs::any_bits(r);
        return std::isfinite(v) ? v : 1.0f;
      }
    }
  };
  float a = end(), b = end();
  if (r.chance(20)) b = inputs::nudge(a, -1);
  const tq::Range range{std::min(a, b), std::max(a, b)};
  const auto scales = tq::Scales<Stored>::template fit<T, FloatOffset, N>({&range, 1});
  const auto offsets = tq::offsets_for<T, FloatOffset, N, Stored>({&range, 1}, scales.values());
  const float scale = scales.values()[0], offset = offsets.values()[0];
  const auto value = [&](std::int32_t code) {
    return static_cast<float>(in_float(static_cast<double>(code) * static_cast<double>(scale)) +
                              static_cast<double>(offset));
  };
  const bool valid = scale > 0 && scale <= most && std::isfinite(offset) &&
                     std::isfinite(value(T::qmin)) && std::isfinite(value(T::qmax));
  if (valid) return {};
  std::ostringstream text;
  text << std::hexfloat << T::name << " in " << tq::scale_type_name<Stored> << ", [" << range.min
       << ", " << range.max << "]: got " << scale << " and " << offset << ", values "
       << value(T::qmin) << " to " << value(T::qmax) << "\n";
  return text.str();
}

template <class T, class Stored, class N>
void check_numerics(inputs::Random& r) {
  std::string failures;
  for (int i = 0; i < 1000; ++i) failures += check_any<T, Stored, N>(r);
  if constexpr (std::same_as<typename N::degenerate_type, tq::ScaleOne>)
    for (int i = 0; i < 1000; ++i) failures += check_ordinary<T, Stored, N>(r);
  INFO(failures.substr(0, 600));
  CHECK(failures.empty());
}
template <class... Ts>
void check_types() {
  inputs::Random r(1);
  const auto each = [&]<class T, class Stored>() {
    check_numerics<T, Stored, tq::numerics::onnx>(r);
    check_numerics<T, Stored, tq::numerics::exact>(r);
    check_numerics<T, Stored, tq::numerics::torch>(r);
  };
  const auto all = [&]<class T>() {
    each.template operator()<T, float>();
    each.template operator()<T, tq::float16>();
    each.template operator()<T, tq::bfloat16>();
  };
  (all.template operator()<Ts>(), ...);
}

}  // namespace

TEST_CASE("scales and offsets of signed codes are those of the definition", "[offsets]") {
  check_types<tq::int8, tq::int4, tq::ternary, tq::int16>();
}

TEST_CASE("scales and offsets of unsigned codes are those of the definition", "[offsets]") {
  check_types<tq::uint4, tq::uint8, tq::uint2, tq::uint5, tq::uint16>();
}

TEST_CASE("ranges that are one number have it as the value of a code", "[offsets]") {
  const auto check = []<class T>(T) {
    for (const float c :
         {1.0f, -1.0f, 0.1f, 3e-3f, -12345.678f, 1e30f, most, -most, 1e-40f, 0.0f}) {
      const auto a = tq::fit_affine<tq::QuantParams<T, tq::PerTensor, FloatOffset>>({c, c});
      CHECK(a == tq::OffsetAffine{1.0f, c});
    }
  };
  check(tq::uint4{});
  check(tq::int8{});
}

TEST_CASE("offsets far from 0 cost no codes", "[offsets]") {
  // 10 to 20 in 16 codes, all of them: an integer zero point would need a range from 0.
  const auto a =
      tq::fit_affine<tq::QuantParams<tq::uint4, tq::PerTensor, FloatOffset>>({10.0f, 20.0f});
  CHECK(a == tq::OffsetAffine{10.0f / 15, 10.0f});
  const auto b =
      tq::fit_affine<tq::QuantParams<tq::uint4, tq::PerTensor, tq::Asymmetric>>({10.0f, 20.0f});
  CHECK(b.scale == 20.0f / 15);
}

TEST_CASE("ranges without a usable scale", "[offsets]") {
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleRaises>;
  using Tenth = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleTenth>;
  using Params = tq::QuantParams<tq::int8, tq::PerTensor, FloatOffset>;
  CHECK(tq::fit_affine<Params, Tenth>({5.0f, 5.0f}) == tq::OffsetAffine{0.1f, 5.0f});
  bool raised = false;
  try {
    (void)tq::fit_affine<Params, Raises>({5.0f, 5.0f});
  } catch (const tq::error& e) {
    raised = e.code() == tq::errc::bad_scale;
  }
  CHECK(raised);
}
