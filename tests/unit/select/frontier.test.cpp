// SPDX-License-Identifier: MIT
// The frontier against all selections there are.
#include <tq/select/frontier.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using tq::errc;
using tq::SelectionCost;
using tq::SelectionEdge;
using tq::SelectionFrontier;
using tq::SelectionGraph;
using tq::SelectionLimits;
using tq::SelectionProblem;
using tq::SelectionResult;

constexpr double infinity = std::numeric_limits<double>::infinity();

SelectionCost cost_of(const SelectionProblem& problem, const std::vector<std::size_t>& choices) {
  SelectionCost sum;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) sum += problem.nodes[i][choices[i]];
  for (const SelectionEdge& e : problem.edges)
    sum += e.costs[choices[e.from] * problem.nodes[e.to].size() + choices[e.to]];
  return sum;
}

bool keeps_ties(const SelectionProblem& problem, const std::vector<std::size_t>& choices) {
  for (const auto& group : problem.ties)
    for (const std::size_t i : group)
      if (choices[i] != choices[group.front()]) return false;
  return true;
}

// The costs of every selection, by counting through the candidates.
std::vector<SelectionCost> all_selections(const SelectionProblem& problem) {
  std::vector<SelectionCost> all;
  std::vector<std::size_t> choices(problem.nodes.size());
  for (bool more = true; more;) {
    if (keeps_ties(problem, choices)) all.push_back(cost_of(problem, choices));
    more = false;
    for (std::size_t i = 0; i < choices.size() && !more; ++i) {
      more = ++choices[i] < problem.nodes[i].size();
      if (!more) choices[i] = 0;
    }
  }
  return all;
}

double least(const std::vector<SelectionCost>& all, const SelectionLimits& limits, auto&& value) {
  double best = infinity;
  for (const SelectionCost& c : all)
    if (limits.allow(c)) best = std::min(best, static_cast<double>(value(c)));
  return best;
}

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  double real() { return static_cast<double>(random_()) * 0x1p-32; }
  // Errors that fall about fourfold with a bit, or a few whole numbers that are often equal.
  SelectionCost cost(bool coarse, bool timed) {
    const double bits = 1 + real() * 8;
    SelectionCost c;
    c.bytes = coarse ? below(5) : static_cast<std::uint64_t>(bits * 1000);
    c.error = coarse ? static_cast<double>(below(5)) : std::exp2(-2 * bits) * (0.5 + real());
    if (timed) c.seconds = coarse ? static_cast<double>(below(4)) : real();
    return c;
  }
  std::vector<SelectionCost> costs(std::size_t n, bool coarse, bool timed) {
    std::vector<SelectionCost> list(n);
    for (SelectionCost& c : list) c = cost(coarse, timed);
    return list;
  }
  SelectionProblem problem(std::size_t nodes, std::size_t candidates, bool coarse, bool timed) {
    SelectionProblem p;
    for (std::size_t i = 0; i < nodes; ++i)
      p.nodes.push_back(costs(1 + below(candidates), coarse, timed));
    return p;
  }
  void add_edge(SelectionProblem& p, std::size_t a, std::size_t b, bool coarse, bool timed) {
    if (below(2) == 0) std::swap(a, b);
    p.edges.push_back({a, b, costs(p.nodes[a].size() * p.nodes[b].size(), coarse, timed)});
  }

 private:
  std::mt19937 random_;
};

// The knee claims no more than what all selections show: its bound is the least error within the
// limits in as many bytes, and it is optimal where it has that.
void check_balanced(const std::vector<SelectionCost>& all, const SelectionFrontier& frontier,
                    const SelectionLimits& limits) {
  const SelectionResult r = frontier.balanced(limits);
  CHECK(limits.allow(r.cost));
  SelectionLimits as_small = limits;
  as_small.bytes = r.cost.bytes;
  const double best = least(all, as_small, [](const SelectionCost& c) { return c.error; });
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-12 * (a + b); };
  CHECK(near(r.bound, best));
  CHECK(r.optimal == (r.gap == 0));
  CHECK((r.gap == 0 ? near(r.cost.error, best) : r.cost.error > best));
  if (best > 0) CHECK(std::abs(r.gap - (r.cost.error - best) / best) <= 1e-9 * (1 + r.gap));
  else CHECK(r.gap == (r.cost.error > 0 ? infinity : 0.0));
}

// Every question, at every budget where the answer may change and between.
void check_against(const std::vector<SelectionCost>& all, const SelectionProblem& problem,
                   const SelectionFrontier& frontier, Random& random) {
  REQUIRE(frontier.is_complete());
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-12 * (a + b); };
  const auto check = [&](const SelectionResult& r, const SelectionLimits& limits, double value,
                         double expected) {
    CHECK(near(value, expected));
    CHECK(r.optimal);
    CHECK(r.gap == 0);
    CHECK(limits.allow(r.cost));
    CHECK(keeps_ties(problem, r.choices));
    const SelectionCost own = cost_of(problem, r.choices);
    CHECK(own.bytes == r.cost.bytes);
    CHECK(near(own.error, r.cost.error));
    CHECK(near(own.seconds, r.cost.seconds));
  };
  for (int i = 0; i < 20; ++i) {
    const SelectionCost& at = all[random.below(all.size())];
    const double slack = 1 + 1e-9;  // sums are taken in another order
    SelectionLimits limits{at.bytes, infinity, i % 2 == 0 ? infinity : at.seconds * slack};
    const auto error = [](const SelectionCost& c) { return c.error; };
    const SelectionResult r = frontier.least_error(limits);
    check(r, limits, r.cost.error, least(all, limits, error));
    limits = {i % 2 == 0 ? limits.bytes : SelectionLimits{}.bytes, at.error * slack, infinity};
    const SelectionResult s = frontier.fewest_bytes(limits);
    check(s, limits, static_cast<double>(s.cost.bytes),
          least(all, limits, [](const SelectionCost& c) { return c.bytes; }));
    const SelectionResult t = frontier.fewest_seconds(limits);
    check(t, limits, t.cost.seconds,
          least(all, limits, [](const SelectionCost& c) { return c.seconds; }));
    limits.seconds = i % 3 == 0 ? at.seconds * slack : infinity;
    check_balanced(all, frontier, limits);
  }
}

// Budgets over the whole range: errors never rise, bounds hold, nothing costs more than allowed.
void check_monotone(const SelectionFrontier& frontier, const SelectionProblem& problem) {
  const std::vector<SelectionCost> costs = frontier.costs();
  const std::uint64_t low = costs.front().bytes, high = costs.back().bytes + 10;
  double before = infinity;
  for (std::uint64_t step = 0; step <= 200; ++step) {
    const SelectionLimits limits{low + (high - low) * step / 200, infinity, infinity};
    const SelectionResult r = frontier.least_error(limits);
    CHECK(r.cost.error <= before);
    CHECK(r.cost.bytes <= limits.bytes);
    CHECK(r.bound <= r.cost.error);
    CHECK(r.gap >= 0);
    const SelectionCost own = cost_of(problem, r.choices);
    CHECK(own.bytes == r.cost.bytes);
    CHECK(own.error == r.cost.error);
    before = r.cost.error;
  }
}

}  // namespace

TEST_CASE("frontiers have the best of all selections") {
  Random random(1);
  for (int round = 0; round < 120; ++round) {
    INFO(round);
    const bool coarse = round % 3 == 0, timed = round % 2 == 0;
    const SelectionProblem p = random.problem(1 + random.below(6), 5, coarse, timed);
    check_against(all_selections(p), p, SelectionFrontier(p), random);
  }
}

TEST_CASE("frontiers have the best of all selections of tied nodes") {
  Random random(2);
  for (int round = 0; round < 80; ++round) {
    INFO(round);
    SelectionProblem p;
    for (std::size_t i = 0; i < 6; ++i)
      p.nodes.push_back(random.costs(4, round % 3 == 0, round % 2 == 0));
    p.ties = {{random.below(6), random.below(6)}, {random.below(6), random.below(6)}};
    if (round % 4 == 0) random.add_edge(p, 0, 5, round % 3 == 0, round % 2 == 0);
    check_against(all_selections(p), p, SelectionFrontier(p), random);
  }
}

TEST_CASE("frontiers have the best of all selections on chains and trees") {
  Random random(3);
  for (int round = 0; round < 80; ++round) {
    INFO(round);
    const bool coarse = round % 3 == 0, timed = round % 4 == 0, is_chain = round % 2 == 0;
    SelectionProblem p = random.problem(2 + random.below(5), 4, coarse, timed);
    for (std::size_t i = 1; i < p.nodes.size(); ++i)  // sometimes several trees
      if (is_chain || random.below(5) != 0)
        random.add_edge(p, is_chain ? i - 1 : random.below(i), i, coarse, timed);
    const SelectionFrontier frontier(p);
    CHECK(frontier.graph() == (p.edges.empty() ? SelectionGraph::none : SelectionGraph::forest));
    check_against(all_selections(p), p, frontier, random);
  }
}

TEST_CASE("graphs with circles are not called solved") {
  Random random(4);
  for (int round = 0; round < 40; ++round) {
    INFO(round);
    SelectionProblem p = random.problem(4, 4, round % 2 == 0, false);
    for (std::size_t i = 0; i < 4; ++i) random.add_edge(p, i, (i + 1) % 4, round % 2 == 0, false);
    const SelectionFrontier frontier(p);
    CHECK(frontier.graph() == SelectionGraph::general);
    CHECK_FALSE(frontier.is_complete());
    const std::vector<SelectionCost> all = all_selections(p);
    for (const SelectionCost& at : frontier.costs()) {
      const SelectionLimits limits{at.bytes, infinity, infinity};
      const SelectionResult r = frontier.least_error(limits);
      const double best = least(all, limits, [](const SelectionCost& c) { return c.error; });
      CHECK_FALSE(r.optimal);
      CHECK(r.bound <= best * (1 + 1e-12));
      CHECK(r.cost.error >= best * (1 - 1e-12));
      CHECK(cost_of(p, r.choices).bytes == r.cost.bytes);
    }
  }
}

TEST_CASE("edges between the same nodes and within a tie add up") {
  SelectionProblem p{{{{1, 1, 0}, {2, 2, 0}}, {{3, 3, 0}, {4, 4, 0}}}, {}, {}};
  p.edges = {{0, 1, {{10, 0, 0}, {20, 0, 0}, {30, 0, 0}, {40, 0, 0}}},
             {1, 0, {{100, 0, 0}, {200, 0, 0}, {300, 0, 0}, {400, 0, 0}}}};
  CHECK(SelectionFrontier(p).fewest_bytes().cost.bytes == 1 + 3 + 10 + 100);
  p.ties = {{1, 0}};
  const SelectionLimits only_second{600, infinity, infinity};
  CHECK(SelectionFrontier(p).costs().front().bytes == 1 + 3 + 10 + 100);
  CHECK(SelectionFrontier(p).least_error(only_second).choices == std::vector<std::size_t>{0, 0});
}

TEST_CASE("more budget never gives a worse error") {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    INFO(round);
    const SelectionProblem p = random.problem(12, 6, round % 2 == 0, false);
    check_monotone(SelectionFrontier(p), p);
  }
}

TEST_CASE("more budget never gives a worse error where lists are thinned out") {
  Random random(6);
  for (const std::size_t max_states : {1u, 40u, 400u, 4000u}) {
    INFO(max_states);
    const SelectionProblem p = random.problem(40, 8, false, false);
    const SelectionFrontier frontier(p, max_states);
    CHECK_FALSE(frontier.is_complete());
    check_monotone(frontier, p);
    const SelectionFrontier exact(p, std::size_t{1} << 22);
    REQUIRE(exact.is_complete());
    for (const SelectionCost& at : exact.costs()) {
      const SelectionLimits limits{at.bytes, infinity, infinity};
      const SelectionResult r = frontier.least_error(limits);
      CHECK(r.bound <= at.error);
      CHECK(r.cost.error >= exact.least_error(limits).cost.error);
    }
  }
}

TEST_CASE("more bytes or seconds never give a worse error where lists are thinned out") {
  Random random(7);
  const SelectionProblem p = random.problem(30, 6, false, true);
  const SelectionFrontier frontier(p, 3000);
  CHECK_FALSE(frontier.is_complete());
  const std::uint64_t high = frontier.least_error().cost.bytes;
  for (std::uint64_t bytes = high / 2; bytes <= high; bytes += high / 16) {
    double before = infinity;
    for (double seconds = 15; seconds < 30; seconds += 1) {
      const SelectionLimits limits{bytes, infinity, seconds},
          less{bytes - high / 16, infinity, seconds};
      const SelectionResult r = frontier.least_error(limits);
      CHECK(r.cost.error <= before);
      CHECK(r.bound <= r.cost.error);
      CHECK(limits.allow(r.cost));
      before = r.cost.error;
      if (bytes > high / 2) CHECK(frontier.least_error(less).cost.error >= r.cost.error);
    }
  }
}

TEST_CASE("the same problem has the same frontier, and the first of equal candidates is taken") {
  Random random(8);
  const SelectionProblem p = random.problem(25, 6, true, false);
  CHECK(SelectionFrontier(p, 500).costs() == SelectionFrontier(p, 500).costs());
  const SelectionFrontier equal({{{{5, 1, 0}, {5, 1, 0}}, {{7, 0, 0}, {7, 0, 0}}}});
  CHECK(equal.costs().size() == 1);
  CHECK(equal.least_error().choices == std::vector<std::size_t>{0, 0});
  const SelectionFrontier either({{{{1, 2, 0}, {2, 1, 0}}, {{1, 2, 0}, {2, 1, 0}}}});
  CHECK(either.least_error({3, infinity, infinity}).choices == std::vector<std::size_t>{0, 1});
}

TEST_CASE("no nodes, one node, and nodes that need nothing") {
  const SelectionFrontier none{SelectionProblem{}};
  CHECK(none.is_complete());
  CHECK(none.least_error({0, 0, 0}).choices.empty());
  CHECK(none.fewest_bytes().cost == SelectionCost{});
  CHECK(none.balanced().choices.empty());

  const SelectionFrontier one({{{{8, 0, 0}, {4, 1, 0}, {6, 2, 0}}}});
  CHECK(one.costs() == std::vector<SelectionCost>{{4, 1, 0}, {8, 0, 0}});
  CHECK(one.least_error().choices == std::vector<std::size_t>{0});
  CHECK(one.fewest_bytes({SelectionLimits{}.bytes, 0.5, infinity}).choices ==
        std::vector<std::size_t>{0});

  const SelectionFrontier empty({{{{0, 0, 0}}}, {}, {}});
  CHECK(empty.least_error({0, 0, 0}).optimal);
}

TEST_CASE("the knee of a frontier is where range by range the least is lost") {
  // Bytes 0 to 100, errors 10 to 0: parts 0 + 1, 0.2 + 0.1, 0.6 + 0.05, 1 + 0.
  const SelectionFrontier f({{{{0, 10, 0}, {20, 1, 0}, {60, 0.5, 0}, {100, 0, 0}}}});
  CHECK(f.balanced().choices == std::vector<std::size_t>{1});
  CHECK(f.balanced({10, infinity, infinity}).choices == std::vector<std::size_t>{0});
}

TEST_CASE("the knee of a frontier with seconds may have more error than as many bytes need") {
  // The first two have equal bytes: the first is slow and has little error, the second is fast.
  const SelectionFrontier f({{{{10, 1, 100}, {10, 5, 1}, {1, 100, 1}, {1000, 0, 100}}}});
  const SelectionResult r = f.balanced();
  CHECK(r.choices == std::vector<std::size_t>{1});
  CHECK(r.bound == 1);
  CHECK(r.gap == 4);
  CHECK_FALSE(r.optimal);
  const SelectionResult fast = f.balanced({SelectionLimits{}.bytes, infinity, 50});
  CHECK(fast.bound == fast.cost.error);  // nothing as fast is better
  CHECK(fast.optimal);
}

TEST_CASE("every question with budgets at the ends of their range") {
  Random random(9);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const double none = std::numeric_limits<double>::quiet_NaN(),
               tiny = std::numeric_limits<double>::denorm_min();
  int kept = 0;
  for (int round = 0; round < 40; ++round) {
    SelectionProblem p = random.problem(1 + random.below(4), 4, round % 2 == 0, round % 4 < 2);
    if (round % 5 == 0) p.nodes[0][0].bytes = most / 2 - random.below(3);
    if (round % 5 == 1) p.nodes[0][0].error = 1e300;
    const std::vector<SelectionCost> all = all_selections(p);
    const SelectionFrontier frontier(p);
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 63, most})
      for (const double error : {-infinity, 0.0, tiny, 1e308, infinity, none})
        for (const double seconds : {-1.0, 0.0, infinity, none}) {
          const SelectionLimits limits{bytes, error, seconds};
          const double expected =
              least(all, limits, [](const SelectionCost& c) { return c.error; });
          if (expected == infinity) {
            const auto refused = [&](auto&& ask) { test::raises(errc::bad_argument, {}, ask); };
            refused([&] { (void)frontier.least_error(limits); });
            refused([&] { (void)frontier.fewest_bytes(limits); });
            refused([&] { (void)frontier.fewest_seconds(limits); });
            refused([&] { (void)frontier.balanced(limits); });
            continue;
          }
          ++kept;
          CHECK(std::abs(frontier.least_error(limits).cost.error - expected) <= 1e-12 * expected);
          CHECK(static_cast<double>(frontier.fewest_bytes(limits).cost.bytes) ==
                least(all, limits, [](const SelectionCost& c) { return c.bytes; }));
          CHECK(limits.allow(frontier.fewest_seconds(limits).cost));
          check_balanced(all, frontier, limits);
        }
  }
  CHECK(kept > 100);
}

TEST_CASE("bytes that doubles do not tell apart are told apart") {
  constexpr std::uint64_t large = std::uint64_t{1} << 60;
  const SelectionFrontier f({{{{large + 1, 1, 0}, {large, 2, 0}}, {{3, 0, 0}, {2, 0, 0}}}});
  CHECK(f.least_error({large + 2, infinity, infinity}).cost == SelectionCost{large + 2, 2, 0});
  CHECK(f.least_error({large + 3, infinity, infinity}).cost == SelectionCost{large + 3, 1, 0});
  CHECK(f.fewest_bytes().cost.bytes == large + 2);
  test::raises(errc::unsupported, {"finite"},
               [] { (void)SelectionFrontier({{{{1, 1e308, 0}}, {{1, 1e308, 0}}}}); });
}

TEST_CASE("the price is the error that a byte saves") {
  const SelectionFrontier f({{{{0, 10, 0}, {20, 2, 0}, {40, 0, 0}}}});
  CHECK(f.least_error({0, infinity, infinity}).price == 0.4);
  CHECK(f.least_error({39, infinity, infinity}).price == 0.1);
  CHECK(f.least_error({40, infinity, infinity}).price == 0);
}

TEST_CASE("budgets that nothing keeps are errors that name what can be reached") {
  const SelectionFrontier f({{{{8, 0, 2}, {4, 1, 1}}, {{16, 0.25, 2}, {5, 3, 1}}}});
  const auto text = [&](const SelectionLimits& limits) {
    return test::refused(errc::bad_argument, [&] { (void)f.least_error(limits); });
  };
  CHECK(text({8, infinity, infinity}).find("bytes 8, where the least is 9") != std::string::npos);
  CHECK(text({SelectionLimits{}.bytes, 0.2, infinity})
            .find("error 0.20000000000000001, where the "
                  "least is 0.25") != std::string::npos);
  CHECK(text({12, 0.25, infinity}).find("bytes 12, where the least is 24") != std::string::npos);
  CHECK(text({8, infinity, 1}).find("none is within the others") != std::string::npos);
  CHECK(f.fewest_bytes({9, infinity, infinity}).cost.bytes == 9);
}

TEST_CASE("costs that are no numbers, sums beyond 64 bits and misfits are refused") {
  const auto refused = [](errc code, const SelectionProblem& p) {
    test::raises(code, {}, [&] { (void)SelectionFrontier(p); });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {nan, infinity, -infinity, -1.0}) {
    INFO(bad);
    refused(errc::bad_argument, {{{{1, bad, 0}}}, {}, {}});
    refused(errc::bad_argument, {{{{1, 0, bad}}}, {}, {}});
    refused(errc::bad_argument, {{{{1, 0, 0}}, {{1, 0, 0}}}, {}, {{0, 1, {{0, bad, 0}}}}});
  }
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  refused(errc::unsupported, {{{{half, 0, 0}}, {{1, 0, 0}, {half, 0, 0}}}, {}, {}});
  refused(errc::unsupported, {{{{half, 0, 0}}, {{1, 0, 0}}}, {}, {{0, 1, {{half - 1, 0, 0}}}}});
  const SelectionFrontier largest({{{{half, 0, 0}}, {{half - 1, 0, 0}, {1, 1, 0}}}});
  CHECK(largest.least_error().cost.bytes == half + (half - 1));
  refused(errc::no_data, {{{}}, {}, {}});
  refused(errc::bad_argument, {{{{1, 0, 0}}}, {{0, 1}}, {}});
  refused(errc::shape_mismatch, {{{{1, 0, 0}}, {{1, 0, 0}, {2, 0, 0}}}, {{0, 1}}, {}});
  refused(errc::bad_argument, {{{{1, 0, 0}}}, {}, {{0, 0, {{0, 0, 0}}}}});
  refused(errc::bad_argument, {{{{1, 0, 0}}}, {}, {{0, 1, {{0, 0, 0}}}}});
  refused(errc::shape_mismatch, {{{{1, 0, 0}}, {{1, 0, 0}}}, {}, {{0, 1, {}}}});
}
