// SPDX-License-Identifier: MIT
#include <tq/model/name_pattern.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <random>
#include <string>
#include <string_view>

using namespace tq;

namespace {

// By its definition, in exponential time.
bool slow_match(std::string_view glob, std::string_view text) {
  if (glob.empty()) return text.empty();
  if (glob[0] == '*') {
    for (std::size_t i = 0; i <= text.size(); ++i)
      if (slow_match(glob.substr(1), text.substr(i))) return true;
    return false;
  }
  return !text.empty() && (glob[0] == '?' || glob[0] == text[0]) &&
         slow_match(glob.substr(1), text.substr(1));
}

}  // namespace

TEST_CASE("a glob matches the whole name, dots included") {
  CHECK(NamePattern("model.*.q_proj.weight").matches("model.layers.0.self_attn.q_proj.weight"));
  CHECK_FALSE(NamePattern("layers.*").matches("model.layers.0"));
  CHECK(NamePattern("*").matches(""));
  CHECK(NamePattern("fc?").matches("fc1"));
  CHECK_FALSE(NamePattern("fc?").matches("fc"));
  CHECK_FALSE(NamePattern("fc?").matches("fc12"));
  CHECK(NamePattern("a.b[0]").matches("a.b[0]"));  // nothing else is special
  CHECK_FALSE(NamePattern("a.b").matches("axb"));
}

TEST_CASE("globs match as their definition says") {
  std::mt19937 random(7);
  const auto text = [&](std::string_view letters, std::size_t most) {
    std::string out(random() % (most + 1), 'a');
    for (char& c : out) c = letters[random() % letters.size()];
    return out;
  };
  std::size_t matched = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string glob = text("ab*?", 7), name = text("ab", 8);
    INFO(glob << " on " << name);
    const bool expected = slow_match(glob, name);
    REQUIRE(detail::glob_matches(glob, name) == expected);
    matched += expected ? 1 : 0;
  }
  CHECK(matched > 1000);
  // Stars that a matcher which goes back to every one of them would not get through.
  CHECK_FALSE(NamePattern("*a*a*a*a*a*a*a*a*a*a*b").matches(std::string(900, 'a')));
}

TEST_CASE("after re: comes a regular expression for the whole name") {
  CHECK(NamePattern("re:.*lm_head").matches("language_model.lm_head"));
  CHECK_FALSE(NamePattern("re:lm_head").matches("model.lm_head"));
  CHECK(NamePattern("re:layers\\.[0-3]\\..*").matches("layers.2.fc1"));
  CHECK_FALSE(NamePattern("re:layers\\.[0-3]\\..*").matches("layers.12.fc1"));
  CHECK(NameExpression("fc").is_in("model.fc1"));
  CHECK_FALSE(NameExpression("fc").matches("model.fc1"));
}

TEST_CASE("what is no pattern is refused") {
  test::raises(errc::bad_argument, {"expected a pattern", "got none"},
               [] { (void)NamePattern(""); });
  test::raises(errc::bad_argument, {"got none"}, [] { (void)NamePattern("re:"); });
  test::raises(errc::bad_argument, {"expected a regular expression", "\"(\""},
               [] { (void)NamePattern("re:("); });
  test::raises(errc::bad_argument, {"at most 1000 bytes", "got 1001"},
               [] { (void)NameExpression(std::string(1001, 'a')); });
  test::raises(errc::unsupported, {"at most 1000 bytes", "got 2000"},
               [] { (void)NamePattern("re:.*").matches(std::string(2000, 'a')); });
}
