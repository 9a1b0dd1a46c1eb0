// SPDX-License-Identifier: MIT
#include <tq/driver/plan.hpp>

#include <cstddef>

#include "support/catch.hpp"

namespace {

using Arch = tq::arch::native;
using namespace tq::driver;
constexpr std::size_t b = block<Arch>;

Span rows(std::size_t length, std::size_t count) {
  const auto n = static_cast<std::ptrdiff_t>(length);
  return {length, count, n, n};
}

}  // namespace

TEST_CASE("rows that share a parameter are one row", "[plan]") {
  const Plan p = plan_for<Arch>(rows(100, 7), {}, 1);
  CHECK(p.form == Form::constant);
  CHECK(p.span.length == 700);
  CHECK(p.span.count == 1);
  Span apart = rows(100, 7);
  apart.source_stride = 101;
  CHECK(plan_for<Arch>(apart, {}, 1).span.count == 7);
}

TEST_CASE("groups have the form of the largest grain that divides them", "[plan]") {
  const auto form = [](std::size_t group) {
    Parameters p;
    p.group = group;
    return plan_for<Arch>(rows(64 * b, 1), p, 1);
  };
  CHECK(form(b).form == Form::per_grain);
  CHECK(form(b).grain == b);
  CHECK(form(3 * b).grain == b);
  CHECK(form(1).form == Form::per_lane);
  CHECK(form(b - 1).form == Form::per_lane);
  CHECK(form(b + 1).form == Form::constant);
  CHECK(form(2 * b - 1).form == Form::constant);
  CHECK(form(16 * b).form == Form::constant);
  CHECK(form(16 * b + 3).form == Form::constant);
  CHECK(form(64 * b).form == Form::constant);
  CHECK(form(3 * b / 2).form == Form::constant);
  if (least_grain<Arch> < b) CHECK(form(b / 2).grain == b / 2);
}

TEST_CASE("long groups that would begin within a byte have parameters by lane", "[plan]") {
  const auto form = [](std::size_t group, std::size_t unit) {
    Parameters p;
    p.group = group;
    return plan_for<Arch>(rows(64 * b, 1), p, unit).form;
  };
  CHECK(form(16 * b + 3, 8) == Form::per_lane);
  CHECK(form(16 * b + 8, 8) == Form::constant);
  CHECK(form(b + 2, 2) == Form::constant);
  CHECK(form(b + 1, 2) == Form::per_lane);
}

TEST_CASE("short rows with the same columns are handled together", "[plan]") {
  Parameters p;
  p.group = 1;
  const Plan plan = plan_for<Arch>(rows(5, 1000), p, 1);
  CHECK(plan.form == Form::per_lane);
  CHECK(plan.joined_rows == 16 * b / 5);
}
