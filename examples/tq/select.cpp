// SPDX-License-Identifier: MIT
// tq select: a scheme for every tensor, from what each would lose, within a budget.
#include "commands.hpp"
#include "kind_table.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "precision.hpp"
#include "progress.hpp"
#include "state_file.hpp"

#include <tq/scheme/closest_name.hpp>
#include <tq/select/precision_selector.hpp>

#include <array>
#include <cmath>
#include <iostream>
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

PrecisionGoal goal_of(const SelectOptions& options) {
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

// Throws: UsageError, before anything is measured, for a size that no choice has.
void require_reachable(const SelectOptions& options, const PrecisionPlan& plan) {
  const std::uint64_t fewest = plan.fewest_bytes();
  if (options.max_bytes && *options.max_bytes < fewest + plan.skipped_bytes)
    throw UsageError("--max-bytes: expected at least " +
                     std::to_string(fewest + plan.skipped_bytes) + " for these types, of which " +
                     std::to_string(plan.skipped_bytes) + " are copied, got " +
                     std::to_string(*options.max_bytes));
  const double least = bits_per_weight(fewest, plan.weights);
  if (options.max_bits && *options.max_bits < least)
    throw UsageError("--max-bits: expected at least " + fixed_up(least, 4) +
                     " for these types, got " + exact_number(*options.max_bits));
}

tq::PrecisionCriteria criteria_of(const SelectOptions& options, const PrecisionPlan& plan) {
  tq::PrecisionCriteria out{goal_of(options)};
  out.min_sqnr_db = options.min_sqnr;
  out.max_bits_per_weight = options.max_bits;
  out.min_speedup = options.min_speedup;
  if (options.max_bytes) out.max_bytes = *options.max_bytes - plan.skipped_bytes;
  return out;
}

tq::io::Json selected_to_json(const tq::SelectedPrecision& node, const StoredTensor& tensor) {
  const tq::PrecisionCandidate& c = node.choice;
  tq::io::Json out{{"name", node.name},
                   {"shape", tensor.shape},
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

tq::io::Json total_to_json(const PrecisionSelection& selection, const PrecisionPlan& plan) {
  tq::io::Json out{{"tensors", selection.nodes.size()},
                   {"weights", selection.weights},
                   {"bytes", selection.cost.bytes + plan.skipped_bytes},
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

void print_tensors(const PrecisionSelection& selection, const PrecisionPlan& plan) {
  Table table({{"tensor"},
               {"shape"},
               {"scheme"},
               {"bits/weight", true},
               {"SQNR dB", true},
               {"error %", true},
               {"confidence", true}});
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const tq::SelectedPrecision& node = selection.nodes[i];
    const double share =
        selection.cost.error > 0 ? 100 * node.choice.error / selection.cost.error : 0;
    table.add({printable(node.name), tq::io::shape_text(plan.tensors[i]->shape), node.choice.scheme,
               fixed(bits_per_weight(node.choice.bytes, node.weights), 3),
               fixed(sqnr_of(node.choice.error), 2), fixed(share, 1), fixed(node.confidence, 2)});
  }
  table.print();
}

void print_kinds(const PrecisionSelection& selection) {
  KindTable table("scheme");
  for (const tq::SelectedPrecision& node : selection.nodes)
    table.add({node.choice.scheme, node.name, node.weights, node.choice.bytes,
               sqnr_of(node.choice.error)});
  table.print();
}

void print_selection(const PrecisionSelection& selection, const PrecisionPlan& plan,
                     const SelectOptions& options) {
  if (selection.nodes.size() > most_rows && !options.talk.verbose) print_kinds(selection);
  else print_tensors(selection, plan);
  std::cout << '\n'
            << selection.nodes.size() << " tensors, " << grouped(selection.weights)
            << " weights: " << fixed(selection.bits_per_weight(), 3) << " bits per weight, SQNR "
            << fixed(selection.sqnr_db(), 2) << " dB; " << grouped(selection.cost.bytes)
            << " bytes, and " << grouped(plan.skipped_bytes) << " of " << plan.skipped.size()
            << " tensors that stay as they are.\n";
  if (selection.cost.seconds > 0)
    std::cout << fixed(selection.speedup, 2)
              << " times as fast as float32, in products with activations.\n";
  if (selection.optimal) std::cout << "Proven: nothing within the limits is better.\n";
  else if (selection.gap > 0 && std::isfinite(selection.gap) && options.goal != "balanced")
    std::cout << "Not proven: at most " << short_up(100 * selection.gap) << " % from the best.\n";
  std::cout
      << "SQNR of all is that of the mean error, sum d^2 / sum w^2, of the tensors; error % is "
         "a tensor's share of it.\nThe configuration is in "
      << options.out << ".\n";
}

}  // namespace

void select(const SelectOptions& options) {
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  (void)goal_of(options);
  require_sense(options);
  StoredModel model(options.file);
  require_other_file("-o", options.out, model.files(), "MODEL");
  require_no_configuration("-o", options.out, model.contents());
  if (!options.profile.empty())
    require_other_file("-o", options.out, {options.profile}, "--profile");
  const PrecisionPlan plan = precision_plan(model, options);
  require_reachable(options, plan);
  const tq::PrecisionCriteria criteria = criteria_of(options, plan);
  const bool measures_time = options.min_speedup || options.goal == "performance";
  TextFiles output;
  output.open(options.out, options.overwrite);
  MeasuredPrecision measured =
      measured_precision(model, plan, options,
                         measures_time && options.profile.empty() ? Times::measured : Times::none);
  if (!options.profile.empty()) set_times(measured.model, plan, options, options.profile);
  const tq::PrecisionSelector selector(std::move(measured.model));
  const PrecisionSelection selection = selector.select(criteria);
  std::vector<std::string> skipped_names;
  for (const SkippedTensor& t : plan.skipped) skipped_names.push_back(t.name);
  output.write(0, tq::io::precision_to_json(selection, skipped_names, plan.schemes).dump(2) + "\n");
  output.commit();
  if (!options.json && options.talk.quiet) return;
  if (!options.json) return print_selection(selection, plan, options);
  tq::io::Json tensors = tq::io::Json::array(), skipped = tq::io::Json::array();
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    tensors.push_back(selected_to_json(selection.nodes[i], *plan.tensors[i]));
  for (const SkippedTensor& t : plan.skipped)
    skipped.push_back({{"name", t.name}, {"reason", t.reason}});
  print_json({{"file", options.file},
              {"output", options.out},
              {"tensors", std::move(tensors)},
              {"skipped", std::move(skipped)},
              {"cannot", measured.cannot},
              {"total", total_to_json(selection, plan)}});
}

}  // namespace tool
