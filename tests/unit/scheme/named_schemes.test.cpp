// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>
#include <tq/core/schemes.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/named_schemes.hpp>

#include "support/catch.hpp"

#include <set>
#include <string>

using namespace tq;

TEST_CASE("names are unique, and every scheme is one that encode knows") {
  std::set<std::string> names;
  for (const NamedScheme& scheme : named_schemes()) {
    INFO(scheme.name);
    CHECK(names.insert(scheme.name).second);
    CHECK_NOTHROW((validate_encoding<all_elements, all_scales>(scheme.spec)));
    CHECK(find_scheme(scheme.name) == &scheme.spec);
  }
  for (const char* name : {"float16",    "bfloat16",   "float8_e4m3fn", "float8_e5m2", "mxfp8_e4m3",
                           "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2",    "mxfp4",       "mxint8",
                           "nvfp4",      "nf4",        "nf4_double",    "bnb_fp4",     "iq4_nl",
                           "ternary",    "binary",     "int8",          "int4_g32",    "uint4_g32"})
    CHECK(names.contains(name));
}

TEST_CASE("names mean the types of the same name") {
  CHECK(named_scheme("mxfp4") == spec_of<mxfp4>());
  CHECK(named_scheme("mxfp8_e5m2") == spec_of<mxfp8_e5m2>());
  CHECK(named_scheme("nvfp4") == spec_of<nvfp4>());
  QuantSpec nf4 = spec_of<nf4_64_double>();
  nf4.numerics = "bitsandbytes";
  CHECK(named_scheme("nf4_double") == nf4);
  CHECK(named_scheme("int8") == QuantSpec{});
  CHECK(named_scheme("uint4_g32") == spec_of<QuantParams<uint4, PerGroup<32>, Asymmetric>>());
  CHECK(to_string(named_scheme("float8_e4m3fn")) == "float8_e4m3fn cast without scales");
  CHECK(named_scheme("float8_e4m3fn").is_cast());
  CHECK(named_scheme("fp8_e4m3") == spec_of<QuantParams<float8_e4m3fn, PerTensor, Symmetric>>());
  CHECK_FALSE(named_scheme("fp8_e5m2").is_cast());
  CHECK(to_string(named_scheme("ternary")) == "ternary per_channel(axis 0) symmetric by mean_abs");
}

TEST_CASE("every named scheme with scales is the type of the same name") {
  std::set<std::string> names;
  const auto check = [&]<AnyParams Params>(std::type_identity<Params>, const char* name) {
    INFO(name);
    names.insert(name);
    QuantSpec spec = spec_of<Params>();
    spec.axis.reset();
    CHECK(named_scheme(name) == spec);
  };
#define CHECK_SCHEME(NAME) check(std::type_identity<schemes::NAME>{}, #NAME)
  CHECK_SCHEME(fp8_e4m3);
  CHECK_SCHEME(fp8_e5m2);
  CHECK_SCHEME(int16);
  CHECK_SCHEME(int8);
  CHECK_SCHEME(int6);
  CHECK_SCHEME(int5);
  CHECK_SCHEME(int4);
  CHECK_SCHEME(int3);
  CHECK_SCHEME(int2);
  CHECK_SCHEME(int8_g32);
  CHECK_SCHEME(int6_g32);
  CHECK_SCHEME(int5_g32);
  CHECK_SCHEME(int4_g32);
  CHECK_SCHEME(int3_g32);
  CHECK_SCHEME(int2_g32);
  CHECK_SCHEME(uint8_g32);
  CHECK_SCHEME(uint6_g32);
  CHECK_SCHEME(uint5_g32);
  CHECK_SCHEME(uint4_g32);
  CHECK_SCHEME(uint3_g32);
  CHECK_SCHEME(uint2_g32);
  CHECK_SCHEME(mxfp8_e4m3);
  CHECK_SCHEME(mxfp8_e5m2);
  CHECK_SCHEME(mxfp6_e2m3);
  CHECK_SCHEME(mxfp6_e3m2);
  CHECK_SCHEME(mxfp4);
  CHECK_SCHEME(mxint8);
  CHECK_SCHEME(nvfp4);
  CHECK_SCHEME(nvfp4_normal);
  CHECK_SCHEME(nf4);
  CHECK_SCHEME(nf4_double);
  CHECK_SCHEME(bnb_fp4);
  CHECK_SCHEME(iq4_nl);
#undef CHECK_SCHEME
  for (const NamedScheme& scheme : named_schemes())
    if (!scheme.spec.is_cast() && scheme.spec.calibrator == "min_max") {
      INFO(scheme.name);
      CHECK(names.contains(scheme.name));
    }
}

TEST_CASE("a spec names the preset that the parameters remember") {
  using W8 = QuantParams<int8, PerChannel<0>, Symmetric>;
  CHECK(spec_of<W8>().numerics == "onnx");
  CHECK(spec_of<params_under<W8, numerics::torch>>().numerics == "torch");
  CHECK(spec_of<params_under<W8, Numerics<HalfAway>>>().numerics == "onnx");
}

TEST_CASE("an unknown name is answered with those there are") {
  CHECK(find_scheme("mxfp5") == nullptr);
  try {
    (void)named_scheme("mxfp5");
    FAIL("nothing was thrown");
  } catch (const error& e) {
    CHECK(e.code() == errc::unknown_name);
    CHECK(std::string(e.what()).find("mxfp4, mxint8, nvfp4") != std::string::npos);
  }
}

TEST_CASE("scale types have one name each") {
  CHECK(scale_type_name<float> == "float32");
  CHECK(scale_type_name<float8_e8m0fnu> == "float8_e8m0fnu");
  CHECK(scale_type_name<TwoLevel<float8_e4m3fn>> == "float8_e4m3fn_two_level");
  CHECK(scale_type_name<TwoLevel<float8_e4m3fn, BlockScales::normal>> ==
        "float8_e4m3fn_two_level_normal");
  CHECK(scale_type_name<DoubleQuantized> == "double_quantized");
  CHECK(scale_type_name<Unscaled> == "none");
}
