// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/detail/planned_sizes.hpp.

#include <tq/checkpoints/detail/transformers_limit.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/checkpoint_folder.hpp>
#include <tq/store/detail/checkpoint_plan.hpp>
#include <tq/store/detail/found_layers.hpp>
#include <tq/store/detail/left_files.hpp>
#include <tq/store/detail/planned_sizes.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/model_contents.hpp>

#include <limits>

namespace tq::store::detail {

struct PlannedSizes::Model {
  Model(const std::filesystem::path& in, const CheckpointOptions& given)
      : contents(model_file(in)), options(given) {
    require_unquantized(contents, in.string());
    const std::filesystem::path folder = or_here(contents.files().front().parent_path());
    config =
        io::parse_json(CheckpointFolder::read_config(folder), (folder / "config.json").string());
  }
  // The plan of write_checkpoint.
  [[nodiscard]] CheckpointPlan plan(const std::shared_ptr<const AnyFormat>& format) const {
    format->require_valid();
    return plan_checkpoint(contents, config, format, options, is_sharded_model(contents), *found);
  }
  [[nodiscard]] std::string limit_of(const CheckpointPlan& plan) const {
    if (options.engine != "transformers") return {};
    return io::detail::transformers_limit(plan.tensors.options.at("config"), plan.model);
  }

  ModelContents contents;
  CheckpointOptions options;
  io::Json config;
  std::unique_ptr<FoundLayers> found = std::make_unique<FoundLayers>();
};

TQ_API PlannedSizes::PlannedSizes(const std::filesystem::path& in, const CheckpointOptions& options)
    : model_(std::make_shared<const Model>(in, options)) {}

TQ_API std::uint64_t PlannedSizes::bytes_of(const std::shared_ptr<const AnyFormat>& format) const {
  return weight_file_bytes(model_->plan(format), model_->contents);
}

TQ_API std::uint64_t PlannedSizes::loaded_bytes_of(
    const std::shared_ptr<const AnyFormat>& format) const {
  const CheckpointPlan plan = model_->plan(format);
  return model_->limit_of(plan).empty() ? weight_file_bytes(plan, model_->contents)
                                        : std::numeric_limits<std::uint64_t>::max();
}

TQ_API std::string PlannedSizes::engine_limit(
    const std::shared_ptr<const AnyFormat>& format) const {
  return model_->limit_of(model_->plan(format));
}

TQ_API std::uint64_t PlannedSizes::as_it_is() const {
  std::uint64_t sum = 0;
  for (const std::filesystem::path& file : model_->contents.files())
    if (!file.string().ends_with(index_ending)) sum += std::filesystem::file_size(file);
  return sum;
}

}  // namespace tq::store::detail
