// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>
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
