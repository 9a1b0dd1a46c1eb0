// SPDX-License-Identifier: MIT
// tq select --for: a scheme that an engine runs for every layer, one for layers that it fuses.
#include "checkpoint_choice.hpp"
#include "commands.hpp"
#include "engine_selection.hpp"
#include "kind_table.hpp"
#include "measured_layers.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "precision.hpp"
#include "progress.hpp"
#include "selection.hpp"
#include "state_file.hpp"
#include "write_formats.hpp"

#include <tq/checkpoints/format/mlx.hpp>
#include <tq/error.hpp>
#include <tq/json/json_text.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/activation_files.hpp>
#include <tq/store/activation_ranges.hpp>
#include <tq/store/select_checkpoint.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// Throws: UsageError for schemes of MLX that layers of one model cannot have.
void require_mixable(const MixtureFormat& mixture) {
  std::vector<tq::format::mlx> schemes;
  for (const std::string& name : mixture.schemes)
    set_scheme(schemes.emplace_back(), scheme_choice(mixture.format, name, "--types"));
  try {
    tq::format::mlx::require_mixable(schemes);
  } catch (const tq::error& e) {
    throw UsageError(std::string("--types: ") + e.what());
  }
}

// The schemes to choose from. Throws: UsageError for names that the format has not.
MixtureFormat mixture_of(const SelectOptions& options) {
  MixtureFormat mixture = mixture_format(options.engine);
  if (!options.types.empty()) mixture.schemes = options.types;
  for (const std::string& scheme : mixture.schemes) {
    require_runs(options.engine, scheme_choice(mixture.format, scheme, "--types"), "--types");
    if (std::ranges::count(mixture.schemes, scheme) != 1)
      throw UsageError("--types: expected each scheme once, got \"" + scheme + "\" twice");
  }
  if (mixture.format == "mlx") require_mixable(mixture);
  return mixture;
}

tq::io::Json configuration(const tq::PrecisionSelection& selection, const std::string& format) {
  tq::io::Json layers = tq::io::Json::array();
  for (const tq::SelectedPrecision& node : selection.nodes)
    layers.push_back(
        {{"module", node.name}, {"scheme", node.choice.scheme}, {"reason", node.reason}});
  return {{"version", 1}, {"format", format}, {"layers", std::move(layers)}};
}

// Throws: UsageError for activations that no scheme takes, and for a scheme that lacks them.
void require_activations(const SelectOptions& options, const MixtureFormat& mixture) {
  const auto found = std::ranges::find_if(mixture.schemes, is_static);
  if (found != mixture.schemes.end() && options.activations.empty())
    throw UsageError("--types, scheme \"" + *found +
                     "\": expected --activations, for the scales of activations that it stores");
  if (found == mixture.schemes.end() && !options.activations.empty())
    throw UsageError(
        "--activations: expected none without fp8-static or nvfp4-w4a4 among --types, which store "
        "scales of activations");
}

// The largest activations of the layers, or null. Throws: UsageError where one of their files is
// the output; as tq::ActivationRanges.
std::shared_ptr<const tq::ActivationRanges> inputs_of(const SelectOptions& options) {
  if (options.activations.empty()) return nullptr;
  require_other_file("-o", options.out, tq::activation_files(options.activations), "--activations");
  return std::make_shared<const tq::ActivationRanges>(
      tq::ActivationRanges::of_activations(options.activations));
}

// The command that writes the choice.
std::string command_of(const SelectOptions& options, const tq::PrecisionSelection& selection) {
  std::string line = "tq quantize " + quoted(options.file) + " OUT --for " + options.engine +
                     " --config " + quoted(options.out) + name_options(options.names);
  if (options.tensor_parallel > 1)
    line += " --tensor-parallel " + std::to_string(options.tensor_parallel);
  if (std::ranges::any_of(selection.nodes, [](const tq::SelectedPrecision& node) {
        return is_static(node.choice.scheme);
      }))
    for (const std::string& file : options.activations) line += " --activations " + quoted(file);
  return line;
}

// The best choice. Throws: UsageError where none keeps a size and an SQNR together.
tq::PrecisionSelection chosen_layers(const tq::CheckpointMeasurement& measured,
                                     const SelectOptions& options, const FileSizes& sizes) {
  try {
    return tq::select_checkpoint(measured, criteria_of(options, 0), sizes.bytes);
  } catch (const tq::error& e) {
    if (e.code() != tq::errc::bad_argument || !options.max_bytes || !options.min_sqnr) throw;
    throw UsageError("--min-sqnr: expected an SQNR that files of at most --max-bytes " +
                     std::to_string(*options.max_bytes) + " can have, got " +
                     exact_number(*options.min_sqnr));
  }
}

bool is_quantized(const tq::PrecisionSelection& selection) {
  return std::ranges::any_of(selection.nodes, [](const tq::SelectedPrecision& node) {
    return node.choice.scheme != tq::float_scheme;
  });
}

// Throws: errc::unsupported for a choice that the engine does not load.
void require_loaded(const SelectOptions& options, const FileSizes& sizes,
                    const tq::PrecisionSelection& selection) {
  if (const std::string problem = sizes.problem(selection); !problem.empty())
    throw tq::error(tq::errc::unsupported, options.file + ": expected layers that " +
                                               options.engine + " loads, but " + problem);
}

// Throws: UsageError for a size that no choice of layers has; errc::unsupported where the engine
// loads none.
void require_reachable_files(const SelectOptions& options, const MixtureFormat& mixture,
                             const FileSizes& sizes) {
  if (!options.max_bytes && !options.max_bits) return;
  const tq::CheckpointMeasurement layers = sized_layers(options, mixture);
  const tq::PrecisionSelector selector(layers.layers);
  LeastSize size{selector.frontier().fewest_bytes().cost.bytes,
                 weights_of(layers.layers),
                 0,
                 0,
                 "headers and tensors that stay as they are",
                 [&] { return uniform_sizes(selector, sizes.bytes); }};
  if (options.max_bytes) {
    const tq::PrecisionSelection least = tq::select_smallest_checkpoint(layers, sizes.bytes);
    if (!is_quantized(least))
      require_loaded(options, sizes, selector.select({tq::PrecisionGoal::performance}));
    size.all = sizes.bytes(least);
    size.rest = size.all - least.cost.bytes;
  }
  require_reachable(options, size);
}

// `files`: bytes of all files with weights.
void print(const tq::PrecisionSelection& selection, std::uint64_t files,
           const SelectOptions& options) {
  if (options.talk.verbose || selection.nodes.size() <= most_rows) {
    Table table({{"layer"}, {"scheme"}, {"bits/weight", true}, {"SQNR dB", true}});
    for (const tq::SelectedPrecision& node : selection.nodes)
      table.add({printable(node.name), node.choice.scheme,
                 fixed(bits_per_weight(node.choice.bytes, node.weights), 3),
                 fixed(sqnr_of(node.choice.error), 2)});
    table.print();
  } else {
    KindTable table("scheme");
    for (const tq::SelectedPrecision& node : selection.nodes)
      table.add({node.choice.scheme, node.name, node.weights, node.choice.bytes,
                 sqnr_of(node.choice.error)});
    table.print();
  }
  print_summary(selection, options, files - selection.cost.bytes,
                "tensors that stay as they are and headers");
  std::cout << "The weight files will have " << grouped(files) << " bytes.\n";
  std::cout << (is_quantized(selection) ? command_of(options, selection)
                                        : "All layers stay in float: use the model as it is.")
            << '\n';
}

}  // namespace

void select_for(const SelectOptions& options) {
  if (options.engine == gguf_engine) {
    if (!options.activations.empty())
      throw UsageError("--activations: expected none for " + options.engine);
    return select_gguf(options);
  }
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  static_cast<void>(goal_of(options));
  require_sense(options);
  require_no_others(options);
  if (options.requantize) throw UsageError("--requantize: expected none beside --for");
  MixtureFormat mixture = mixture_of(options);
  require_activations(options, mixture);
  const StoredModel model(options.file);
  require_other_file("-o", options.out, model.files(), "MODEL");
  require_no_configuration("-o", options.out, model.contents());
  mixture.inputs = inputs_of(options);
  TextFiles output;
  output.open(options.out, options.overwrite);
  const FileSizes sizes = file_sizes(options, mixture);
  require_reachable_files(options, mixture, sizes);
  const tq::CheckpointMeasurement measured = measured_layers(options, mixture);
  const tq::PrecisionSelection selection = chosen_layers(measured, options, sizes);
  require_loaded(options, sizes, selection);
  const std::uint64_t files = sizes.bytes(selection);
  output.write(0, configuration(selection, mixture.format).dump(2) + "\n");
  output.commit();
  if (!options.json && options.talk.quiet) return;
  if (!options.json) return print(selection, files, options);
  tq::io::Json layers = tq::io::Json::array(), left = tq::io::Json::array();
  for (const tq::SelectedPrecision& node : selection.nodes)
    layers.push_back(selected_to_json(node));
  for (const tq::io::LeftModule& m : measured.left)
    left.push_back({{"module", m.module}, {"reason", m.reason}});
  print_json({{"file", options.file},
              {"output", options.out},
              {"for", options.engine},
              {"format", mixture.format},
              {"layers", std::move(layers)},
              {"left", std::move(left)},
              {"command", is_quantized(selection) ? tq::io::Json(command_of(options, selection))
                                                  : tq::io::Json()},
              {"total", total_to_json(selection, files - selection.cost.bytes)}});
}

}  // namespace tool
