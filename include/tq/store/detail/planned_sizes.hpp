// SPDX-License-Identifier: MIT
#pragma once
// PlannedSizes: a model that is opened once, and the sizes of its weight files in formats.

#include <tq/checkpoints/detail/transformers_limit.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/checkpoint_folder.hpp>
#include <tq/store/detail/checkpoint_plan.hpp>
#include <tq/store/detail/found_layers.hpp>
#include <tq/store/detail/left_files.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/model_contents.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace tq::store::detail {

class PlannedSizes {
 public:
  PlannedSizes(const std::filesystem::path& in, const CheckpointOptions& options)
      : model_(model_file(in)), options_(options) {
    require_unquantized(model_, in.string());
    const std::filesystem::path folder = or_here(model_.files().front().parent_path());
    config_ =
        io::parse_json(CheckpointFolder::read_config(folder), (folder / "config.json").string());
  }

  // The plan of write_checkpoint.
  [[nodiscard]] CheckpointPlan plan(const std::shared_ptr<const AnyFormat>& format) const {
    format->require_valid();
    return plan_checkpoint(model_, config_, format, options_, is_sharded_model(model_), *found_);
  }
  // Bytes of the files that a plan becomes.
  [[nodiscard]] std::uint64_t bytes_of(const CheckpointPlan& plan) const {
    return weight_file_bytes(plan, model_);
  }
  // The reason why the engine of the options does not load the files of a plan, or empty.
  [[nodiscard]] std::string engine_limit(const CheckpointPlan& plan) const {
    if (options_.engine != "transformers") return {};
    return io::detail::transformers_limit(plan.tensors.options.at("config"), plan.model);
  }
  // Bytes of the model's own files, without its index.
  [[nodiscard]] std::uint64_t as_it_is() const {
    std::uint64_t sum = 0;
    for (const std::filesystem::path& file : model_.files())
      if (!file.string().ends_with(index_ending)) sum += std::filesystem::file_size(file);
    return sum;
  }

 private:
  ModelContents model_;
  CheckpointOptions options_;
  io::Json config_;
  std::unique_ptr<FoundLayers> found_ = std::make_unique<FoundLayers>();
};

}  // namespace tq::store::detail
