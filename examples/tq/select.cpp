// SPDX-License-Identifier: MIT
// tq select: a scheme for every tensor, from what each would lose, within a budget.
#include "commands.hpp"
#include "kind_table.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "precision.hpp"
#include "progress.hpp"
#include "selection.hpp"
#include "state_file.hpp"

#include <tq/json/weight_algorithm_json.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/hessians.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::PrecisionSelection;

tq::io::Json selected_to_json(const tq::SelectedPrecision& node, const StoredTensor& tensor) {
  tq::io::Json out = tool::selected_to_json(node);
  out["shape"] = tensor.shape;
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
                     const SelectOptions& options, std::size_t by_weights) {
  if (selection.nodes.size() > most_rows && !options.talk.verbose) print_kinds(selection);
  else print_tensors(selection, plan);
  if (!options.hessian.empty())
    std::cout << plan.tensors.size() - by_weights
              << " tensors with the expected error of their outputs, " << by_weights
              << " without a Hessian with that of their weights.\n";
  print_summary(selection, options, plan.skipped_bytes,
                std::to_string(plan.skipped.size()) + " tensors that stay as they are");
}

// Throws: UsageError beside options that Hessians do not go with; tq::error where no tensor has
// one.
void require_hessians(const ExpectedErrors& outputs, const PrecisionPlan& plan,
                      const SelectOptions& options) {
  if (options.allow_nonfinite)
    throw UsageError("--allow-nonfinite: expected none beside --hessian, for finite weights");
  for (const StoredTensor* t : plan.tensors)
    if (outputs.has(*t)) return;
  throw tq::error(tq::errc::no_data, options.hessian +
                                         ": expected the Hessian of a matrix to choose for, by "
                                         "its name or that of its module, got none of the " +
                                         std::to_string(plan.tensors.size()));
}

// Gives gptq to the tensors with expected errors of outputs, which are those that it leaves.
void add_algorithms(tq::io::Json& config, const ExpectedErrors& outputs, const PrecisionPlan& plan,
                    const PrecisionSelection& selection, const SelectOptions& options) {
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    for (const tq::NamedScheme& scheme : plan.schemes)
      if (scheme.name == selection.nodes[i].choice.scheme && outputs.has(*plan.tensors[i]))
        config["nodes"][i]["algorithm"] =
            tq::io::algorithm_to_json({.name = "gptq",
                                       .scales = tq::weight_scales_for(scheme.spec),
                                       .allow_few_tokens = options.allow_few_tokens});
}

}  // namespace

void select(const SelectOptions& options) {
  if (!options.engine.empty()) return select_for(options);
  if (!options.activations.empty()) throw UsageError("--activations: expected none without --for");
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  (void)goal_of(options);
  require_sense(options);
  StoredModel model(options.file);
  require_other_file("-o", options.out, model.files(), "MODEL");
  require_no_configuration("-o", options.out, model.contents());
  if (!options.profile.empty())
    require_other_file("-o", options.out, {options.profile}, "--profile");
  const PrecisionPlan plan = precision_plan(model, options);
  require_schemes(plan, "tq select without --for llama.cpp");
  const std::uint64_t fewest = plan.fewest_bytes();
  require_reachable(
      options, {fewest, plan.weights, fewest + plan.skipped_bytes, plan.skipped_bytes, "copied"});
  const tq::PrecisionCriteria criteria = criteria_of(options, plan.skipped_bytes);
  const bool measures_time = options.min_speedup || options.goal == "performance";
  TextFiles output;
  output.open(options.out, options.overwrite);
  std::optional<tq::Hessians> hessians;
  std::optional<ExpectedErrors> outputs;
  if (!options.hessian.empty()) {
    hessians = tq::Hessians::of_file(options.hessian);
    outputs.emplace(model, *hessians,
                    tq::FactorOptions{.allow_few_tokens = options.allow_few_tokens});
    require_hessians(*outputs, plan, options);
  }
  MeasuredPrecision measured =
      measured_precision(model, plan, options,
                         measures_time && options.profile.empty() ? Times::measured : Times::none,
                         outputs ? &*outputs : nullptr);
  if (!options.profile.empty()) set_times(measured.model, plan, options, options.profile);
  const tq::PrecisionSelector selector(std::move(measured.model));
  const PrecisionSelection selection = selector.select(criteria);
  std::vector<std::string> skipped_names;
  for (const SkippedTensor& t : plan.skipped) skipped_names.push_back(t.name);
  tq::io::Json config = tq::io::precision_to_json(selection, skipped_names, plan.schemes);
  if (outputs) add_algorithms(config, *outputs, plan, selection, options);
  output.write(0, config.dump(2) + "\n");
  output.commit();
  if (!options.json && options.talk.quiet) return;
  if (!options.json) return print_selection(selection, plan, options, measured.by_weights.size());
  tq::io::Json tensors = tq::io::Json::array(), skipped = tq::io::Json::array();
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    tensors.push_back(selected_to_json(selection.nodes[i], *plan.tensors[i]));
  for (const SkippedTensor& t : plan.skipped)
    skipped.push_back({{"name", t.name}, {"reason", t.reason}});
  tq::io::Json report{
      {"file", options.file},          {"output", options.out},
      {"tensors", std::move(tensors)}, {"skipped", std::move(skipped)},
      {"cannot", measured.cannot},     {"total", total_to_json(selection, plan.skipped_bytes)}};
  if (outputs) report["without_hessian"] = measured.by_weights;
  print_json(report);
}

}  // namespace tool
