// SPDX-License-Identifier: MIT
#include "quantize_target.hpp"

#include "commands.hpp"
#include "output_files.hpp"

#include <string_view>
#include <system_error>

namespace tool {

namespace {

constexpr std::string_view index_ending = ".index.json";

// Of a folder that is called like a file, only a slash at the end tells.
bool means_folder(const std::string& out) {
  if (out.ends_with(".safetensors") || out.ends_with(index_ending)) return false;
  std::error_code code;
  return out.ends_with('/') || std::filesystem::is_directory(out, code);
}

}  // namespace

void require_target_name(const std::string& out, const std::string& others) {
  if (means_folder(out) || out.ends_with(index_ending) || out.ends_with(".safetensors")) return;
  throw UsageError("OUT: expected a name ending in " + others +
                   ".safetensors or .index.json, or a folder (one that exists, "
                   "or a name ending in /), got \"" +
                   out + "\"");
}

QuantizeTarget quantize_target(const std::string& out, const StoredModel& model) {
  const std::filesystem::path path(out), in = model.files().front();
  if (!means_folder(out))
    return {path.parent_path(), path.filename().string(), out.ends_with(index_ending)};
  if (in.string().ends_with(index_ending)) return {path, in.filename().string(), true, true};
  return {path, in.stem().string() + ".safetensors", false, true};
}

void require_other_files(const std::string& out, const QuantizeTarget& target,
                         const QuantizePlan& plan, const StoredModel& model,
                         const std::string& config) {
  std::vector<std::filesystem::path> written{target.path()};
  if (target.is_sharded)
    for (const OutputShard& shard : plan.shards) written.push_back(target.folder / shard.name);
  for (const std::filesystem::path& file : written) {
    if (!config.empty()) require_other_file("OUT", file, {config}, "--config");
    require_no_configuration("OUT", file, model);
  }
  if (!target.is_sharded) return require_other_file("OUT", target.path(), model.files(), "IN");
  std::error_code code;
  for (const std::filesystem::path& file : written) {
    if (!std::filesystem::exists(file, code)) continue;  // so it is none that is read
    for (const std::filesystem::path& read : model.files())
      if (is_same_file(file, read))
        throw UsageError("OUT: expected another folder than that of IN, got \"" + out + "\"");
  }
}

}  // namespace tool
