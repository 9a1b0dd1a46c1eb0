// SPDX-License-Identifier: MIT
#include <tq/model/name_expression.hpp>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/error_check.hpp"

#include <cstddef>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

using namespace tq;

namespace {

// Draws expressions and texts of few characters, so that many of them match.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  std::string expression(int depth = 3) {
    std::string out = sequence(depth);
    while (below(4) == 0) out += "|" + sequence(depth);
    return out;
  }
  std::string text(std::string_view letters, std::size_t most) {
    std::string out(below(most + 1), ' ');
    for (char& c : out) c = letters[below(letters.size())];
    return out;
  }
  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  std::string one_of(const std::vector<const char*>& list) { return list[below(list.size())]; }

  std::string sequence(int depth) {
    std::string out;
    for (std::size_t terms = below(4); terms > 0; --terms) out += term(depth);
    return out;
  }
  std::string term(int depth) {
    // std::regex takes the place of a look ahead for the begin of the text: no "^" and "\b" there.
    if (const std::size_t kind = below(12); kind == 0 && !is_ahead_)
      return one_of({"^", "$", "\\b", "\\B"});
    else if (kind == 1 && depth > 0 && !is_ahead_) return ahead(depth);
    std::string out = atom(depth);
    if (below(3) == 0)
      out += one_of({"*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{1,3}?", "{0}"});
    return out;
  }
  std::string ahead(int depth) {
    is_ahead_ = true;
    std::string out = one_of({"(?=", "(?!"}) + expression(depth - 1) + ")";
    is_ahead_ = false;
    return out;
  }
  std::string atom(int depth) {
    if (depth > 0 && below(4) == 0) return one_of({"(", "(?:"}) + expression(depth - 1) + ")";
    if (below(3) != 0) return one_of({"a", "b", "1", "\\.", "-"});
    return one_of({".",       "[ab]",   "[^a]",        "[a-b1]",       "[]",      "[^]",
                   "\\d",     "\\w",    "\\S",         "[\\d.]",       "[^\\W-]", "[[:alpha:]1]",
                   "[-a]",    "[a-]",   "[[:punct:]]", "[a-b-1]",      "[\\]b]",  "\\x61",
                   "\\u0062", "[\\n ]", "\\D",         "[^[:space:]]", "[+--]",   "}",
                   "]",       "[[b]",   "[\\x30-9]",   "[[:XDIGIT:]]", "\\s",     "\\_"});
  }

  std::mt19937 random_;
  bool is_ahead_ = false;
};

std::optional<std::regex> standard(const std::string& text) {
  try {
    return std::regex(text, std::regex::ECMAScript);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}
std::optional<NameExpression> own(const std::string& text) {
  try {
    return NameExpression(text);
  } catch (const error&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("expressions match as those of the standard library do") {
  Draw draw(11);
  std::size_t whole = 0, part = 0, none = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string expression = draw.expression();
    const std::optional<std::regex> expected = standard(expression);
    INFO(expression);
    REQUIRE(expected.has_value());
    const NameExpression tried(expression);
    for (int k = 0; k < 6; ++k) {
      const std::string text = draw.text("aab1.- \n", 7);
      INFO("on \"" << text << '"');
      const bool is_whole = std::regex_match(text, *expected);
      const bool is_part = std::regex_search(text, *expected);
      REQUIRE(tried.matches(text) == is_whole);
      REQUIRE(tried.is_in(text) == is_part);
      whole += is_whole ? 1 : 0;
      part += is_part && !is_whole ? 1 : 0;
      none += is_part ? 0 : 1;
    }
  }
  CHECK(whole > 1000);
  CHECK(part > 1000);
  CHECK(none > 1000);
}

TEST_CASE("the same texts are expressions as in the standard library") {
  Draw draw(12);
  std::size_t accepted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = draw.text("ab1,-^$\\.*+?()[]{}|:=!dwB", 9);
    // Collating symbols have names there, which are no part of ECMAScript.
    if (text.find("[.") != text.npos || text.find("[=") != text.npos) continue;
    INFO(text);
    const bool is_expression = standard(text).has_value();
    // Back references are not supported.
    if (is_expression && text.find("\\1") != text.npos) continue;
    REQUIRE(own(text).has_value() == is_expression);
    ++(is_expression ? accepted : refused);
  }
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("what ECMAScript says beyond that") {
  CHECK(NameExpression("a\\cJ").matches("a\n"));
  CHECK_FALSE(NameExpression("a(?=^b)").is_in("ab"));
  CHECK(NameExpression("a(?=\\Bb)").is_in("ab"));
  CHECK(NameExpression("[\\x80-\\xff]+").matches("\xc3\xa9"));
  CHECK(NameExpression("[[.a.]-c]").matches("b"));
  CHECK(NameExpression("^(?!.*(?:embed|norm(?=\\.bias)))").is_in("model.norm.weight"));
  CHECK_FALSE(NameExpression("^(?!.*(?:embed|norm(?=\\.bias)))").is_in("model.norm.bias"));
  CHECK(NameExpression("").matches(""));
  CHECK(NameExpression("").is_in("a"));
}

TEST_CASE("an expression that is refused is told where") {
  const auto refused = [](const char* text, const char* byte, const char* expected) {
    test::raises(errc::bad_argument, {text, byte, expected},
                 [&] { (void)NameExpression(std::string(text)); });
  };
  refused("a(b", "byte 2", "a \")\" for every \"(\"");
  refused("ab)", "byte 3", "got \")\"");
  refused("[a", "byte 1", "a \"]\" for every \"[\"");
  refused("a|*b", "byte 3", "something to repeat before \"*\"");
  refused("^*", "byte 2", "something to repeat");
  refused("(a)\\1", "byte 4", "no back reference");
  refused("a{2,1}", "byte 2", "counts in ascending order, got 2,1");
  refused("a{1;", "byte 4", "a \"}\" behind a count");
  refused("(?<a>b)", "byte 1", "got \"<\"");
  refused("[z-a]", "byte 3", "ascending");
  refused("\\u0100", "byte 3", "at most 00ff, got 0100");
}

TEST_CASE("counts that are too large are refused, and never wrap") {
  for (const char* count : {"1001", "65537", "4294967297", "9223372036854775807",
                            "18446744073709551617", "68601842013618243974"})
    for (const std::string& text :
         {"a{" + std::string(count) + "}", "a{0," + std::string(count) + "}",
          "a{" + std::string(count) + ",}"}) {
      test::raises(errc::bad_argument, {"expected a count of at most 1000", count},
                   [&] { (void)NameExpression(text); });
    }
  CHECK(NameExpression("a{1000}").matches(std::string(1000, 'a')));
  CHECK_FALSE(NameExpression("a{1000}").matches(std::string(999, 'a')));
  // Counts of counts: the product counts.
  for (const char* text :
       {"(.{0,99}){0,99}", "((a{90}){90}){90}", "(?:(?=a{999})(?!b{999,})){9}c{9000}",
        "a{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}{9}"})
    CHECK_FALSE(own(text).has_value());
  // Nothing, however often.
  std::string nothing = "(?:)";
  for (int i = 0; i < 190; ++i) nothing += "{900}";
  CHECK(NameExpression(nothing + "a").matches("a"));
  CHECK_FALSE(own(std::string(101, '(') + std::string(101, ')')).has_value());
  CHECK_FALSE(own("a" + std::string(999, '*')).has_value());
}

TEST_CASE("a match takes steps in proportion to the name") {
  const std::string deep = std::string(99, '(') + "a*" + std::string(99, ')');
  for (const std::string& text :
       {std::string("(a*)*b"), std::string("(a|a|aa)*c"), std::string("(.{0,60}){0,60}d"),
        std::string("(?=(?!.*b)(a*)*$)(a+)+b"), std::string("a?.{1,900}a{0,99}e"), deep}) {
    INFO(text);
    const detail::ExpressionProgram program(text);
    for (const std::size_t length : {10u, 100u, 1000u}) {
      const std::string name(length, 'a');
      detail::ExpressionMatcher whole(program, name), part(program, name);
      (void)whole.whole();
      (void)part.part();
      const std::uint64_t most = program.steps().size() * (length + 1);
      // Once for the name, and once for each look ahead.
      CHECK(whole.visits() <= most * (1 + program.ahead().size()));
      CHECK(part.visits() <= most * (1 + program.ahead().size()));
    }
  }
}

TEST_CASE("an expression takes memory in proportion to its steps") {
  constexpr std::ptrdiff_t most = 64 * NameExpression::most_steps;
  for (const char* text : {"(.{0,70}){0,70}", "[a-z]{1000}", "((a?){9}){9}{9}", "(?:a|b|c){900}"}) {
    INFO(text);
    const std::string owned = text;
    const std::ptrdiff_t before = test::total;
    const NameExpression expression(owned);
    const std::ptrdiff_t made = test::total;
    (void)expression.is_in(std::string(1000, 'z'));
    CHECK(made - before < most);
    CHECK(test::total - made < most);
  }
}
