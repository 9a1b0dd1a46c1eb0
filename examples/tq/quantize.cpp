// SPDX-License-Identifier: MIT
// tq quantize: writes a model with its weights in fewer bits, and says what was lost.

#include "checkpoint_choice.hpp"
#include "checkpoint_report.hpp"
#include "commands.hpp"
#include "conversion_talk.hpp"
#include "measured_layers.hpp"
#include "progress.hpp"
#include "quantize_report.hpp"
#include "stored_model.hpp"
#include "write_formats.hpp"

#include <tq/store/activation_ranges.hpp>
#include <tq/store/checkpoint_sizes.hpp>
#include <tq/store/convert_model.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/measure_checkpoint.hpp>
#include <tq/store/write_checkpoint.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tool {

namespace {

std::optional<tq::Hessians> hessians_of(const QuantizeOptions& options) {
  if (!options.hessian.empty()) return tq::Hessians::of_file(options.hessian);
  if (!options.activations.empty()) return tq::Hessians::of_activations(options.activations);
  return std::nullopt;
}

tq::ConversionReport converted(const QuantizeOptions& options, const Team& team) {
  tq::ConvertOptions how;
  how.names = options.names;
  how.kinds = options.kinds;
  how.all = options.all;
  how.requantize = options.requantize;
  how.allow_nonfinite = options.allow_nonfinite;
  how.jobs = options.jobs;
  how.overwrite = options.overwrite;
  how.team = &team;
  const std::optional<tq::Hessians> hessians = hessians_of(options);
  how.algorithm = options.algorithm;
  how.hessians = hessians ? &*hessians : nullptr;
  const ConversionTalk talk("quantize", how);
  if (options.config.empty()) return tq::convert_model(options.in, options.out, options.spec, how);
  return tq::convert_model(options.in, options.out, std::filesystem::path(options.config), how);
}

tq::CheckpointReport written(const QuantizeOptions& options, const Team& team) {
  tq::CheckpointOptions how;
  how.names = options.names;
  how.tensor_parallel = options.checkpoint->tensor_parallel;
  how.engine = options.checkpoint->engine;
  how.jobs = options.jobs;
  how.overwrite = options.overwrite;
  how.team = &team;
  std::optional<tq::Hessians> hessians;
  if (options.algorithm.needs_hessian()) hessians = hessians_of(options);
  how.algorithm = options.algorithm;
  how.hessians = hessians ? &*hessians : nullptr;
  std::optional<tq::ActivationRanges> inputs;
  if (!static_type(*options.checkpoint).empty())
    inputs = tq::ActivationRanges::of_activations(options.activations);
  how.inputs = inputs ? &*inputs : nullptr;
  const ConversionTalk talk("quantize", how);
  return with_format(*options.checkpoint, [&](const auto& format) {
    return tq::write_checkpoint(options.out, options.in, format, how);
  });
}

tq::CheckpointOptions layer_options(const SelectOptions& options, const MixtureFormat& mixture) {
  tq::CheckpointOptions how;
  how.names = options.names;
  how.tensor_parallel = options.tensor_parallel;
  how.inputs = mixture.inputs.get();
  return how;
}

// Calls f with the schemes of a mixture by their names.
template <class F>
auto with_schemes_of(const MixtureFormat& mixture, F&& f) {
  std::map<std::string, std::string> names;
  for (const std::string& name : mixture.schemes) names.emplace(name, name);
  if (mixture.format == "mlx") return f(schemes_as<tq::format::mlx>(mixture.format, names));
  return f(schemes_as<tq::format::compressed_tensors>(mixture.format, names));
}

template <class F>
FileSizes file_sizes_of(const std::string& model, const std::map<std::string, F>& schemes,
                        const tq::CheckpointOptions& how) {
  const auto sizes = std::make_shared<const tq::CheckpointSizes<F>>(model, schemes, how);
  return {[sizes](const tq::PrecisionSelection& selection) { return (*sizes)(selection); },
          [sizes](const tq::PrecisionSelection& selection) { return sizes->problem(selection); }};
}

}  // namespace

tq::CheckpointMeasurement measured_layers(const SelectOptions& options,
                                          const MixtureFormat& mixture) {
  tq::CheckpointOptions how = layer_options(options, mixture);
  const ConversionTalk talk("measure", how);
  return with_schemes_of(mixture, [&](const auto& schemes) {
    return tq::measure_checkpoint(options.file, schemes, how);
  });
}

tq::CheckpointMeasurement sized_layers(const SelectOptions& options, const MixtureFormat& mixture) {
  return with_schemes_of(mixture, [&](const auto& schemes) {
    return tq::checkpoint_candidates(options.file, schemes, layer_options(options, mixture));
  });
}

FileSizes file_sizes(const SelectOptions& options, const MixtureFormat& mixture) {
  tq::CheckpointOptions how = layer_options(options, mixture);
  how.engine = options.engine;
  return with_schemes_of(
      mixture, [&](const auto& schemes) { return file_sizes_of(options.file, schemes, how); });
}

void quantize(const QuantizeOptions& options, const Team& team) {
  show_progress(team.rank() == 0 && !options.json && !options.talk.quiet, options.talk.progress);
  if (options.checkpoint) {
    const tq::CheckpointReport report = written(options, team);
    if (team.rank() == 0) print_checkpoint_report(report, options);
    return;
  }
  const tq::ConversionReport report = converted(options, team);
  if (team.rank() == 0) print_quantize_report(report, options);
}

}  // namespace tool
