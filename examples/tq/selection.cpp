// SPDX-License-Identifier: MIT
#include "selection.hpp"

#include "output.hpp"
#include "output_files.hpp"
#include "precision.hpp"

#include <tq/scheme/closest_name.hpp>

#include <array>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::PrecisionGoal;
using tq::PrecisionSelection;

constexpr std::array<std::pair<const char*, PrecisionGoal>, 3> goals{
    {{"performance", PrecisionGoal::performance},
     {"balanced", PrecisionGoal::balanced},
     {"accuracy", PrecisionGoal::accuracy}}};

}  // namespace

tq::PrecisionGoal goal_of(const SelectOptions& options) {
  const bool has_limit =
      options.max_bits || options.max_bytes || options.min_sqnr || options.min_speedup;
  if (options.goal.empty()) {
    if (has_limit) return PrecisionGoal::custom;
    throw UsageError(
        "expected --max-bits, --max-bytes, --min-sqnr, --min-speedup or --goal, got none");
  }
  std::vector<std::string> names;
  for (const auto& [name, goal] : goals) {
    if (options.goal == name) return goal;
    names.emplace_back(name);
  }
  throw UsageError("--goal: expected performance, balanced or accuracy, got \"" + options.goal +
                   '"' + tq::did_you_mean(options.goal, names));
}

void require_sense(const SelectOptions& options) {
  const auto above_zero = [](const char* name, const std::optional<double>& value) {
    if (value && !(std::isfinite(*value) && *value > 0))
      throw UsageError(std::string(name) + ": expected a number above 0, got " +
                       exact_number(*value));
  };
  above_zero("--max-bits", options.max_bits);
  above_zero("--min-speedup", options.min_speedup);
  if (options.min_sqnr && !std::isfinite(*options.min_sqnr))
    throw UsageError("--min-sqnr: expected a finite number, got " +
                     exact_number(*options.min_sqnr));
  require_extension("-o", options.out, {".json"});
  remove_leftovers(options.out);
}

void require_reachable(const SelectOptions& options, const LeastSize& least) {
  if (options.max_bytes && *options.max_bytes < least.all)
    throw UsageError("--max-bytes: expected at least " + std::to_string(least.all) +
                     " for these types, of which " + std::to_string(least.rest) + " are " +
                     least.others + ", got " + std::to_string(*options.max_bytes) +
                     (least.reach ? "; sizes of one scheme: " + least.reach() : ""));
  const double bits = bits_per_weight(least.bytes, least.weights);
  if (options.max_bits && *options.max_bits < bits)
    throw UsageError("--max-bits: expected at least " + fixed_up(bits, 4) +
                     " for these types, got " + exact_number(*options.max_bits));
}

tq::PrecisionCriteria criteria_of(const SelectOptions& options, std::uint64_t kept) {
  tq::PrecisionCriteria out{goal_of(options)};
  out.min_sqnr_db = options.min_sqnr;
  out.max_bits_per_weight = options.max_bits;
  out.min_speedup = options.min_speedup;
  if (options.max_bytes) out.max_bytes = *options.max_bytes - kept;
  return out;
}

tq::io::Json selected_to_json(const tq::SelectedPrecision& node) {
  const tq::PrecisionCandidate& c = node.choice;
  tq::io::Json out{{"name", node.name},
                   {"scheme", c.scheme},
                   {"bytes", c.bytes},
                   {"bits_per_weight", bits_per_weight(c.bytes, node.weights)},
                   {"error", c.error},
                   {"confidence", node.confidence},
                   {"evidence", std::string(to_string(c.evidence))},
                   {"reason", node.reason}};
  put_number(out, "sqnr_db", sqnr_of(c.error));
  if (c.seconds > 0) {
    out["seconds"] = c.seconds;
    out["work"] = std::string(to_string(c.timed));
  }
  return out;
}

tq::io::Json total_to_json(const PrecisionSelection& selection, std::uint64_t kept) {
  tq::io::Json out{{"tensors", selection.nodes.size()},
                   {"weights", selection.weights},
                   {"bytes", selection.cost.bytes + kept},
                   {"selected_bytes", selection.cost.bytes},
                   {"bits_per_weight", selection.bits_per_weight()},
                   {"error", selection.cost.error},
                   {"bound", selection.bound},
                   {"optimal", selection.optimal}};
  put_number(out, "sqnr_db", selection.sqnr_db());
  put_number(out, "gap", selection.gap);
  if (selection.cost.seconds > 0) {
    out["seconds"] = selection.cost.seconds;
    out["speedup"] = selection.speedup;
  }
  return out;
}

void print_proof(const PrecisionSelection& selection, const SelectOptions& options) {
  if (selection.optimal) std::cout << "Proven: nothing within the limits is better.\n";
  else if (selection.gap > 0 && std::isfinite(selection.gap) && options.goal != "balanced")
    std::cout << "Not proven: at most " << short_up(100 * selection.gap) << " % from the best.\n";
}

void print_summary(const PrecisionSelection& selection, const SelectOptions& options,
                   std::uint64_t kept, const std::string& others) {
  const char* const nodes = options.engine.empty() ? " tensors, " : " layers, ";
  std::cout << '\n'
            << selection.nodes.size() << nodes << grouped(selection.weights)
            << " weights: " << fixed(selection.bits_per_weight(), 3) << " bits per weight, SQNR "
            << fixed(selection.sqnr_db(), 2) << " dB; " << grouped(selection.cost.bytes)
            << " bytes, and " << grouped(kept) << " of " << others << ".\n";
  if (selection.cost.seconds > 0)
    std::cout << fixed(selection.speedup, 2)
              << " times as fast as float32, in products with activations.\n";
  print_proof(selection, options);
  std::cout << "SQNR of all is that of the mean error, "
            << (options.hessian.empty() ? "sum d^2 / sum w^2" : "of outputs, or else of weights")
            << ", of the " << (options.engine.empty() ? "tensors" : "layers")
            << "; error % is a share of it.\nThe configuration is in " << options.out << ".\n";
}

}  // namespace tool
