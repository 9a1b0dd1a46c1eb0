// SPDX-License-Identifier: MIT
#include <tq/core/shape.hpp>
#include <tq/error.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {

using tq::errc;
using tq::detail::TextPart;

std::string text_of(TextPart part) {
  std::string out = "<";
  part.append_to(out);
  return out + ">";
}

}  // namespace

TEST_CASE("parts of error texts: texts, integers, floats and extents") {
  CHECK(text_of("") == "<>");
  CHECK(text_of("codes") == "<codes>");
  CHECK(text_of(std::string("a\0b", 3)) == std::string("<a\0b>", 5));
  CHECK(text_of(std::string_view("codes").substr(2)) == "<des>");
  CHECK(text_of(tq::detail::in_quotes("a b")) == "<\"a b\">");
  CHECK(text_of(0) == "<0>");
  CHECK(text_of(-1) == "<-1>");
  CHECK(text_of(std::int8_t{-128}) == "<-128>");
  CHECK(text_of(std::uint8_t{255}) == "<255>");
  CHECK(text_of(std::numeric_limits<std::int64_t>::min()) == "<-9223372036854775808>");
  CHECK(text_of(std::numeric_limits<std::uint64_t>::max()) == "<18446744073709551615>");
  CHECK(text_of(0.5f) == "<0.5>");
  CHECK(text_of(-1e-30f) == "<-1e-30>");
  CHECK(text_of(std::numeric_limits<float>::infinity()) == "<inf>");
  for (const tq::Shape& shape : {tq::Shape{}, tq::Shape{0}, tq::Shape{3, 1, 65}})
    CHECK(text_of(shape.extents()) == "<" + to_string(shape) + ">");
}

TEST_CASE("error texts say where, what was expected and what came") {
  using tq::detail::raise_expected, tq::detail::raise_text;
  const std::string where = "tq::f";
  CHECK(test::refused(errc::bad_argument, [&] {
          raise_expected(errc::bad_argument, where, {"at most ", 3, " bits"}, {4});
        }) == "tq::f: expected at most 3 bits, got 4");
  CHECK(test::refused(errc::no_data, [] {
          raise_expected(errc::no_data, "", {"data"}, {"none"});
        }) == "expected data, got none");
  CHECK(test::refused(errc::malformed, [&] {
          raise_text(errc::malformed, {where, ": ", -2, "!"});
        }) == "tq::f: -2!");
}
