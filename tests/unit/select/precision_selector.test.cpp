// SPDX-License-Identifier: MIT
// Schemes for whole models: criteria, reasons, confidence.
#include <tq/select/precision_selector.hpp>

#include <tq/select/detail/priors.hpp>
#include <tq/select/probed.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace {

using tq::errc;
using tq::PrecisionCriteria;
using tq::PrecisionGoal;
using tq::PrecisionModel;
using tq::PrecisionNode;
using tq::PrecisionSelection;
using tq::PrecisionSelector;

// A node of 1000 weights: float, 8, 4 and 2 bits, with more error for fewer bits.
PrecisionNode node(const std::string& name, double sensitivity, double seconds = 0) {
  return {name,
          1000,
          {{"float", 4000, 0, 4 * seconds},
           {"int8", 1000, sensitivity * 1e-4, seconds},
           {"int4", 500, sensitivity * 1e-2, 2 * seconds},
           {"int2", 250, sensitivity * 1, 3 * seconds}}};
}

std::vector<std::string> schemes(const PrecisionSelection& selection) {
  std::vector<std::string> names;
  for (const auto& n : selection.nodes) names.push_back(n.choice.scheme);
  return names;
}
using Names = std::vector<std::string>;

PrecisionSelector selector(double seconds = 0) {
  return PrecisionSelector(
      {{node("a", 1, seconds), node("b", 20, seconds), node("c", 0.1, seconds)}});
}

std::string refused(const PrecisionCriteria& criteria) {
  return test::refused(errc::bad_argument, [&] { (void)selector().select(criteria); });
}

PrecisionCriteria custom() { return {PrecisionGoal::custom}; }
PrecisionCriteria in_bytes(std::uint64_t bytes) {
  PrecisionCriteria c = custom();
  c.max_bytes = bytes;
  return c;
}
PrecisionCriteria in_bits(double bits) {
  PrecisionCriteria c = custom();
  c.max_bits_per_weight = bits;
  return c;
}

}  // namespace

TEST_CASE("sensitive tensors get the bits") {
  const PrecisionSelection s = selector().select(in_bits(4.67));
  CHECK(schemes(s) == Names{"int4", "int8", "int2"});
  CHECK(s.cost.bytes == 1750);
  CHECK(s.weights == 3000);
  CHECK(s.bits_per_weight() == 8.0 * 1750 / 3000);
  CHECK(s.optimal);
  CHECK(s.gap == 0);
  CHECK(std::abs(s.sqnr_db() + 10 * std::log10((1e-2 + 2e-3 + 0.1) / 3)) < 1e-9);
}

TEST_CASE("criteria mean what they say") {
  PrecisionCriteria accuracy{PrecisionGoal::accuracy}, small{PrecisionGoal::performance};
  CHECK(schemes(selector().select(accuracy)) == Names{"float", "float", "float"});
  CHECK(schemes(selector().select(small)) == Names{"int2", "int2", "int2"});
  // With times the fastest, which has 8 bits here.
  const PrecisionSelection fast = selector(1e-6).select(small);
  CHECK(schemes(fast) == Names{"int8", "int8", "int8"});
  CHECK(std::abs(fast.speedup - 4) < 1e-12);
  accuracy.max_bytes = 3000;
  CHECK(schemes(selector().select(accuracy)) == Names{"int8", "int8", "int8"});
  // The least sum over bytes from 750 to 12000 and errors from 0 to 21.1: 0.044 + 0.015.
  const PrecisionSelection knee = selector().select({PrecisionGoal::balanced});
  CHECK(schemes(knee) == Names{"int4", "int4", "int2"});
}

TEST_CASE("fewest bytes for an error") {
  PrecisionCriteria by_error = custom(), by_sqnr = custom();
  by_error.max_error = 0.03;
  const PrecisionSelection s = selector().select(by_error);
  CHECK(schemes(s) == Names{"int4", "int8", "int4"});
  by_sqnr.min_sqnr_db = 20;  // a mean error of 0.01
  CHECK(schemes(selector().select(by_sqnr)) == schemes(s));
  by_sqnr.min_sqnr_db = 200;
  CHECK(schemes(selector().select(by_sqnr)) == Names{"float", "float", "float"});
}

TEST_CASE("a speedup is a second budget") {
  PrecisionCriteria c = in_bits(32);
  c.min_speedup = 2;  // of 12 s 6: float takes 4, two bits 3, four 2, eight 1
  const PrecisionSelection s = selector(1).select(c);
  CHECK(schemes(s) == Names{"int8", "float", "int8"});
  CHECK(s.speedup == 2);
  c.max_bits_per_weight = 6;
  c.min_speedup = 2.4;  // 5 s
  const PrecisionSelection t = selector(1).select(c);
  CHECK(schemes(t) == Names{"int4", "int8", "int4"});
  CHECK(t.cost.seconds == 5);
  c.min_speedup = 3;
  test::raises(errc::bad_argument, {"seconds 4, where the least is 5"},
               [&] { (void)selector(1).select(c); });
}

TEST_CASE("more bits never give a worse error, and fit what is asked for") {
  const PrecisionSelector s = selector();
  double before = std::numeric_limits<double>::infinity();
  for (double bits = 2; bits < 33; bits += 0.25) {
    const PrecisionSelection at = s.select(in_bits(bits));
    CHECK(at.cost.error <= before);
    CHECK(at.bits_per_weight() <= bits);
    before = at.cost.error;
  }
}

TEST_CASE("a limit that everything keeps is a limit") {
  CHECK(schemes(selector().select(in_bits(1e75))) == Names{"float", "float", "float"});
  PrecisionCriteria c = custom();
  c.min_sqnr_db = -1e75;
  CHECK(schemes(selector().select(c)) == Names{"int2", "int2", "int2"});
}

TEST_CASE("limits that nothing keeps name what can be reached") {
  CHECK(test::has(refused(in_bits(1.9)), "bytes 712, where the least is 750"));
  PrecisionCriteria c = in_bits(2);
  c.max_error = 1;
  CHECK(test::has(refused(c), "error 1, where the least is 21.1"));
  CHECK(test::has(refused(custom()), "a limit"));
  c = custom();
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    c.max_bits_per_weight = bad;
    CHECK(test::has(refused(c), "max_bits_per_weight above 0"));
  }
  c = custom();
  c.min_sqnr_db = std::nan("");
  CHECK(test::has(refused(c), "min_sqnr_db"));
  c = custom();
  c.max_error = -1;
  CHECK(test::has(refused(c), "max_error of at least 0"));
  c = custom();
  c.min_speedup = 2;
  CHECK(test::has(refused(c), "seconds of every candidate"));
}

TEST_CASE("models must have float first, and each scheme once") {
  const auto text = [](const PrecisionModel& model) {
    return test::refused(errc::bad_argument, [&] { (void)PrecisionSelector(model); });
  };
  CHECK(test::has(text({{{"w", 1, {}}}}), "of \"w\" to be \"float\", got none"));
  CHECK(test::has(text({{{"w", 1, {{"int8", 1, 0}}}}}), "got \"int8\""));
  CHECK(test::has(text({{{"w", 1, {{"float", 1, 0}, {"int8", 1, 0}, {"int8", 2, 0}}}}}), "twice"));
  CHECK(test::has(text({{{"w", 1, {{"float", 1, std::nan("")}}}}}), "finite"));
}

TEST_CASE("no tensors, and tensors that can only stay float") {
  const PrecisionSelector none{PrecisionModel{}};
  CHECK(none.select({PrecisionGoal::accuracy}).nodes.empty());
  CHECK(none.select({PrecisionGoal::performance}).bits_per_weight() == 0);
  const PrecisionSelector only({{{"w", 10, {{"float", 40, 0}}}}});
  const PrecisionSelection s = only.select({PrecisionGoal::balanced});
  CHECK(schemes(s) == Names{"float"});
  CHECK(s.nodes[0].confidence == 1);
  CHECK(test::has(s.nodes[0].reason, "nothing is better"));
  CHECK(std::isinf(s.sqnr_db()));
}

TEST_CASE("every choice has its reason and its confidence") {
  const PrecisionSelector from = selector();
  const PrecisionSelection s = from.select(in_bits(4.67));
  CHECK(test::has(s.nodes[1].reason, "int8, 8 bits, error 0.002"));
  CHECK(test::has(s.nodes[1].reason, "float takes 3000 bytes more for error 0"));
  CHECK(test::has(s.nodes[1].reason, "int4 saves 500 bytes at error 0.2"));
  // By hand: of what is left at 1750 bytes, c from int2 to int4 saves most.
  const double price = (0.1 - 0.001) / 250;
  const auto cost = [&](double error, double bytes) { return error + price * bytes; };
  CHECK(std::abs(s.nodes[0].confidence - (1 - cost(1e-2, 500) / cost(1e-4, 1000))) < 1e-9);
  CHECK(std::abs(s.nodes[1].confidence - (1 - cost(2e-3, 1000) / cost(0.2, 500))) < 1e-9);
  CHECK(s.nodes[2].confidence >= 0);
  // Equal candidates: no confidence in either.
  const PrecisionSelector equal({{{"w", 8, {{"float", 32, 0}, {"a", 8, 0.5}, {"b", 8, 0.5}}}}});
  CHECK(equal.select(in_bits(8)).nodes[0].choice.scheme == "a");
  CHECK(equal.select(in_bits(8)).nodes[0].confidence == 0);
}

TEST_CASE("tied tensors take one scheme of those that all have") {
  PrecisionModel model{{node("q", 1), node("k", 10), node("other", 1)}, {{0, 1}}, {}};
  model.nodes[0].candidates.erase(model.nodes[0].candidates.begin() + 1);  // no int8
  // A conversion of 100 bytes between k as int4 and other as int8.
  tq::SelectionEdge edge{1, 2, std::vector<tq::SelectionCost>(16)};
  edge.costs[2 * 4 + 1].bytes = 100;
  model.edges = {edge};
  const PrecisionSelector s(model);
  CHECK(s.model().nodes[1].candidates.size() == 3);
  const PrecisionSelection at = s.select(in_bytes(2000));
  CHECK(schemes(at) == Names{"int4", "int4", "int4"});
  const PrecisionSelection more = s.select(in_bytes(2100));
  CHECK(schemes(more) == Names{"int4", "int4", "int8"});
  CHECK(more.cost.bytes == 2100);
  CHECK(more.graph == tq::SelectionGraph::forest);
  CHECK(s.uniform("int4").cost.bytes == 1500);
  CHECK(schemes(s.uniform("int8")) == Names{"float", "float", "int8"});
}

TEST_CASE("priors fill in for what was not measured, and say so") {
  const std::vector<tq::PrecisionPrior> priors{{tq::OperationKind::generic, "int4", 0.5, 2},
                                               {tq::OperationKind::matmul, "int4", 0.25, 4}};
  PrecisionNode a{"a", 10, {{"float", 40, 0, 8}}};
  CHECK(tq::find_prior(priors, tq::OperationKind::conv2d, "int4")->error == 0.5);
  CHECK(tq::find_prior(priors, tq::OperationKind::matmul, "int8") == nullptr);
  CHECK(tq::add_prior(a, *tq::find_prior(priors, tq::OperationKind::matmul, "int4"), 5));
  CHECK_FALSE(tq::add_prior(a, priors[0], 5));  // there is one
  CHECK(a.candidates[1].seconds == 2);
  const PrecisionSelection s = PrecisionSelector({{a}}).select(in_bits(4));
  CHECK(s.nodes[0].choice.evidence == tq::Evidence::prior);
  CHECK(test::has(s.nodes[0].reason, "not measured, by a prior"));
  test::raises(errc::bad_argument, {"above 0"},
               [&] { (void)tq::add_prior(a, {tq::OperationKind::relu, "int2", 1, 0}, 1); });
  PrecisionNode empty{"e", 10, {}};
  test::raises(errc::no_data, {"float"}, [&] { (void)tq::add_prior(empty, priors[0], 5); });
}

TEST_CASE("a function of the user's says what a candidate does to the whole model") {
  PrecisionModel model{{node("a", 1), node("b", 10)}};
  std::size_t calls = 0;
  const auto loss = [&](std::size_t i, const tq::PrecisionCandidate& c) {
    ++calls;
    return 2 + (i == 0 ? 5 * c.error : -1e-9);  // b gets better, if anything
  };
  PrecisionModel probed = model;
  CHECK(tq::probe_errors(probed, 2, loss) == 3);
  CHECK(calls == 6);
  CHECK(probed.nodes[0].candidates[0].error == 0);
  CHECK(std::abs(probed.nodes[0].candidates[2].error - 0.05) < 1e-12);
  CHECK(probed.nodes[1].candidates[3].error == 0);

  // One call a node: errors in proportion, those of a node without the scheme by the mean factor.
  PrecisionModel factors{{node("a", 1), node("b", 10), node("c", 1)}};
  factors.nodes[2].candidates.pop_back();
  calls = 0;
  const auto linear = [&](std::size_t i, const tq::PrecisionCandidate& c) {
    ++calls;
    return 2 + (i == 0 ? 5 : 7) * c.error;
  };
  CHECK(tq::probe_factors(factors, 2, "int2", linear) == 0);
  CHECK(calls == 2);
  CHECK(std::abs(factors.nodes[0].candidates[1].error - 5e-4) < 1e-12);
  CHECK(std::abs(factors.nodes[1].candidates[1].error - 7e-3) < 1e-12);
  CHECK(std::abs(factors.nodes[2].candidates[1].error - 6e-4) < 1e-12);
  test::raises(errc::not_finite, {"finite losses"}, [&] {
    (void)tq::probe_errors(factors, 2,
                           [](std::size_t, const tq::PrecisionCandidate&) { return std::nan(""); });
  });
}

TEST_CASE("a uniform scheme that measures better is taken") {
  const PrecisionSelector s = selector();
  const PrecisionSelection chosen = s.select(in_bits(4.67));
  std::set<std::string> seen;
  const auto flat = [&](const PrecisionSelection& p) {
    seen.insert(p.nodes[0].choice.scheme + p.nodes[1].choice.scheme);
    return p.cost.error;
  };
  const tq::ValidatedPrecision same = tq::validated(s, chosen, flat);
  CHECK_FALSE(same.uniform);
  CHECK(same.loss == chosen.cost.error);
  CHECK(seen == std::set<std::string>{"int4int8", "int4int4", "int2int2"});
  const tq::ValidatedPrecision other = tq::validated(s, chosen, [](const PrecisionSelection& p) {
    return p.nodes[1].choice.scheme == "int4" ? 1.0 : 2.0;
  });
  CHECK(other.uniform == "int4");
  CHECK(other.loss == 1);
  CHECK(schemes(other.selection) == Names{"int4", "int4", "int4"});
}
