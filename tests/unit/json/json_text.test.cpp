// SPDX-License-Identifier: MIT
#include <tq/json/json_member.hpp>
#include <tq/json/json_text.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <chrono>
#include <cstddef>
#include <string>

using tq::errc;
using namespace tq::io;
using test::has;
using test::refused;

TEST_CASE("text is parsed strictly") {
  CHECK(parse_json(R"({"a": [1, {"a": 2}], "b": {"a": 3}})")["b"]["a"] == 3);
  const auto refuse = [](const std::string& text) {
    return refused(errc::malformed, [&] { (void)parse_json(text, "notes"); });
  };
  CHECK(has(refuse(R"({"a": 1, "a": 2})"), "notes: expected every key once, got \"a\" twice"));
  CHECK(has(refuse("{\"a\": }"), "expected a JSON document"));
  CHECK(has(refuse(""), "expected a JSON document"));
  CHECK(has(refuse("{} x"), "expected a JSON document"));
  CHECK(has(refuse("\"\xff\""), "expected a JSON document"));
  CHECK(has(refuse(std::string(100000, '[')), "64 deep"));
  CHECK(has(refuse(R"([{"a": {"b": 1, "b": 2}}])"), "got \"b\" twice"));
  CHECK(has(refuse("[1e999]"), "expected a JSON document"));
  const auto nested = [](int arrays, const std::string& inside) {
    const auto n = static_cast<std::size_t>(arrays);
    return std::string(n, '[') + inside + std::string(n, ']');
  };
  CHECK_NOTHROW((void)parse_json(nested(65, "")));
  CHECK_NOTHROW((void)parse_json(nested(64, "7")));
  CHECK(has(refuse(nested(66, "")), "64 deep"));
  CHECK(has(refuse(nested(65, "7")), "64 deep"));
  CHECK(has(refuse(nested(64, R"({"a": 7})")), "64 deep"));
}

TEST_CASE("what is no document is told with its place") {
  const auto refuse = [](const std::string& text) {
    return refused(errc::malformed, [&] { (void)parse_json(text, "notes"); });
  };
  const std::string good = R"({"version": 1})", nul(1, '\0');
  for (const std::string& rest : {nul + "this is not JSON }}}", nul, nul + good})
    CHECK(has(refuse(good + rest),
              "notes: expected a JSON document, got a NUL byte at line 1, column 15"));
  CHECK(has(refuse("{\"a\":\n \"x" + nul + "y\"}"), "NUL byte at line 2, column 4"));
  CHECK(has(refuse(nul), "zero bytes"));
  CHECK(has(refuse("{\n \"a\": 1,\n \"b\": tru}\n"), "got \"}\" at line 3, column 10"));
  CHECK(has(refuse("[1, 2"), "the end of the text at line 1, column 6"));
  CHECK(has(refuse(""), "an empty file"));
  CHECK(has(refuse(good + "\n" + good), "\"{\" at line 2, column 1"));
  CHECK(has(refuse("[\n1e999]"), "line 2, column 5"));
  CHECK(has(refuse("[\"\xc3\x28\"]"), "line 1, column 4"));
  CHECK(has(refuse("\xff\xfe{"), "UTF-16"));
  CHECK(parse_json("\xef\xbb\xbf" + good)["version"] == 1);  // a mark of UTF-8 in front
}

TEST_CASE("a document is what the parser alone makes of it") {
  const std::string text =
      R"( {"b": [1, -2, 3.5, 18446744073709551615, -9223372036854775808, 1e-3, [], {}, [[]]],
          "a": {"x": null, "y": true, "z": false, "": "\u00e9\n\"", "\u0000": {"b": [{}]}}} )";
  const Json parsed = parse_json(text);
  CHECK(parsed == Json::parse(text));
  CHECK(parsed.dump() == Json::parse(text).dump());
  for (const char* scalar : {"7", "-7", "0.5", "\"x\"", "true", "null", "[]", "{}"})
    CHECK(parse_json(scalar) == Json::parse(scalar));
}

TEST_CASE("the time to parse an object grows as its members") {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i)
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(": {"x": [1]})";
  const auto begin = std::chrono::steady_clock::now();
  CHECK(parse_json(text + "}").size() == 100000);
  // Seconds in the slowest build; a scan of all members for each takes minutes in any.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("a member of an object is changed in its text") {
  const Json value{{"a", {1}}};
  CHECK(with_member("{}", "k", value) == R"({"k": {"a":[1]}})");
  CHECK(with_member(R"({"x": 1.0e-05})", "k", value) == R"({"x": 1.0e-05, "k": {"a":[1]}})");
  const std::string lines =
      "{\n  \"x\": \"}\\\"\\\\\",\n  \"k\": [ {\"k\": 2} ] ,\n  \"z\": 1E5\n}\n";
  const std::string written = "{\n    \"a\": [\n      1\n    ]\n  }";
  CHECK(with_member(lines, "k", value) ==
        "{\n  \"x\": \"}\\\"\\\\\",\n  \"k\": " + written + " ,\n  \"z\": 1E5\n}\n");
  CHECK(with_member(lines, "n", value) ==
        lines.substr(0, lines.size() - 3) + ",\n  \"n\": " + written + "\n}\n");
  CHECK(without_member(lines, "k") == "{\n  \"x\": \"}\\\"\\\\\",\n  \"z\": 1E5\n}\n");
  CHECK(without_member(lines, "z") == "{\n  \"x\": \"}\\\"\\\\\",\n  \"k\": [ {\"k\": 2} ]\n}\n");
  CHECK(without_member(R"({"k": 1})", "k") == "{}");
  CHECK(without_member(lines, "a") == lines);
  CHECK(has(refused(errc::malformed, [&] { (void)with_member("[]", "k", value, "config.json"); }),
            "config.json: expected a JSON object, got array"));
  CHECK(has(refused(errc::malformed, [&] { (void)with_member("{", "k", value, "config.json"); }),
            "config.json"));
}
