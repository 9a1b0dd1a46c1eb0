// SPDX-License-Identifier: MIT
#pragma once
// checkpoint_file_bytes: the size of the weight files of a checkpoint before they are written.

#include <tq/checkpoints/writable_format.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/detail/any_format.hpp>
#include <tq/store/detail/checkpoint_folder.hpp>
#include <tq/store/detail/checkpoint_plan.hpp>
#include <tq/store/detail/left_files.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/model_contents.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace tq {

namespace store::detail {

[[nodiscard]] inline std::uint64_t checkpoint_file_bytes(
    const std::filesystem::path& in, const std::shared_ptr<const AnyFormat>& format,
    const CheckpointOptions& options) {
  format->require_valid();
  const ModelContents model(model_file(in));
  require_unquantized(model, in.string());
  const std::filesystem::path folder = or_here(model.files().front().parent_path());
  const io::Json config =
      io::parse_json(CheckpointFolder::read_config(folder), (folder / "config.json").string());
  const CheckpointPlan plan =
      plan_checkpoint(model, config, format, options, is_sharded_model(model));
  return weight_file_bytes(plan, model);
}

}  // namespace store::detail

/// Bytes of all .safetensors files that `write_checkpoint` makes of these arguments, with headers,
/// their padding and the tensors that stay in float. No tensor is read. Throws: as
/// `write_checkpoint` before it writes.
template <io::WritableFormat F>
[[nodiscard]] std::uint64_t checkpoint_file_bytes(const std::filesystem::path& in, const F& format,
                                                  const CheckpointOptions& options = {}) {
  return store::detail::checkpoint_file_bytes(
      in, std::make_shared<const store::detail::ErasedFormat<F>>(format), options);
}

}  // namespace tq
