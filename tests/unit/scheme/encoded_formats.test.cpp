// SPDX-License-Identifier: MIT
// Floats, code books and stored scales through the run-time layer.
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/named_schemes.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/extremes.hpp"
#include "support/share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace tq;

namespace {

std::vector<float> data(std::size_t n) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

EncodedTensor coded(ConstTensorView x, const QuantSpec& spec,
                    NonFinite non_finite = NonFinite::raise) {
  return encode<all_elements, all_scales>(x, spec, non_finite);
}
std::vector<float> values(const EncodedTensor& t) { return decode<all_elements, all_scales>(t); }

// The static way and the run-time way give the same bits, and what is stored gives the scales.
template <class Params, class N = numerics::onnx>
void same_as_static(ConstTensorView x, const char* preset = "onnx") {
  const auto params = calibrate<Params>(x, N{});
  const auto q = quantize(x, params, N{});
  QuantSpec s = spec_of(params);
  s.numerics = preset;
  const EncodedTensor e = coded(x, s);
  INFO(to_string(s) << " of " << to_string(x.shape()));
  CHECK(std::ranges::equal(e.codes.span(), q.bytes()));
  CHECK(std::ranges::equal(e.scales.values(), params.scales()));
  if constexpr (Params::has_zero_point)
    CHECK(std::ranges::equal(e.zero_points.values(), params.zero_points()));
  if constexpr (OffsetParams<Params>)
    CHECK(std::ranges::equal(e.offsets.values(), params.offsets()));
  CHECK(values(e) == dequantize(q));
  if constexpr (!Params::is_inline) {
    const auto* scales = e.scales.template get_if<Scales<typename Params::scale_type>>();
    REQUIRE(scales != nullptr);
    CHECK(*scales == params.stored_scales());
  }
}

using test::has;
using test::refused;

double bits_per_weight(const char* name, std::size_t side = 4096) {
  const Shape shape{side, side};
  return 8.0 *
         static_cast<double>(
             encoded_layout<all_elements, all_scales>(named_scheme(name), shape).bytes()) /
         static_cast<double>(shape.size());
}

}  // namespace

TEST_CASE("encode gives the bits of the static types, of floats and code books too") {
  const std::vector<float> x = data(7 * 90);
  for (const ConstTensorView& view :
       {ConstTensorView(x.data(), {7, 90}), ConstTensorView(x.data(), {90, 7}, {1, 90})}) {
    same_as_static<mxfp4>(view);
    same_as_static<nvfp4>(view);
    same_as_static<nvfp4_normal>(view);
    same_as_static<mxint8>(view);
    same_as_static<nf4_64, numerics::bitsandbytes>(view, "bitsandbytes");
    same_as_static<nf4_64_double, numerics::bitsandbytes>(view, "bitsandbytes");
    same_as_static<QuantParams<iq4_nl, PerGroup<32>, Symmetric, float16>>(view);
    same_as_static<QuantParams<float8_e4m3fn, PerChannel<0>, Symmetric>>(view);
    same_as_static<QuantParams<float16, PerTensor, Symmetric, Unscaled>>(view);
    same_as_static<QuantParams<binary, PerToken, Symmetric>>(view);
    same_as_static<QuantParams<ternary, PerToken, Symmetric>>(view);
  }
  const ConstTensorView view(x.data(), {7, 90});
  same_as_static<QuantParams<int4, PerGroup<32>, Symmetric, float8_e8m0fnu>>(view);
  same_as_static<QuantParams<uint4, PerGroup<32>, Asymmetric, float16>>(view);
  same_as_static<QuantParams<uint4, PerGroup<16>, Asymmetric, TwoLevel<float8_e4m3fn>>>(view);
  same_as_static<QuantParams<uint4, PerGroup<32>, FloatOffset, float16>>(view);
  same_as_static<QuantParams<int6, PerChannel<1>, FloatOffset, bfloat16>>(view);
}

TEST_CASE("scales of integers reach what they are for, whatever they are stored as") {
  const std::vector<float> x = data(64 * 64);
  const ConstTensorView view(x.data(), {64, 64});
  for (const char* type : {"int4", "uint4"})
    for (const char* scale : {"float16", "bfloat16", "float8_e8m0fnu", "float8_e4m3fn",
                              "float8_e4m3fn_two_level", "double_quantized"}) {
      QuantSpec s{.type = type, .granularity = "per_group", .scale_type = scale};
      if (s.type == "uint4") s.symmetry = "asymmetric";
      INFO(to_string(s));
      CHECK(compare(view, ConstTensorView(values(coded(view, s)).data(), view.shape())).sqnr_db >
            17);
    }
}

TEST_CASE("bits per weight count scales at their stored width and what is beside them") {
  CHECK(bits_per_weight("mxfp4") == 4.25);
  CHECK(bits_per_weight("mxfp8_e4m3") == 8.25);
  CHECK(bits_per_weight("mxfp6_e2m3") == 6.25);
  CHECK(bits_per_weight("nf4") == 4.5);
  CHECK(bits_per_weight("iq4_nl") == 4.5);
  CHECK(bits_per_weight("bfloat16") == 16);
  CHECK(bits_per_weight("float8_e4m3fn") == 8);
  CHECK(bits_per_weight("nvfp4", 16) == 4.5 + 32.0 / 256);  // and a float per tensor
  CHECK(bits_per_weight("nf4_double") ==
        4 + 8.0 / 64 + 32.0 / (64 * 256) + 32.0 / (4096.0 * 4096.0));
  CHECK(bits_per_weight("binary", 32) == 2);  // one float32 for 32 codes of a bit
}

TEST_CASE("blocks of zeros, tensors without elements, and NaN") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = data(4 * 64);
  std::fill(x.begin() + 64, x.begin() + 128, 0.0f);
  const std::vector<float> zeros(64);
  for (const NamedScheme& scheme : named_schemes()) {
    INFO(scheme.name);
    const auto run = [&](ConstTensorView view, NonFinite non_finite) {
      return values(coded(view, scheme.spec, non_finite));
    };
    const std::vector<float> y = run(ConstTensorView(x.data(), {4, 64}), NonFinite::raise);
    if (scheme.name != "nf4_double")  // whose scales are no longer exactly 0
      CHECK(std::equal(zeros.begin(), zeros.end(), y.begin() + 64));
    CHECK(run(ConstTensorView(nullptr, {0, 64}), NonFinite::raise).empty());
    std::vector<float> bad = x;
    bad[0] = nan;
    bad[1] = inf;
    const ConstTensorView view(bad.data(), {4, 64});
    CHECK(has(refused(errc::not_finite, [&] { (void)run(view, NonFinite::raise); }),
              "1 NaN and 1 infinite among 256"));
    const std::vector<float> z = run(view, NonFinite::skip);
    for (std::size_t i = 1; i < z.size(); ++i) REQUIRE(std::isfinite(z[i]));
  }
}

TEST_CASE("every type, symmetry, kind of scales and granularity takes tensors without elements") {
  for (const std::string& type : detail::names_of(all_elements{}))
    for (const std::string& symmetry : detail::names_of(detail::all_symmetries{}))
      for (const std::string& scale : detail::names_of(all_scales{}))
        for (const std::string& granularity : detail::names_of(detail::all_granularities{})) {
          const QuantSpec s{
              .type = type, .granularity = granularity, .symmetry = symmetry, .scale_type = scale};
          try {
            validate_encoding<all_elements, all_scales>(s);
          } catch (const error& e) {
            CHECK(e.code() == errc::unsupported);
            continue;
          }
          for (const Shape& shape : {Shape{0, 6}, Shape{6, 0}, Shape{2, 0, 3}}) {
            INFO(to_string(s) << " of " << to_string(shape));
            const EncodedTensor e = coded(ConstTensorView(nullptr, shape), s);
            REQUIRE(e.scales.size() == AnyGranularity(s).grid(shape).size());
            REQUIRE(values(e).empty());
          }
        }
}

TEST_CASE("the mean magnitude as range") {
  const std::vector<float> x{1, -3, 0.5f, 3.5f, 0, 0, 0, 0};
  const ConstTensorView view(x.data(), {2, 4});
  QuantSpec s = {.type = "ternary", .calibrator = "mean_abs"};
  EncodedTensor e = coded(view, s);
  CHECK(e.scales.values() == std::vector<float>{2, 1});
  CHECK(values(e) == std::vector<float>{0, -2, 0, 2, 0, 0, 0, 0});  // 1 / 2 is a tie: to even
  s.type = "binary";
  e = coded(view, s);
  CHECK(e.scales.values() == std::vector<float>{2, 0});
  CHECK(values(e) == std::vector<float>{2, -2, 2, 2, 0, 0, 0, 0});
}

TEST_CASE("codes of a type that the symmetry does not use are refused") {
  const std::vector<float> x = data(64);
  EncodedTensor e = coded(ConstTensorView(x.data(), {1, 64}), {.type = "ternary"});
  e.codes.data()[0] = std::byte{0x02};  // -2 is none of its codes
  CHECK(has(refused(errc::bad_argument, [&] { (void)values(e); }), "[-1, 1]"));
}

TEST_CASE("what is not instantiated is refused by name") {
  using few = TypeList<int4, ternary, float16, nf4>;
  const auto refuse = [&](errc code, const QuantSpec& s) {
    return refused(code, [&] { validate_encoding<few, all_scales>(s); });
  };
  CHECK(has(refuse(errc::unsupported, {.type = "nf4", .numerics = "torch"}),
            "expected numerics exact, onnx, ocp or bitsandbytes for nf4, got \"torch\""));
  CHECK_NOTHROW((validate_encoding<few>({.type = "int4", .numerics = "torch"})));
  CHECK(has(refuse(errc::unsupported, {.type = "nf4", .symmetry = "asymmetric"}), "type nf4"));
  CHECK(has(refuse(errc::unsupported, {.type = "float16", .scale_type = "none"}), "per_tensor"));
  CHECK(has(refuse(errc::unknown_name, {.type = "bfloat16"}), "ternary, float16"));
  CHECK(has(refused(errc::unknown_name,
                    [&] { validate_encoding<few>({.type = "nf4", .scale_type = "float16"}); }),
            "expected scale_type to be one of float32, got \"float16\""));
}

namespace {

// The first error of a scheme on finite values, in words; empty if there is none.
std::string wrong(const QuantSpec& spec, const std::vector<float>& x,
                  const std::vector<float>& back, std::size_t block, bool has_zero) {
  if (extremes::not_finite(back) != 0) return "not finite";
  if (spec.type == "float8_e8m0fnu")
    return "";  // has neither 0 nor a smallest value worth the name
  if (has_zero) {
    if (extremes::amplified(x, back) != 0) return "amplified";
  } else if (spec.scale_type != "none" &&
             spec.scale_type != "float8_e8m0fnu") {  // have no scale of 0
    if (extremes::amplified_blocks(x, back, block) != 0) return "block amplified";
  }
  // Scales up to 65504 or 448 leave most of a large value out, and so does what has no scale.
  const bool is_narrow = spec.scale_type == "none" || spec.scale_type == "float16" ||
                         spec.scale_type == "float8_e4m3fn";
  const bool drops_signs = spec.type[0] == 'u' && spec.symmetry == "symmetric";
  const float top = extremes::largest(x.data(), x.data() + x.size()),
              is = extremes::largest(back.data(), back.data() + back.size());
  // Powers of two lose up to half, and int2 has twice as many steps below 0 as above.
  const float kept = spec.scale_type == "float8_e8m0fnu" ? 0.24f : 0.45f;
  if (!is_narrow && !drops_signs && top > 1e30f && !(is >= kept * top)) return "clipped";
  return "";
}

template <class T>
constexpr bool zero_has_code() {
  if constexpr (CodedElement<T>) return T::format::decode(T::format::encode(0.0f)) == 0.0f;
  else return true;
}

struct Counts {
  test::Share share;
  std::size_t schemes = 0, failed = 0;
  std::string first;
};

// Extreme tensors through one scheme.
void try_scheme(QuantSpec spec, std::size_t block, bool has_zero, Counts& counts) {
  if (!counts.share.takes()) return;
  ++counts.schemes;
  inputs::Random random(counts.schemes);
  const Shape shape{3, 96};
  std::size_t turn = counts.schemes;
  for (const float magnitude : extremes::magnitudes())
    for (int kind = 0; kind < extremes::kinds; ++kind) {
      if (turn++ % 5 != 0) continue;  // every fifth, each scheme others
      std::vector<float> x = extremes::tensor(shape.size(), magnitude, kind, random);
      if (spec.type == "float8_e8m0fnu")  // positive numbers only
        for (float& v : x) v = std::max(std::fabs(v), extremes::least);
      std::string what;
      try {
        what =
            wrong(spec, x, values(coded(ConstTensorView(x.data(), shape), spec)), block, has_zero);
      } catch (const error& e) {
        what = e.what();
      }
      if (what.empty()) continue;
      if (counts.failed++ < 20)
        counts.first += what + ": " + to_string(spec) + ", numerics " + spec.numerics +
                        ", magnitude " + std::to_string(magnitude) + ", kind " +
                        std::to_string(kind) + "\n";
    }
}

template <class T>
void try_type(Counts& counts) {
  const auto with_scales = [&]<class... Scales>(TypeList<Scales...>, QuantSpec spec) {
    const auto with = [&](std::string_view scale) {
      spec.scale_type = scale;
      for (const char* numerics : {"onnx", "torch", "bitsandbytes", "exact"}) {
        spec.numerics = numerics;
        try {
          validate_encoding<all_elements, all_scales>(spec);
        } catch (const error&) {
          continue;
        }
        const auto in = [&](const char* granularity, std::size_t block) {
          spec.granularity = granularity;
          try_scheme(spec, block, zero_has_code<T>(), counts);
        };
        in("per_tensor", 288);
        if (scale == Unscaled::name) continue;
        in("per_group", 32);
        if (spec.numerics != "onnx") continue;
        in("per_channel", 96);
        in("per_token", 96);
      }
    };
    (with(detail::name_of<Scales>), ...);
  };
  QuantSpec spec{.type = std::string(T::name), .group_size = 32};
  for (const std::string_view symmetry :
       {Symmetric::name, SymmetricNarrow::name, Asymmetric::name}) {
    spec.symmetry = symmetry;
    with_scales(all_scales{}, spec);
  }
}

}  // namespace

TEST_CASE("finite values come back finite, and nothing becomes something, in every scheme") {
  Counts counts;
  []<class... Ts>(TypeList<Ts...>, Counts& c) { (try_type<Ts>(c), ...); }(all_elements{}, counts);
  CHECK(counts.schemes > static_cast<std::size_t>(test::rounds(2000)));
  INFO(counts.first);
  CHECK(counts.failed == 0);
}
