// SPDX-License-Identifier: MIT
// Exchanges of schemes by what the whole model measures.
#include <tq/select/refined.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using tq::PrecisionModel;
using tq::PrecisionNode;
using tq::PrecisionSelection;
using tq::PrecisionSelector;
using tq::ValidatedPrecision;

PrecisionNode node(const std::string& name, double sensitivity) {
  return {name,
          1000,
          {{"float", 4000, 0},
           {"int8", 1000, sensitivity * 1e-4},
           {"int4", 500, sensitivity * 1e-2},
           {"int2", 250, sensitivity}}};
}

ValidatedPrecision started(const PrecisionSelector& selector, std::vector<std::size_t> choices,
                           double (*loss)(const PrecisionSelection&)) {
  PrecisionSelection s = selector.chosen(std::move(choices));
  const double value = loss(s);
  return {std::move(s), value, {}};
}

std::vector<std::string> schemes(const PrecisionSelection& s) {
  std::vector<std::string> names;
  for (const auto& n : s.nodes) names.push_back(n.choice.scheme);
  return names;
}
using Names = std::vector<std::string>;

// The loss of both nodes is not the sum of their losses: "a" matters only while "b" is coarse.
double together(const PrecisionSelection& s) {
  const double a = s.nodes[0].choice.error, b = s.nodes[1].choice.error;
  return a * b + 0.1 * b + 0.01 * a;
}

}  // namespace

TEST_CASE("exchanges keep the budget and lower the loss") {
  const PrecisionSelector selector(PrecisionModel{{node("a", 1), node("b", 1)}});
  const ValidatedPrecision from = started(selector, {1, 3}, together);  // int8, int2: 1250 bytes
  const ValidatedPrecision to = tq::refined(selector, from, 1250, together);
  CHECK(schemes(to.selection) == Names{"int4", "int4"});
  CHECK(to.loss == together(to.selection));
  CHECK(to.selection.cost.bytes == 1000);
  test::raises(tq::errc::bad_argument, {"1249 bytes", "got 1250"},
               [&] { (void)tq::refined(selector, from, 1249, together); });
}

TEST_CASE("exchanges are the same for every limit that is no limit") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t scale : {std::uint64_t{1}, (most - 3) / 8000}) {
    PrecisionModel model{{node("a", 1), node("b", 1)}};
    for (PrecisionNode& n : model.nodes)
      for (tq::PrecisionCandidate& c : n.candidates) c.bytes *= scale;
    const PrecisionSelector selector(model);
    const ValidatedPrecision from = started(selector, {3, 3}, together);
    for (const std::uint64_t limit : {8000 * scale, most / 2, most / 2 + 1, most - 1, most}) {
      if (limit < 8000 * scale) continue;
      const ValidatedPrecision to = tq::refined(selector, from, limit, together);
      CHECK(to.loss == 0);
      CHECK(schemes(to.selection) == Names{"float", "float"});
    }
    const ValidatedPrecision half = tq::refined(selector, from, 4500 * scale, together);
    CHECK(half.loss < from.loss);
    CHECK(half.selection.cost.bytes <= 4500 * scale);
  }
}

TEST_CASE("every loss is better than none, and selections of other models are refused") {
  const PrecisionSelector selector(PrecisionModel{{node("a", 1), node("b", 1)}});
  ValidatedPrecision from = started(selector, {3, 3}, together);
  from.loss = std::numeric_limits<double>::quiet_NaN();
  CHECK(tq::refined(selector, from, 8000, together).loss < 1);
  from.loss = std::numeric_limits<double>::infinity();
  CHECK(tq::refined(selector, from, 8000, together).loss < 1);
  from.selection.nodes[1].choice.scheme = "int3";
  test::raises(tq::errc::bad_argument, {"tq::refined", "\"b\"", "\"int3\""},
               [&] { (void)tq::refined(selector, from, 8000, together); });
  from.selection.nodes.pop_back();
  test::raises(tq::errc::bad_argument, {"tq::refined", "2 nodes", "got one of 1"},
               [&] { (void)tq::refined(selector, from, 8000, together); });
}

TEST_CASE("tied nodes change together, and without effort nothing changes") {
  PrecisionModel model{{node("a", 1), node("b", 1), node("c", 1)}};
  model.ties = {{0, 2}};
  const PrecisionSelector selector(model);
  const ValidatedPrecision from = started(selector, {2, 1, 2}, together);
  const ValidatedPrecision to = tq::refined(selector, from, 3000, together);
  CHECK(to.selection.nodes[0].choice.scheme == to.selection.nodes[2].choice.scheme);
  CHECK(to.loss <= from.loss);
  CHECK(schemes(tq::refined(selector, from, 3000, together, {0, 2, 16}).selection) ==
        schemes(from.selection));
  test::raises(tq::errc::bad_argument, {"\"a\"", "\"c\"", "tied"},
               [&] { (void)selector.chosen({1, 1, 2}); });
  test::raises(tq::errc::shape_mismatch, {"each of 3 nodes, got 2"},
               [&] { (void)selector.chosen({1, 1}); });
  test::raises(tq::errc::bad_argument, {"4 candidates", "number 4"},
               [&] { (void)selector.chosen({1, 4, 1}); });
}

TEST_CASE("what is refined is never worse, never larger, and near the best of all") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.1, 10);
  int best_found = 0;
  for (int instance = 0; instance < 40; ++instance) {
    PrecisionModel model;
    for (const char* name : {"a", "b", "c", "d"})
      model.nodes.push_back(node(name, uniform(random)));
    double cross[4][4];
    for (auto& row : cross)
      for (double& x : row) x = uniform(random);
    const auto loss = [&](const PrecisionSelection& s) {
      double sum = 0;
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j)
          sum += cross[i][j] * std::sqrt(s.nodes[i].choice.error * s.nodes[j].choice.error);
      return sum;
    };
    const PrecisionSelector selector(model);
    tq::PrecisionCriteria criteria{tq::PrecisionGoal::custom};
    criteria.max_bytes = 2500;
    const ValidatedPrecision from = tq::validated(selector, selector.select(criteria), loss);
    const ValidatedPrecision to = tq::refined(selector, from, 2500, loss);
    CHECK(to.loss <= from.loss);
    CHECK(to.loss == loss(to.selection));
    CHECK(to.selection.cost.bytes <= 2500);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t code = 0; code < 256; ++code) {
      const PrecisionSelection s =
          selector.chosen({code % 4, code / 4 % 4, code / 16 % 4, code / 64});
      if (s.cost.bytes <= 2500) best = std::min(best, loss(s));
    }
    CHECK(to.loss >= best);
    if (to.loss == best) ++best_found;
  }
  CHECK(best_found >= 25);
}
