// SPDX-License-Identifier: MIT
#pragma once
// The steps of write_checkpoint.

#include <tq/checkpoints/detail/transformers_limit.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/checkpoint_report.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/checkpoint_folder.hpp>
#include <tq/store/detail/checkpoint_plan.hpp>
#include <tq/store/detail/found_layers.hpp>
#include <tq/store/detail/left_files.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/detail/set_magnitudes.hpp>
#include <tq/store/detail/write_plan.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/same_file.hpp>
#include <tq/store/team.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// A folder: model.safetensors, or as many shards as the model has, with an index.
[[nodiscard]] inline QuantizeTarget checkpoint_target(const std::filesystem::path& out,
                                                      const ModelContents& model) {
  if (out.has_extension() && is_file_name(out))
    raise_option("`out`: expected the name of a folder, got \"" + out.string() + "\"");
  const bool is_sharded = is_sharded_model(model);
  return {out, is_sharded ? "model.safetensors.index.json" : "model.safetensors", is_sharded, true};
}

// Throws: errc::malformed where the readers of tq do not find what was written.
inline void read_back(const QuantizeTarget& target, const CheckpointPlan& plan) {
  const ModelContents written(target.path());
  for (const OutputShard& shard : plan.tensors.shards)
    for (const QuantizeJob& job : shard.jobs) {
      if (!job.layers) continue;
      for (const WrittenLayer& layer : job.layers->layers) {
        const io::LinearWeight& w = layer.weight;
        const StoredTensor* found = written.find(w.module + ".weight");
        if (found == nullptr) found = written.find(w.module);
        std::vector<std::size_t> shape{w.outputs, w.inputs};
        if (w.experts != 0) shape.insert(shape.begin(), w.experts);
        if (found == nullptr || !found->foreign || found->foreign->code_shape() != shape)
          tq::detail::raise_expected(
              errc::malformed, target.path().string(),
              {"to read back ", io::shown(w.module), " ", io::shape_text(shape)},
              {found == nullptr ? "no such weight"
                                : found->scheme() + " " + io::shape_text(found->shape)});
      }
    }
  if (!written.unreadable().empty())
    tq::detail::raise_text(errc::malformed, {target.path().string(), ": ", written.unreadable()});
}

// The reason why transformers does not load the model, or empty. Throws: errc::unsupported where it
// is the engine of the options.
[[nodiscard]] inline std::string transformers_limit(const CheckpointPlan& plan,
                                                    const CheckpointOptions& options,
                                                    const std::string& in) {
  std::string limit = io::detail::transformers_limit(plan.tensors.options.at("config"), plan.model);
  if (!limit.empty() && options.engine == "transformers")
    tq::detail::raise_text(errc::unsupported,
                           {in, ": expected a model that transformers loads, but ", limit});
  return limit;
}

[[nodiscard]] inline CheckpointReport report_of(CheckpointPlan plan, const AnyFormat& format,
                                                const std::string& limit) {
  CheckpointReport report;
  report.format = format.name();
  report.notes = format.notes();
  if (!limit.empty()) report.notes.push_back("transformers does not load this model: " + limit);
  report.quantized = std::move(plan.model.quantized);
  if (std::ranges::find(report.quantized, "lm_head") != report.quantized.end())
    report.notes.push_back(
        "a quantized lm_head: vLLM and mlx-lm; transformers, but not of gptq; SGLang computes "
        "wrong numbers with it (sglang#35358)");
  report.left = std::move(plan.left);
  report.dropped = std::move(plan.dropped);
  for (const io::OtherMember& other : plan.tensors.others) report.dropped.push_back(other.name);
  report.shards = plan.tensors.shards.size();
  for (const OutputShard& shard : plan.tensors.shards) {
    report.bytes_before += shard.bytes_before();
    for (const io::OtherMember* other : shard.raw) report.bytes_after += other->raw->size_bytes;
    for (const QuantizeJob& job : shard.jobs) {
      const std::uint64_t bytes = job.written_bytes();
      report.bytes_after += bytes;
      if (!job.layers) continue;
      report.weight_bytes += bytes;
      for (const WrittenLayer& layer : job.layers->layers) {
        report.weights += layer.elements();
        if (layer.report) report.algorithms.emplace(layer.weight.module, *layer.report);
      }
    }
  }
  return report;
}

template <class Model>
[[nodiscard]] TQ_API CheckpointReport
write_checkpoint(const std::filesystem::path& out, const std::filesystem::path& in,
                 const std::shared_ptr<const AnyFormat>& format, const CheckpointOptions& options) {
  const Team alone;
  const Team& team = options.team != nullptr ? *options.team : alone;
  format->require_valid();
  std::optional<Model> opened;
  on_all_ranks(team, [&] {
    opened.emplace(in);
    return std::string();
  });
  const Model& model = *opened;
  require_unquantized(model.contents(), in.string());
  if (!model.unreadable().empty())
    tq::detail::raise_text(errc::unsupported, {in.string(), ": ", model.unreadable()});
  const QuantizeTarget target = checkpoint_target(out, model.contents());
  if (team.size() > 1 && !target.is_sharded)
    raise_option("`in`: expected a model of several files, whose shards ranks can share, got \"" +
                 in.string() + "\"");
  const std::filesystem::path folder = or_here(model.contents().files().front().parent_path());
  if (is_same_file(folder, out))
    raise_option("`out`: expected another folder than that of `in`, got \"" + out.string() + "\"");
  CheckpointFolder files(folder, out);
  FoundLayers found;
  CheckpointPlan plan =
      plan_checkpoint(model.contents(), files.config(), format, options, target.is_sharded, found);
  if (options.inputs != nullptr && !plan.tensors.options.contains("inputs"))
    tq::detail::raise_expected(errc::bad_argument, format->name(),
                               {"no activations, as no layer has a scale of these"}, {"some"});
  const std::string limit = transformers_limit(plan, options, in.string());
  files.describe(*format, plan.model);
  on_all_ranks(team, [&] {
    if (team.rank() == 0)
      files.require_free(target, plan.tensors, model.contents(), options.overwrite);
    return std::string();
  });
  if (format->needs_set_abs_max()) set_magnitudes(model, plan, options.jobs, team);
  PlanWriting writing = writing_of(options);
  writing.hessians = options.hessians;
  writing.before_publishing = [&] { files.write(); };
  const std::optional<std::size_t> reused =
      write_plan(model, plan.tensors, out.string() + "/", target, writing, team);
  on_all_ranks(team, [&] {
    if (team.rank() == 0) read_back(target, plan);
    return std::string();
  });
  CheckpointReport report = report_of(std::move(plan), *format, limit);
  report.folder = out;
  report.copied = files.files().copied;
  for (const std::string& file : files.files().left)
    if (std::ranges::none_of(model.contents().files(), [&](const std::filesystem::path& read) {
          return is_same_file(read, folder / file);
        }))
      report.not_copied.push_back(file);
  report.reused_shards = reused;
  return report;
}

}  // namespace tq::store::detail
