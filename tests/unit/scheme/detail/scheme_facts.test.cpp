// SPDX-License-Identifier: MIT
// Facts of types and symmetries are those of the static types.
#include <tq/core/formats.hpp>
#include <tq/scheme/detail/scheme_facts.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {

using tq::detail::scheme_facts;
using tq::detail::SchemeFacts;
using Types = tq::TypeList<tq::int4, tq::uint8, tq::float8_e4m3fn, tq::nf4, tq::int16>;

[[nodiscard]] tq::QuantSpec spec_of(const char* type, const char* symmetry) {
  return {.type = type, .granularity = "per_tensor", .symmetry = symmetry};
}

TEST_CASE("scheme_facts: codes, bits and origins", "[scheme]") {
  const auto facts = [](const char* type, const char* symmetry) {
    return scheme_facts<Types>(spec_of(type, symmetry));
  };
  const SchemeFacts narrow = facts("int4", "symmetric_narrow");
  CHECK(narrow.type.bits == 4);
  CHECK(narrow.type.is_signed);
  CHECK_FALSE(narrow.type.has_grid);
  CHECK(narrow.type.packed_bytes(5) == 3);
  CHECK(narrow.symmetry.codes.min == -7);
  CHECK(narrow.symmetry.codes.max == 7);
  CHECK_FALSE(narrow.symmetry.has_zero_points);
  CHECK(facts("int4", "symmetric").symmetry.codes.min == -8);
  const SchemeFacts asymmetric = facts("uint8", "asymmetric");
  CHECK_FALSE(asymmetric.type.is_signed);
  CHECK(asymmetric.symmetry.has_zero_points);
  CHECK(asymmetric.symmetry.codes.max == 255);
  CHECK(facts("int4", "float_offset").symmetry.has_offsets);
  CHECK(facts("float8_e4m3fn", "symmetric").type.has_grid);
  CHECK(facts("nf4", "symmetric").type.kind == tq::ElementKind::coded);
  CHECK_FALSE(facts("nf4", "symmetric").type.has_grid);
  CHECK(facts("int16", "symmetric").type.packed_bytes(3) == 6);
}

TEST_CASE("scheme_facts: a type has one table in all lists", "[scheme]") {
  const tq::QuantSpec spec = spec_of("uint8", "symmetric");
  CHECK(&scheme_facts<Types>(spec).type == &scheme_facts<tq::TypeList<tq::uint8>>(spec).type);
}

TEST_CASE("scheme_facts: names and pairs that do not exist", "[scheme]") {
  test::raises(tq::errc::unknown_name, {"type", "int4, uint8", "int5"},
               [] { (void)scheme_facts<Types>(spec_of("int5", "symmetric")); });
  test::raises(tq::errc::unknown_name, {"symmetry", "asymetric"},
               [] { (void)scheme_facts<Types>(spec_of("int4", "asymetric")); });
  for (const char* symmetry : {"asymmetric", "symmetric_narrow", "float_offset"})
    test::raises(tq::errc::unsupported, {"a symmetry that type nf4 can have", symmetry},
                 [&] { (void)scheme_facts<Types>(spec_of("nf4", symmetry)); });
  test::raises(tq::errc::unsupported, {"uint8", "symmetric_narrow"},
               [] { (void)scheme_facts<Types>(spec_of("uint8", "symmetric_narrow")); });
}

}  // namespace
