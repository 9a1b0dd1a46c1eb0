// SPDX-License-Identifier: MIT
#include <tq/core/detail/expectations.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

TEST_CASE("sizes, counts and shapes that differ are refused") {
  using namespace tq::detail;
  constexpr auto code = tq::errc::shape_mismatch;
  require_size("tq::f", "an output", 4, 4);
  CHECK(test::refused(code, [] { require_size("tq::f", "an output", 4, 3); }) ==
        "tq::f: expected an output of 4, got 3");
  require_count("tq::f", "words", 0, 0);
  CHECK(test::refused(code, [] { require_count("tq::f", "words", 64, 65); }) ==
        "tq::f: expected 64 words, got 65");
  require_shape("tq::f", "an output", {2, 3}, {2, 3});
  CHECK(test::refused(code, [] { require_shape("tq::f", "an output", {2, 3}, {3, 2}); }) ==
        "tq::f: expected an output of shape [2, 3], got [3, 2]");
  CHECK(test::refused(code, [] { require_shape("tq::f", "codes", {}, {1}); }) ==
        "tq::f: expected codes of shape [], got [1]");
}
