// SPDX-License-Identifier: MIT
// From a range to scale and zero point: every element, symmetry and numerics against formulas
// written out step by step.

#include <tq/core/affine_for.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/kernels/reference.hpp>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

constexpr float most = std::numeric_limits<float>::max();
constexpr float inf = std::numeric_limits<float>::infinity();

// Whose formulas; `ours` is in double.
enum class Peer { onnx, torch, ours };
enum class Kind { symmetric, half, half_down, asymmetric };

struct Scheme {
  std::string name;
  tq::Affine (*fit)(tq::Range);
  Kind kind;
  Peer peer;
  bool divides;                     // or multiplies by the reciprocal
  std::int64_t qmin, qmax, lowest;  // of the type, and the lowest code of the symmetry
};

// One float32 operation each.
float minus(float a, float b) {
  volatile float r = a - b;
  return r;
}
float over(float a, float b) {
  volatile float r = a / b;
  return r;
}
float nearest(float a) {
  volatile float r = std::nearbyint(a);
  return r;
}

float unless_unusable(const Scheme& s, float scale) {
  if (s.peer == Peer::torch) return scale > 0x1p-23f ? scale : 0x1p-23f;
  if (!(scale > 0) || (!s.divides && std::isinf(1.0f / scale))) return 1.0f;
  return scale;
}

struct Expected {
  float scale;
  double zero_point;
};

// The scale of a symmetric scheme; of int32 torch and onnx round 2^31 - 1 to float.
Expected symmetric(const Scheme& s, tq::Range r) {
  const bool one_sided = s.kind == Kind::symmetric && s.qmin == 0;
  const float top = std::max({one_sided ? 0.0f : -r.min, r.max, 0.0f});
  const double steps = s.kind == Kind::symmetric ? static_cast<double>(s.qmax)
                                                 : static_cast<double>(s.qmax - s.qmin) / 2;
  const float scale = s.peer == Peer::ours ? static_cast<float>(static_cast<double>(top) / steps)
                                           : over(top, static_cast<float>(steps));
  double zero = 0;
  if (s.qmin == 0 && s.kind == Kind::half) zero = static_cast<double>((s.qmax + 1) / 2);
  if (s.qmin == 0 && s.kind == Kind::half_down) zero = static_cast<double>(s.qmax / 2);
  return {unless_unusable(s, scale), zero};
}

Expected asymmetric(const Scheme& s, tq::Range r) {
  const float lo = std::min(r.min, 0.0f), hi = std::max(r.max, 0.0f);
  const auto qmin = static_cast<double>(s.qmin), qmax = static_cast<double>(s.qmax),
             steps = qmax - qmin;
  const auto clamped = [&](double z) { return std::min(std::max(z, qmin), qmax); };
  if (s.peer == Peer::ours) {
    const double width = static_cast<double>(hi) - static_cast<double>(lo);
    const float scale = unless_unusable(s, static_cast<float>(width / steps));
    return {scale,
            clamped(std::nearbyint(qmin - static_cast<double>(lo) / static_cast<double>(scale)))};
  }
  // Where the width overflows peers have no scale; half of it does not.
  const auto n = static_cast<float>(steps);
  const bool fits = std::isfinite(minus(hi, lo));
  const float scale =
      unless_unusable(s, fits ? over(minus(hi, lo), n) : over(minus(hi / 2, lo / 2), n / 2));
  if (s.peer == Peer::torch)
    return {scale, clamped(qmin - static_cast<double>(nearest(over(lo, scale))))};
  return {scale,
          clamped(static_cast<double>(nearest(minus(static_cast<float>(qmin), over(lo, scale)))))};
}

Expected expected(const Scheme& s, tq::Range r) {
  return s.kind == Kind::asymmetric ? asymmetric(s, r) : symmetric(s, r);
}

// float(q - z) * s at the end of the codes that is further from z.
bool ends_are_finite(const Scheme& s, float scale, double zero) {
  for (const std::int64_t q : {s.lowest, s.qmax}) {
    volatile float value = static_cast<float>(static_cast<double>(q) - zero) * scale;
    if (!std::isfinite(value)) return false;
  }
  return true;
}

// Empty, or what is wrong.
std::string check(const Scheme& s, tq::Range r) {
  const tq::Affine got = s.fit(r);
  if (!(got.scale > 0) || !std::isfinite(got.scale)) return "the scale is none";
  if (got.zero_point < s.qmin || got.zero_point > s.qmax) return "the zero point is no code";
  if (!ends_are_finite(s, got.scale, got.zero_point)) return "an end is infinite";
  const Expected e = expected(s, r);
  if (s.qmax > 65535 &&
      s.kind ==
          Kind::asymmetric) {  // no peer has zero points of int32, which float32 does not hold
    if (std::fabs(got.scale - e.scale) > 1e-6f * e.scale) return "a scale far from the quotient";
    return std::fabs(got.zero_point - e.zero_point) > 2048 ? "a zero point far from the quotient"
                                                           : "";
  }
  if (ends_are_finite(s, e.scale, e.zero_point)) {
    if (got.scale != e.scale) return "another scale than that of the peer";
    return got.zero_point != e.zero_point ? "another zero point than that of the peer" : "";
  }
  // The exception: the largest scale that keeps the ends finite under the zero point of the range.
  if (!(got.scale < e.scale)) return "a larger scale than that of the peer";
  if (ends_are_finite(s, std::nextafter(got.scale, inf), e.zero_point))
    return "not the largest finite scale";
  return std::fabs(got.zero_point - e.zero_point) > 1 ? "a zero point far from that of the peer"
                                                      : "";
}

template <class N>
constexpr Peer peer_of =
    std::is_same_v<typename N::range_arithmetic, tq::RangeInDouble>            ? Peer::ours
    : std::is_same_v<typename N::range_arithmetic, tq::RangeInFloatRoundFirst> ? Peer::torch
                                                                               : Peer::onnx;
template <class S>
constexpr Kind kind_of = std::is_same_v<S, tq::Asymmetric>          ? Kind::asymmetric
                         : std::is_same_v<S, tq::SymmetricHalf>     ? Kind::half
                         : std::is_same_v<S, tq::SymmetricHalfDown> ? Kind::half_down
                                                                    : Kind::symmetric;

template <class T, class S, class N>
void add(std::vector<Scheme>& out, const char* numerics) {
  if constexpr (tq::SymmetryFor<S, T>) {
    constexpr tq::CodeRange codes = S::template codes<T>();
    out.push_back({std::string(T::name) + " " + std::string(S::name) + " " + numerics,
                   &tq::affine_for<T, S, N>, kind_of<S>, peer_of<N>,
                   !std::is_same_v<typename N::scaling_type, tq::Reciprocal>, T::qmin, T::qmax,
                   codes.min});
  }
}
template <class T, class S>
void add_numerics(std::vector<Scheme>& out) {
  add<T, S, tq::numerics::onnx>(out, "onnx");
  add<T, S, tq::numerics::onnx_float16>(out, "onnx_float16");
  add<T, S, tq::numerics::torch>(out, "torch");
  add<T, S, tq::numerics::torch_2_11>(out, "torch_2_11");
  add<T, S, tq::numerics::bitsandbytes>(out, "bitsandbytes");
  add<T, S, tq::numerics::exact>(out, "exact");
}
template <class... Ts>
std::vector<Scheme> schemes() {
  std::vector<Scheme> out;
  (add_numerics<Ts, tq::Symmetric>(out), ...);
  (add_numerics<Ts, tq::SymmetricNarrow>(out), ...);
  (add_numerics<Ts, tq::SymmetricHalf>(out), ...);
  (add_numerics<Ts, tq::SymmetricHalfDown>(out), ...);
  (add_numerics<Ts, tq::Asymmetric>(out), ...);
  return out;
}
std::vector<Scheme> all_schemes() {
  return schemes<tq::int2, tq::int3, tq::int4, tq::int5, tq::int6, tq::int7, tq::int8, tq::int16,
                 tq::int32, tq::uint2, tq::uint3, tq::uint4, tq::uint5, tq::uint6, tq::uint7,
                 tq::uint8, tq::uint16, tq::ternary>();
}

// Two-sided, one-sided, constant, mirrored; ordinary, subnormal, and up to the ends of float32.
tq::Range random_range(inputs::Random& r) {
  const auto size = [&] {
    switch (r.below(8)) {
      case 0:
        return std::fabs(std::bit_cast<float>(
            static_cast<std::uint32_t>(r.below(0x1000000))));  // next to nothing
      case 1: return r.chance(50) ? most : static_cast<float>(static_cast<double>(most) * r.unit());
      case 2: return static_cast<float>(std::ldexp(1 + r.unit(), r.between(-148, 126)));
      case 3: return static_cast<float>(r.between(0, 300)) * 0.5f;
      default: return std::fabs(static_cast<float>(r.normal()));
    }
  };
  const float a = size(), b = size();
  switch (r.below(8)) {
    case 0: return {-a, a};
    case 1: return {0.0f, a};
    case 2: return {-a, -0.0f};
    case 3: return {a, a};
    case 4: return {-a, -a};
    case 5: return {std::min(a, b), std::max(a, b)};
    default: return {-a, b};
  }
}

}  // namespace

TEST_CASE("scale and zero point are those of the peer, and both ends finite", "[affine_for]") {
  for (const Scheme& s : all_schemes()) {
    inputs::Random r(29);
    int failed = 0;
    std::string first;
    const auto expect = [&](tq::Range range) {
      const std::string wrong = check(s, range);
      if (wrong.empty() || failed++ != 0) return;
      const tq::Affine got = s.fit(range);
      first = wrong + ": [" + std::to_string(static_cast<double>(range.min)) + ", " +
              std::to_string(static_cast<double>(range.max)) + "] gives " +
              std::to_string(static_cast<double>(got.scale)) + ", " +
              std::to_string(got.zero_point);
    };
    for (const float a :
         {0.0f, 1e-45f, 1e-40f, 0x1p-126f, 1.0f, 3.0f, most / 2, std::nextafter(most, 0.0f), most})
      for (const float b : {0.0f, 1e-45f, 1e-40f, 0x1p-126f, 1.0f, 3.0f, most / 2,
                            std::nextafter(most, 0.0f), most})
        expect({-a, b});
    for (int i = 0; i < 1500; ++i) expect(random_range(r));
    INFO(s.name << ": " << failed << " ranges, first " << first);
    CHECK(failed == 0);
  }
}

TEST_CASE("ranges that the arithmetics tell apart", "[affine_for]") {
  using tq::Affine, tq::affine_for, tq::Asymmetric, tq::uint8, tq::int8;
  CHECK(affine_for<uint8, Asymmetric>({-3, 3}).zero_point == 128);  // onnx, onnxruntime and torch
  CHECK(affine_for<uint8, Asymmetric, tq::numerics::torch>({-3, 3}).zero_point == 128);
  CHECK(affine_for<uint8, Asymmetric, tq::numerics::exact>({-3, 3}).zero_point == 127);
  CHECK(affine_for<uint8, Asymmetric>({0, 1e-40f}).scale == 1e-40f / 255);  // onnxruntime keeps it
  CHECK(affine_for<uint8, Asymmetric>({0, 1e-45f}) == Affine{1.0f, 0});
  CHECK(affine_for<uint8, Asymmetric, tq::numerics::torch>({0, 1e-40f}) == Affine{0x1p-23f, 0});
  CHECK(affine_for<int8, tq::Symmetric>({-most, 1}) == Affine{0x1.fffffep120f, 0});
  CHECK(affine_for<uint8, Asymmetric>({-most, most}) == Affine{0x1.fffffep120f, 128});
}

namespace {

// The values of the codes of a type.
struct Values {
  float largest = 0;
  bool has_zero = false;
};
template <class T>
Values values_of() {
  Values seen;
  for (std::uint32_t code = 0; code < (1u << T::bits); ++code) {
    const float v = T::format::decode(code);
    seen.has_zero |= v == 0;
    if (std::isfinite(v) && std::fabs(v) <= T::format::max_finite)
      seen.largest = std::max(seen.largest, std::fabs(v));
  }
  return seen;
}

// The float32 quotient of max|x| and the largest value, where nothing is special.
template <class T, class N>
void check_coded(const Values& values) {
  inputs::Random r(30);
  constexpr float top_value = T::format::max_finite;
  const float largest = values.largest;
  int failed = 0;
  for (int i = 0; i < 3000; ++i) {
    const tq::Range range = random_range(r);
    const float top = std::max({-range.min, range.max, 0.0f});
    const tq::Affine got = tq::affine_for<T, tq::Symmetric, N>(range);
    volatile float end = largest * got.scale;
    failed += !std::isfinite(end) || !(got.scale >= 0) || got.zero_point != 0;
    if (top_value >= 65504 || top < 0x1p-100f) continue;
    volatile float scale = std::isfinite(top / top_value) ? top / top_value : most;
    while (std::isinf(static_cast<float>(scale * largest))) scale = std::nextafter(scale, 0.0f);
    float wanted = std::max(scale + 0.0f, peer_of<N> == Peer::torch ? 0x1p-23f : 0.0f);
    if (!values.has_zero && wanted > 2 * scale) wanted = 0;  // what is next to nothing stays it
    failed += got.scale != wanted;
  }
  INFO(T::name);
  CHECK(failed == 0);
}
template <class T>
void check_numerics() {
  const Values values = values_of<T>();
  check_coded<T, tq::numerics::onnx>(values);
  check_coded<T, tq::numerics::torch>(values);
  check_coded<T, tq::numerics::bitsandbytes>(values);
  check_coded<T, tq::numerics::exact>(values);
}
template <class... Ts>
void check_all_coded() {
  (check_numerics<Ts>(), ...);
}

struct half_table {
  static constexpr std::string_view name = "half";
  static constexpr std::array<float, 4> values{-0.5f, -0.1f, 0.0f, 0.3f};
};

// The four members and no more: a power of two, and the middle code.
struct PowersOfTwo {
  static constexpr bool has_zero_point = true;
  static constexpr std::string_view name = "powers_of_two";
  template <tq::IntegerElement T>
  static constexpr tq::CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <tq::IntegerElement T>
  static tq::Affine affine(tq::Range r) {
    return {std::ldexp(1.0f, std::ilogb(std::max(-r.min, r.max))), (T::qmin + T::qmax + 1) / 2};
  }
};
static_assert(tq::SymmetryFor<PowersOfTwo, tq::int8>);

}  // namespace

TEST_CASE("floats and code books decode to finite values", "[affine_for]") {
  check_all_coded<tq::float16, tq::bfloat16, tq::float8_e4m3fn, tq::float8_e5m2,
                  tq::float8_e4m3fnuz, tq::float8_e5m2fnuz, tq::float6_e2m3fn, tq::float6_e3m2fn,
                  tq::float4_e2m1fn, tq::fixed8, tq::nf4, tq::bnb_fp4, tq::iq4_nl, tq::dynamic8,
                  tq::binary, tq::Codebook<half_table>>();
}

TEST_CASE("a symmetry of the user's own has the scale it says, as far as that is finite",
          "[affine_for]") {
  CHECK(tq::affine_for<tq::uint8, PowersOfTwo>({-3, 1}) == tq::Affine{2.0f, 128});
  CHECK(tq::affine_for<tq::uint8, PowersOfTwo, tq::numerics::torch>({-3, 1}) ==
        tq::Affine{2.0f, 128});
  CHECK(tq::affine_for<tq::uint8, PowersOfTwo>({-most, 1}) == tq::Affine{0x1.fffffep120f, 128});
}
