// SPDX-License-Identifier: MIT
// with_alternative finds the alternative that is held, as std::visit does.
#include <tq/core/detail/with_alternative.hpp>

#include "support/catch.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

namespace {

using Held = std::variant<int, std::string, double>;

struct Throws {
  explicit Throws(int) { throw std::runtime_error("no value"); }
  std::string text;
};

TEST_CASE("with_alternative: every alternative", "[core]") {
  const auto kind = [](const Held& held) {
    return tq::detail::with_alternative(held, []<class T>(const T&) {
      return std::is_same_v<T, int> ? 'i' : std::is_same_v<T, std::string> ? 's' : 'd';
    });
  };
  CHECK(kind(Held(1)) == 'i');
  CHECK(kind(Held(std::string("x"))) == 's');
  CHECK(kind(Held(1.0)) == 'd');
}

TEST_CASE("with_alternative: changes and refers to what is held", "[core]") {
  std::variant<int, long> held(2);
  tq::detail::with_alternative(held, [](auto& value) { value += 3; });
  CHECK(std::get<int>(held) == 5);
  const std::variant<std::string> text("whole");
  const std::string& same = tq::detail::with_alternative(
      text, [](const std::string& t) -> const std::string& { return t; });
  CHECK(&same == &std::get<0>(text));
}

TEST_CASE("with_alternative: throws without a value", "[core]") {
  std::variant<double, Throws> held(1.0);
  CHECK_THROWS_AS(held.emplace<1>(1), std::runtime_error);
  REQUIRE(held.valueless_by_exception());
  CHECK_THROWS_AS(tq::detail::with_alternative(held, [](const auto&) {}), std::bad_variant_access);
}

}  // namespace
