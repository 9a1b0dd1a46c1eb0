// SPDX-License-Identifier: MIT
#include "algorithm_options.hpp"

#include "output.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tool {

AlgorithmOptions::AlgorithmOptions(CLI::App& command) {
  tq::WeightAlgorithm& a = algorithm_;
  const auto names = [](std::vector<std::string> known) { return CLI::IsMember(std::move(known)); };
  name_ =
      command
          .add_option("--algorithm", a.name,
                      "how codes are chosen: rtn (to nearest, the default); rtn-weighted, with "
                      "scales that are searched; gptq, which makes up for errors of codes; hqq, "
                      "which needs no data and finds offsets of --symmetry float_offset. "
                      "rtn-weighted and gptq take --hessian or --activations")
          ->check(names(tq::weight_algorithm_names()));
  const auto setting = [&](const char* field, const CLI::Option* option) {
    settings_.emplace_back(field, option);
  };
  setting("order", command
                       .add_option("--order", a.order,
                                   "of columns, for gptq: activation (default), group or natural")
                       ->check(names(tq::weight_order_names())));
  setting("scales", command
                        .add_option("--scales", a.scales,
                                    "of gptq: weighted (default; searched with the mean squares of "
                                    "inputs) or min_max")
                        ->check(names(tq::weight_scales_names())));
  setting("damping",
          command
              .add_option("--damping", a.damping,
                          "of the Hessian, in units of the mean of its diagonal (default 0.01)")
              ->check(CLI::Range(0.0, 1e6)));
  setting("sweeps", command
                        .add_option("--sweeps", a.sweeps,
                                    "of coordinate descent after gptq, at most (default 2)")
                        ->check(CLI::Range(std::size_t{0}, tq::WeightAlgorithm::most_sweeps)));
  setting("allow_few_tokens",
          command.add_flag("--allow-few-tokens", a.allow_few_tokens,
                           "take Hessians of fewer tokens than a quarter of the inputs"));
  setting("norm", command
                      .add_option("--norm", a.norm,
                                  "of hqq: the power of errors that counts, above 0 and at most 1 "
                                  "(default 0.7)")
                      ->check(CLI::Range(0.0, 1.0)));
  setting("fallback",
          command
              .add_option("--fallback", a.fallback,
                          "rtn: round weights whose activations are missing, or that are no "
                          "matrices, which the report counts; without it they are an error")
              ->check(names({"rtn"})));
  command.add_option(
      "--hessian", hessian_,
      "the file of Hessians that tq hessian wrote: that of a tensor has its name, or "
      "the name without .weight");
  command
      .add_option("--activations", activations_,
                  "files, and folders of files, of activations [..., inputs] by the same names, in "
                  "place of --hessian, and for the scales of activations that fp8-static and "
                  "nvfp4-w4a4 of --format store (repeatable)")
      ->allow_extra_args(false);
}

void AlgorithmOptions::require_used(bool has_config) const {
  const std::vector<std::string> known = tq::weight_algorithm_fields(algorithm_.name);
  for (const auto& [field, option] : settings_) {
    if (option->count() == 0) continue;
    if (has_config)
      throw UsageError(option->get_name() +
                       ": expected none beside --config, which has the algorithms");
    if (std::ranges::find(known, field) == known.end())
      throw UsageError(option->get_name() + ": expected none with --algorithm " + algorithm_.name);
  }
}

void AlgorithmOptions::require_data(bool has_config, const std::string& static_type) const {
  const bool has_file = !hessian_.empty(), has_activations = !activations_.empty();
  if (!static_type.empty() && !has_activations)
    throw UsageError("--type " + static_type +
                     ": expected --activations, for the scales of activations that it stores");
  if (static_type.empty() && has_file && has_activations)
    throw UsageError("--activations: expected none beside --hessian");
  if (has_config) return;
  const std::string name = "--algorithm " + algorithm_.name;
  if (algorithm_.needs_hessian() && !has_file && !has_activations)
    throw UsageError(name + ": expected --hessian or --activations, got neither");
  if (algorithm_.needs_hessian()) return;
  if (has_file) throw UsageError("--hessian: expected none with " + name);
  if (has_activations && static_type.empty())
    throw UsageError("--activations: expected none with " + name);
}

void AlgorithmOptions::apply(QuantizeOptions& options, bool has_config,
                             const std::string& static_type) const {
  if (has_config && name_->count() != 0)
    throw UsageError("--algorithm: expected none beside --config, which has the algorithms");
  require_used(has_config);
  require_data(has_config, static_type);
  if (std::isnan(algorithm_.damping)) throw UsageError("--damping: expected a number, got nan");
  if (!(algorithm_.norm > 0))
    throw UsageError("--norm: expected a number above 0 and at most 1, got " +
                     exact_number(algorithm_.norm));
  if (algorithm_.name != "rtn" && options.allow_nonfinite)
    throw UsageError("--allow-nonfinite: expected none with --algorithm " + algorithm_.name +
                     ", which takes finite weights");
  options.algorithm = algorithm_;
  options.hessian = hessian_;
  options.activations = activations_;
}

}  // namespace tool
