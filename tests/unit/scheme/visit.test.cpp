// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>
#include <tq/scheme/visit.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <set>
#include <string>
#include <string_view>
#include <type_traits>

using tq::errc;
using tq::QuantSpec;

namespace {

template <class Types = tq::all_integers>
std::string refused(errc code, const QuantSpec& spec) {
  try {
    tq::validate<Types>(spec);
  } catch (const tq::error& e) {
    CHECK(std::string(tq::to_string(e.code())) == tq::to_string(code));
    return e.what();
  }
  FAIL("nothing was thrown");
  return "";
}

bool has(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

// A user's own format: nothing in tq knows it.
struct int8_wide_range : tq::int8 {
  static constexpr std::string_view name = "my_int8";
};

}  // namespace

TEST_CASE("every combination of names arrives at the type of these names") {
  int visited = 0;
  std::set<std::string> seen;
  for (const char* type : {"int2", "int3", "int4", "int5", "int6", "int7", "int8", "int16", "uint2",
                           "uint3", "uint4", "uint5", "uint6", "uint7", "uint8", "uint16"})
    for (const char* symmetry : {"symmetric", "symmetric_narrow", "asymmetric", "float_offset"})
      for (const char* granularity :
           {"per_tensor", "per_channel", "per_group", "per_token", "per_block"}) {
        QuantSpec spec;
        spec.type = type;
        spec.symmetry = symmetry;
        spec.granularity = granularity;
        spec.axis = 2;
        spec.group_size = 48;
        spec.block_rows = 3;
        spec.block_cols = 5;
        if (*type == 'u' && spec.symmetry == "symmetric_narrow") {
          CHECK(has(refused(errc::unsupported, spec), spec.type));
          continue;
        }
        const bool same = tq::visit(spec, [&]<class P>(typename P::granularity_type g) {
          ++visited;
          return tq::spec_of<P>(g) == spec;
        });
        CHECK(same);
        seen.insert(to_string(spec));
      }
  CHECK(visited == 280);
  CHECK(seen.size() == 280);
}

TEST_CASE("the granularity object has the numbers of the spec") {
  QuantSpec spec;
  spec.granularity = "per_group";
  CHECK(tq::visit(spec, []<class P>(auto g) -> int {
          static_assert(std::is_same_v<decltype(g), typename P::granularity_type>);
          if constexpr (requires { g.size(); }) return g.size() * 100 + g.axis();
          else return 0;
        }) == 3199);
}

TEST_CASE("only listed types are visited, and user types may be") {
  using mine = tq::TypeList<int8_wide_range, tq::uint4>;
  QuantSpec spec;
  spec.type = "my_int8";
  CHECK(tq::visit<mine>(spec, []<class P>(auto) {
          static_assert(std::is_same_v<typename P::type, int8_wide_range> ||
                        std::is_same_v<typename P::type, tq::uint4>);
          return std::string(P::type::name);
        }) == "my_int8");
  CHECK(has(refused(errc::unknown_name, spec), "uint16, got \"my_int8\""));
  spec.type = "int8";
  CHECK(has(refused<mine>(errc::unknown_name, spec),
            "expected type to be one of my_int8, uint4, got \"int8\""));
}

TEST_CASE("scale types are visited where they are listed") {
  using elements = tq::TypeList<tq::float4_e2m1fn, tq::nf4>;
  using scales = tq::TypeList<float, tq::float8_e8m0fnu, tq::TwoLevel<tq::float8_e4m3fn>>;
  QuantSpec spec = tq::spec_of<tq::nvfp4>();
  CHECK(tq::visit<elements, scales>(spec, []<class P>(auto) {
    return std::is_same_v<P,
                          tq::QuantParams<tq::float4_e2m1fn, tq::PerGroup<tq::dynamic, tq::dynamic>,
                                          tq::Symmetric, tq::TwoLevel<tq::float8_e4m3fn>>>;
  }));
  spec.scale_type = "double_quantized";
  CHECK_THROWS_AS((tq::validate<elements, scales>(spec)), tq::error);
  CHECK_NOTHROW((tq::validate<elements, tq::all_scales>(spec)));
  spec.symmetry = "asymmetric";
  CHECK_THROWS_AS((tq::validate<elements, tq::all_scales>(spec)), tq::error);
}

TEST_CASE("a visitor may return nothing, or a reference") {
  int calls = 0;
  tq::visit(QuantSpec{}, [&]<class P>(auto) { ++calls; });
  CHECK(calls == 1);
  tq::visit(QuantSpec{}, [&]<class P>(auto) -> int& { return calls; }) = 7;
  CHECK(calls == 7);
}

TEST_CASE("names that do not exist are answered with those that do") {
  QuantSpec spec;
  spec.granularity = "per_row";
  CHECK(has(refused(errc::unknown_name, spec),
            "expected granularity to be one of per_tensor, per_channel, per_group, per_token, "
            "per_block, got \"per_row\""));
  spec = {};
  spec.symmetry = "";
  CHECK(has(refused(errc::unknown_name, spec),
            "symmetric, symmetric_narrow, symmetric_half, symmetric_half_down, asymmetric"));
  spec = {};
  spec.numerics = "tensorflow";
  CHECK(has(refused(errc::unknown_name, spec), "onnx, torch"));
  spec = {};
  spec.scale_type = "int8";
  CHECK(has(refused(errc::unknown_name, spec), "float32"));
}

TEST_CASE("sizes below 1 and axes no tensor has are refused, where they are used") {
  QuantSpec spec;
  spec.group_size = 0;
  spec.block_rows = -1;
  CHECK_NOTHROW(tq::validate(spec));
  spec.granularity = "per_group";
  CHECK(has(refused(errc::bad_group_size, spec), "group_size to be at least 1, got 0"));
  spec.granularity = "per_block";
  CHECK(has(refused(errc::bad_group_size, spec), "block_rows"));
  spec = {};
  for (const int axis : {8, -9, 1 << 30, tq::dynamic}) {
    spec.axis = axis;
    refused(errc::bad_axis, spec);
  }
}

TEST_CASE("numerics presets are found by name") {
  CHECK(tq::visit_numerics(
      "onnx", []<class N>(const N&) { return std::is_same_v<N, tq::numerics::onnx>; }));
  CHECK(tq::visit_numerics(
      "torch", []<class N>(const N&) { return std::is_same_v<N, tq::numerics::torch>; }));
  CHECK_THROWS_AS(tq::visit_numerics("", [](const auto&) {}), tq::error);
}

TEST_CASE("float offsets are visited where the type and the scales can have them", "[visit]") {
  using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16>;
  using types = tq::TypeList<tq::uint4, tq::int16, tq::nf4>;
  using scales = tq::TypeList<float, tq::float16, tq::float8_e8m0fnu>;
  QuantSpec spec = tq::spec_of<Params>();
  CHECK(tq::to_string(spec) == "uint4 per_group(32, axis -1) float_offset scales float16");
  CHECK(tq::visit<types, scales>(spec, [&]<class P>(typename P::granularity_type g) {
    return tq::OffsetParams<P> && tq::spec_of<P>(g) == spec;
  }));
  spec.scale_type = "float8_e8m0fnu";
  test::raises(tq::errc::unsupported,
               {"float32, float16, bfloat16", "float_offset", "float8_e8m0fnu"},
               [&] { tq::validate<types, scales>(spec); });
  spec.scale_type = "float32";
  spec.type = "nf4";
  test::raises(tq::errc::unsupported, {"float_offset", "nf4"},
               [&] { tq::validate<types, scales>(spec); });
}
