// SPDX-License-Identifier: MIT
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/visit.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <string>
#include <vector>

using namespace tq;
using test::has;
using test::refused;

namespace {

std::vector<std::string> types_and_schemes() {
  std::vector<std::string> names = detail::names_of(all_elements{});
  for (const NamedScheme& scheme : named_schemes()) names.push_back(scheme.name);
  return names;
}

std::string meant(const std::string& name) { return closest_name(name, types_and_schemes()); }

}  // namespace

TEST_CASE("names as others write them lead to ours") {
  CHECK(meant("e4m3") == "fp8_e4m3");
  CHECK(meant("fp8") == "fp8_e4m3");
  CHECK(meant("FP8-E5M2") == "fp8_e5m2");
  CHECK(meant("INT8") == "int8");
  CHECK(meant("bf16") == "bfloat16");
  CHECK(meant("Half") == "float16");
  CHECK(meant("flaot16") == "float16");
  CHECK(meant("int44") == "int4");
  CHECK(meant("mxfp8") == "mxfp8_e4m3");
  CHECK(meant("ternery") == "ternary");
  CHECK(closest_name("fp8", detail::names_of(all_elements{})) == "float8_e4m3fn");
  CHECK(closest_name("per-channel", detail::names_of(detail::all_granularities{})) ==
        "per_channel");
  CHECK(closest_name("channel", detail::names_of(detail::all_granularities{})) == "per_channel");
  CHECK(closest_name("asym", detail::names_of(detail::all_symmetries{})) == "asymmetric");
  CHECK(closest_name("sym", detail::names_of(detail::all_symmetries{})) == "symmetric");
  CHECK(closest_name("fp32", detail::names_of(all_scales{})) == "float32");
  CHECK(closest_name("unscaled", detail::names_of(all_scales{})) == "none");
  CHECK(closest_name("pytorch", detail::names_of(detail::all_numerics{})) == "torch");
}

TEST_CASE("a guess is not made where several names are as close, or none is") {
  CHECK(meant("int9").empty());
  CHECK(meant("").empty());
  CHECK(meant("w").empty());
  CHECK(meant("quantum chromodynamics").empty());
  CHECK(meant(std::string(1000, 'x')).empty());
  CHECK(closest_name("int8", {}).empty());
  CHECK(did_you_mean("int9", types_and_schemes()).empty());
  CHECK(did_you_mean("INT8", types_and_schemes()) == "; did you mean \"int8\"?");
}

TEST_CASE("every name leads to itself, also in capitals and with dashes") {
  const std::vector<std::string> names = types_and_schemes();
  for (const std::string& name : names) {
    INFO(name);
    std::string other = name;
    for (char& c : other)
      c = c == '_' ? '-' : 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    CHECK(closest_name(other, names) == name);
    CHECK(closest_name(name, names) == name);
  }
}

TEST_CASE("errors of the library say what may have been meant") {
  const auto visited = [](const QuantSpec& spec) {
    return refused(errc::unknown_name, [&] { validate<all_elements, all_scales>(spec); });
  };
  CHECK(has(visited({.type = "INT8"}), "got \"INT8\"; did you mean \"int8\"?"));
  CHECK(has(visited({.granularity = "per-channel"}), "did you mean \"per_channel\"?"));
  CHECK(has(visited({.symmetry = "asym"}), "did you mean \"asymmetric\"?"));
  CHECK(has(visited({.scale_type = "fp16"}), "did you mean \"float16\"?"));
  CHECK(has(visited({.numerics = "bnb"}), "did you mean \"bitsandbytes\"?"));
  CHECK(has(visited({.calibrator = "minmax"}), "did you mean \"min_max\"?"));
  CHECK(has(refused(errc::unknown_name, [] { (void)named_scheme("fp8"); }),
            "did you mean \"fp8_e4m3\"?"));
}
