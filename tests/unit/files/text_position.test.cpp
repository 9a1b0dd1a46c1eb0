// SPDX-License-Identifier: MIT
// Lines and columns of places in texts, and what is wrong there.
#include <tq/files/syntax_error.hpp>
#include <tq/files/text_position.hpp>
#include <tq/json/json_text.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <string>

using tq::io::text_position;

TEST_CASE("lines and columns count from 1, in characters", "[text_position]") {
  CHECK(text_position("", 0) == "line 1, column 1");
  CHECK(text_position("ab", 1) == "line 1, column 2");
  CHECK(text_position("a\nb\n", 2) == "line 2, column 1");
  CHECK(text_position("a\nb\n", 4) == "line 3, column 1");
  CHECK(text_position("a\nb\n", 400) == "line 3, column 1");
  CHECK(text_position("\u00fc\u00fcx", 4) == "line 1, column 3");
}

TEST_CASE("errors of syntax say where they are", "[text_position]") {
  const auto refused = [](const std::string& text, const std::string& said) {
    INFO(text);
    const std::string wanted = "c.json: expected a JSON document, got " + said;
    test::raises(tq::errc::malformed, {wanted.c_str()},
                 [&] { (void)tq::io::parse_json(text, "c.json"); });
  };
  refused("{\"a\": [1,\n  2,\n]}",
          "\"]\" at line 3, column 1, after the comma at line 2, column 4");
  refused("{\"a\": 1,}", "\"}\" at line 1, column 9, after the comma at line 1, column 8");
  refused("{\"a\" 1}", "\"1\" at line 1, column 6");
  refused("{\n\n  a: 1}", "\"a\" at line 3, column 3");
  refused("[1, 2", "the end of the text at line 1, column 6");
  refused("{\"a\": 1\n\n", "the end of the text at line 1, column 8");
  refused("{} x", "\"x\" at line 1, column 4");
  refused("   \n", "the end of the text at line 1, column 1");
}

TEST_CASE("an error at any place of a document names its line", "[text_position]") {
  std::string text = "[\n";
  for (int i = 0; i < 40; ++i) text += "  {\"n\": " + std::to_string(i) + "},\n";
  text += "  {}\n]\n";
  for (int line = 2; line <= 41; ++line) {
    std::string broken = text;
    std::size_t at = 0;
    for (int i = 1; i < line; ++i) at = broken.find('\n', at) + 1;
    broken[broken.find(':', at)] = ';';
    const std::string wanted = "\";\" at line " + std::to_string(line) + ", column 7";
    test::raises(tq::errc::malformed, {wanted.c_str()}, [&] { (void)tq::io::parse_json(broken); });
  }
}
