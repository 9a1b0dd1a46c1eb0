// SPDX-License-Identifier: MIT
#include <tq/json/json.hpp>

#include <tq/core/formats.hpp>
#include <tq/scheme/named_schemes.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <limits>
#include <string>
#include <vector>

using tq::errc;
using tq::QuantSpec;
using namespace tq::io;

namespace {

using test::has;
using test::refused;

const std::vector<float> awkward{
    0.1f, 1.0f / 3, 0x1p-126f, 0x1p-149f, std::numeric_limits<float>::max(), 1.0000001f};

template <class Params>
void round_trip(const Params& params) {
  const std::string text = params_to_json(params).dump();
  INFO(text);
  CHECK(params_from_json<Params>(parse_json(text)) == params);
}

}  // namespace

TEST_CASE("parameters of every granularity and symmetry come back exactly from text") {
  using namespace tq;
  round_trip(QuantParams<int8, PerTensor, Symmetric>(0.1f));
  round_trip(QuantParams<uint8, PerTensor, Asymmetric>(1.0f / 3, 255));
  round_trip(QuantParams<int4, PerChannel<>, SymmetricNarrow>(PerChannel<>(-2), awkward));
  round_trip(QuantParams<int8, PerChannel<1>, Symmetric>(PerChannel<1>(), awkward));
  round_trip(QuantParams<int16, PerGroup<32>, Asymmetric>(PerGroup<32>(), awkward,
                                                          {-32768, 32767, 0, 1, -1, 7}));
  round_trip(QuantParams<int32, PerChannel<0>, Asymmetric>(
      PerChannel<0>(), awkward, {-2147483647 - 1, 2147483647, 0, 1, -1, 7}));
  round_trip(QuantParams<uint2, PerGroup<dynamic, dynamic>, Asymmetric>(
      PerGroup<dynamic, dynamic>(7, 0), awkward, {0, 1, 2, 3, 0, 1}));
  round_trip(QuantParams<int3, PerGroup<dynamic>, Symmetric>(PerGroup<dynamic>(9), awkward));
  round_trip(
      QuantParams<uint16, PerToken, Asymmetric>(PerToken(), awkward, {0, 1, 2, 3, 65535, 32768}));
  round_trip(QuantParams<int8, PerBlock<128>, Symmetric>(PerBlock<128>(), awkward));
  round_trip(QuantParams<int8, PerBlock<>, Symmetric>(PerBlock<>(3, 5), awkward));
  round_trip(QuantParams<int8, PerToken, Symmetric>(PerToken(), {}));
  for (const char* granularity : {"per_channel", "per_group", "per_token", "per_block"}) {
    QuantSpec spec;
    spec.granularity = granularity;
    round_trip(QuantParams<uint8, AnyGranularity, Asymmetric>(AnyGranularity(spec), awkward,
                                                              {0, 1, 2, 3, 4, 255}));
  }
  round_trip(QuantParams<int8, AnyGranularity, Symmetric>(AnyGranularity(), std::vector{0.1f}));
}

TEST_CASE("scales of every type come back exactly, as the codes they are stored as") {
  using namespace tq;
  const std::vector<std::uint8_t> codes{0, 1, 0x7e, 0x38, 0x80 - 2};
  round_trip(mxfp4(PerGroup<32>(), Scales<float8_e8m0fnu>({0, 1, 127, 254, 255})));
  round_trip(nvfp4(PerGroup<16>(), Scales<TwoLevel<float8_e4m3fn>>(codes, 0.1f)));
  round_trip(nvfp4_normal(PerGroup<16>(),
                          Scales<TwoLevel<float8_e4m3fn, BlockScales::normal>>(codes, 0x1p-149f)));
  round_trip(nf4_64_double(PerGroup<64>(), Scales<DoubleQuantized>::nearest(awkward)));
  round_trip(nf4_64(PerGroup<64>(), std::vector<float>{0.0f, 0.1f}));
  round_trip(
      QuantParams<int8, PerToken, Symmetric, float16>(PerToken(), Scales<float16>({1, 0x7bff})));
  round_trip(QuantParams<uint4, PerToken, Asymmetric, bfloat16>(
      PerToken(), Scales<bfloat16>({1, 0x3f80}), {0, 15}));
  round_trip(QuantParams<int8, PerTensor, Symmetric, float8_e4m3fn>(PerTensor(),
                                                                    Scales<float8_e4m3fn>({1})));
  round_trip(
      QuantParams<float8_e5m2, PerTensor, Symmetric, Unscaled>(PerTensor(), Scales<Unscaled>()));
  using Six = SuperBlock<uint6, 2>;
  const Scales<Six> super({1, 63, 2}, {0x3c01, 1});
  round_trip(QuantParams<int8, PerGroup<32>, Symmetric, Six>({}, super));
  using Steps = QuantParams<uint4, PerGroup<32>, FloatOffset, Six>;
  round_trip(Steps({}, super, Scales<Six>({0, 7, 63}, {0xbc00, 0x8000})));
  CHECK(params_to_json(Steps({}, Scales<Six>({1}, {0x3c00}), Scales<Six>({3}, {0xc000}))) ==
        Json::parse(R"({"type": "uint4", "granularity": "per_group", "group_size": 32, "axis": -1,
                        "symmetry": "float_offset", "scale_type": "uint6_super_block_2",
                        "scale_codes": [1], "super_scales": [1.0], "offset_codes": [3],
                        "super_offsets": [-2.0]})"));
  CHECK(params_to_json(nvfp4(PerGroup<16>(), Scales<TwoLevel<float8_e4m3fn>>({1}, 0.5f))) ==
        Json::parse(R"({"type": "float4_e2m1fn", "granularity": "per_group", "group_size": 16,
                        "axis": -1, "symmetry": "symmetric", "tensor_scale": 0.5,
                        "scale_type": "float8_e4m3fn_two_level", "scale_codes": [1]})"));
}

TEST_CASE("stored super-blocks out of range are refused") {
  using namespace tq;
  using Six = SuperBlock<uint6, 2>;
  using Steps = QuantParams<uint4, PerGroup<32>, FloatOffset, Six>;
  const Json good = params_to_json(Steps({}, Scales<Six>({1}, {0x3c00}), Scales<Six>({3}, {1})));
  const auto refuse = [&](errc code, const char* key, const Json& value) {
    Json j = good;
    j[key] = value;
    return refused(code, [&] { (void)params_from_json<Steps>(j); });
  };
  CHECK(has(refuse(errc::bad_scale, "scale_codes", Json{64}), "codes up to 63"));
  CHECK(has(refuse(errc::bad_scale, "offset_codes", Json{64}), "codes up to 63"));
  CHECK(has(refuse(errc::bad_scale, "super_scales", Json{0.1}), "super scales of float16"));
  CHECK(has(refuse(errc::bad_scale, "super_offsets", Json{0.1}), "super scales of float16"));
  CHECK(has(refuse(errc::bad_scale, "super_scales", Json{0.0}), "positive finite scales"));
  CHECK(has(refuse(errc::shape_mismatch, "super_scales", Json{1.0, 1.0}), "1 super scales"));
}

TEST_CASE("stored scales out of range are refused") {
  using namespace tq;
  const Json good = params_to_json(
      nf4_64_double(PerGroup<64>(), Scales<DoubleQuantized>::nearest(std::vector<float>{1, 2})));
  const auto refuse = [&](errc code, const char* key, const Json& value) {
    Json j = good;
    if (value.is_discarded()) j.erase(key);
    else j[key] = value;
    return refused(code, [&] { (void)params_from_json<nf4_64_double>(j); });
  };
  CHECK(has(refuse(errc::malformed, "scale_codes", Json{1, 256}), "scale_codes[1]"));
  CHECK(has(refuse(errc::malformed, "scale_codes", Json{1, -1}), "scale_codes[1]"));
  CHECK(has(refuse(errc::malformed, "scale_offset", "1"), "scale_offset: expected a number"));
  CHECK(has(refuse(errc::malformed, "scale_offset", Json(Json::value_t::discarded)),
            "scale_offset: expected a value, got none"));
  CHECK(has(refuse(errc::malformed, "scales", Json{1.0}), "\"scales\""));
  refuse(errc::shape_mismatch, "block_scales", Json::array());
  const Json other = params_to_json(nf4_64(PerGroup<64>(), std::vector<float>{1}));
  CHECK(has(refused(errc::bad_argument, [&] { (void)params_from_json<nf4_64_double>(other); }),
            "scale_type: expected double_quantized, got \"float32\""));
}

TEST_CASE("the documents are these") {
  using namespace tq;
  CHECK(params_to_json(QuantParams<uint8, PerTensor, Asymmetric>(0.5f, 3)) ==
        Json::parse(R"({"type": "uint8", "granularity": "per_tensor", "symmetry": "asymmetric",
                        "scale_type": "float32", "scales": [0.5], "zero_points": [3]})"));
  QuantSpec spec;
  spec.type = "int4";
  spec.granularity = "per_group";
  CHECK(spec_to_json(spec) ==
        Json::parse(R"({"type": "int4", "granularity": "per_group", "group_size": 32, "axis": -1,
                        "symmetry": "symmetric", "scale_type": "float32", "numerics": "onnx"})"));
}

TEST_CASE("specs come back, and what may be absent has its default") {
  for (const char* granularity :
       {"per_tensor", "per_channel", "per_group", "per_token", "per_block"}) {
    QuantSpec spec;
    spec.granularity = granularity;
    spec.axis = 3;
    spec.group_size = 77;
    spec.block_rows = 5;
    spec.numerics = "torch";
    spec.calibrator = "mean_abs";
    CHECK(spec_from_json(spec_to_json(spec)) == spec);
  }
  for (const tq::NamedScheme& scheme : tq::named_schemes())
    CHECK(spec_from_json<tq::all_elements, tq::all_scales>(
              parse_json(spec_to_json(scheme.spec).dump())) == scheme.spec);
  const QuantSpec offset{.type = "uint4",
                         .granularity = "per_group",
                         .symmetry = "float_offset",
                         .scale_type = "float16"};
  CHECK(spec_to_json(offset)["symmetry"] == "float_offset");
  CHECK(spec_from_json<tq::all_elements, tq::all_scales>(parse_json(spec_to_json(offset).dump())) ==
        offset);
  const auto minimal = spec_from_json(
      Json{{"type", "int8"}, {"granularity", "per_channel"}, {"symmetry", "symmetric"}});
  CHECK(minimal == QuantSpec{});
  CHECK(minimal.axis_or_default() == 0);
}

TEST_CASE("a document that is not a spec is refused by key, expected and got") {
  const Json good{{"type", "int8"}, {"granularity", "per_channel"}, {"symmetry", "symmetric"}};
  const auto with = [&](const char* key, const Json& value) {
    Json j = good;
    j[key] = value;
    return j;
  };
  const auto refuse = [&](errc code, const Json& j) {
    return refused(code, [&] { (void)spec_from_json(j, "layer 1"); });
  };
  CHECK(has(refuse(errc::malformed, Json::array()), "layer 1: expected an object, got an array"));
  CHECK(has(refuse(errc::malformed, with("typ", "int8")), "\"typ\": expected only the fields"));
  CHECK(has(refuse(errc::malformed, with("group_size", 32)), "\"group_size\": expected only"));
  CHECK(has(refuse(errc::malformed, with("type", 8)),
            "layer 1: type: expected a string, got \"8\" (number)"));
  CHECK(has(refuse(errc::malformed, with("axis", 1.5)), "axis: expected an integer in"));
  CHECK(has(refuse(errc::malformed, with("axis", 1e30)), "axis: expected an integer in"));
  CHECK(has(refuse(errc::malformed, with("axis", 18446744073709551615u)), "axis: expected"));
  CHECK(has(refuse(errc::malformed, with("granularity", "per_group")), "group_size"));
  CHECK(has(refuse(errc::unknown_name, with("type", "int9")), "int2, int3, int4"));
  CHECK(has(refuse(errc::unknown_name, with("granularity", "per_row")), "per_token"));
  CHECK(has(refuse(errc::unknown_name, with("numerics", "tf")), "onnx, torch"));
  CHECK(has(refuse(errc::unknown_name, with("scale_type", "float64")), "float32"));
  CHECK(has(refuse(errc::bad_axis, with("axis", 8)), "[-8, 8)"));
}

TEST_CASE("parameters of another type or out of range are refused") {
  using namespace tq;
  using U8 = QuantParams<uint8, PerChannel<0>, Asymmetric>;
  const U8 params(PerChannel<0>(), {0.5f, 0.25f}, {3, 4});
  const Json good = params_to_json(params);
  const auto refuse = [&](errc code, const char* key, const Json& value) {
    Json j = good;
    if (value.is_discarded()) j.erase(key);
    else j[key] = value;
    return refused(code, [&] { (void)params_from_json<U8>(j); });
  };
  const auto other = [&]<class P>(std::type_identity<P>) {
    return refused(errc::bad_argument, [&] { (void)params_from_json<P>(good); });
  };
  CHECK(has(other(std::type_identity<QuantParams<int8, PerChannel<0>, Asymmetric>>{}),
            "type: expected int8, got \"uint8\""));
  CHECK(has(other(std::type_identity<QuantParams<uint8, PerToken, Asymmetric>>{}),
            "expected per_token"));
  CHECK(has(other(std::type_identity<QuantParams<uint8, PerChannel<0>, Symmetric>>{}),
            "symmetry: expected symmetric"));
  CHECK(has(other(std::type_identity<QuantParams<uint8, PerChannel<1>, Asymmetric>>{}),
            "per_channel(axis 1)"));
  CHECK(params_from_json<QuantParams<uint8, PerChannel<>, Asymmetric>>(good).granularity().axis() ==
        0);

  CHECK(has(refuse(errc::malformed, "scales", "0.5"), "scales: expected an array"));
  CHECK(has(refuse(errc::malformed, "scales", Json{0.5, "x"}), "scales[1]: expected a number"));
  CHECK(has(refuse(errc::malformed, "scales", Json{0.5, nullptr}), "scales[1]"));
  CHECK(has(refuse(errc::malformed, "scales", Json{0.5, 1e300}), "range of float32"));
  CHECK(has(refuse(errc::malformed, "zero_points", Json{1, 2.5}), "zero_points[1]: expected an"));
  CHECK(has(refuse(errc::malformed, "zero_points", Json(Json::value_t::discarded)),
            "zero_points: expected a value, got none"));
  CHECK(has(refuse(errc::malformed, "comment", "hi"), "comment"));
  refuse(errc::bad_scale, "scales", Json{0.5, 0.0});
  refuse(errc::bad_scale, "scales", Json{0.5, -1.0});
  refuse(errc::bad_scale, "scales", Json{0.5, 1e-300});
  refuse(errc::bad_zero_point, "zero_points", Json{1, 256});
  refuse(errc::shape_mismatch, "zero_points", Json::array({1}));
}

TEST_CASE("offsets come back exactly, as they are stored") {
  using namespace tq;
  using Halves = QuantParams<uint4, PerGroup<32>, FloatOffset, float16>;
  round_trip(QuantParams<int8, PerTensor, FloatOffset>(0.1f, -1.0f / 3));
  round_trip(QuantParams<uint4, PerChannel<0>, FloatOffset>(
      PerChannel<0>(), awkward, std::vector<float>{-1, 0.1f, 0, 0x1p-149f, -3e38f, 7}));
  round_trip(QuantParams<uint5, PerToken, FloatOffset, bfloat16>(
      PerToken(), Scales<bfloat16>({1, 0x3f80}), Offsets<bfloat16>({0x8001, 0xc040})));
  const Halves params(PerGroup<32>(), Scales<float16>({0x3800, 1}),
                      Offsets<float16>({0xbd00, 0x8000}));
  round_trip(params);
  const Json good = params_to_json(params);
  CHECK(good == Json::parse(R"({"type": "uint4", "granularity": "per_group", "group_size": 32,
                                "axis": -1, "symmetry": "float_offset", "scale_type": "float16",
                                "scale_codes": [14336, 1], "offset_codes": [48384, 32768]})"));
  const auto refuse = [&](errc code, const Json& value) {
    Json j = good;
    if (value.is_discarded()) j.erase("offset_codes");
    else j["offset_codes"] = value;
    return refused(code, [&] { (void)params_from_json<Halves>(j); });
  };
  CHECK(has(refuse(errc::malformed, Json(Json::value_t::discarded)),
            "offset_codes: expected a value, got none"));
  CHECK(has(refuse(errc::malformed, Json{1, 65536}), "offset_codes[1]"));
  refuse(errc::not_finite, Json{1, 0x7c00});
  refuse(errc::shape_mismatch, Json::array({1}));
  const Json other = params_to_json(QuantParams<uint4, PerGroup<32>, Asymmetric, float16>(
      PerGroup<32>(), Scales<float16>({1, 2}), {0, 1}));
  CHECK(has(refused(errc::bad_argument, [&] { (void)params_from_json<Halves>(other); }),
            "symmetry: expected float_offset, got \"asymmetric\""));
}
