// SPDX-License-Identifier: MIT
#pragma once
// Models that the folder of an output has already, and that the output takes the place of.

#include <tq/containers/safetensors_index.hpp>
#include <tq/error.hpp>
#include <tq/files/sync_folder.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/own_file.hpp>
#include <tq/store/same_file.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace tq::store::detail {

struct OldModels {
  std::vector<std::filesystem::path> indexes;
  std::vector<std::filesystem::path> shards;  // that no other index names, and nothing writes

  // Removes the indexes: from then on the old shards are no model.
  void remove_indexes() const;
  // Removes the shards. A failure is no error: the output is whole.
  void remove_shards() const;
};

// Indexes in the folder of the target that would not be models any more: the target itself, an
// index that names a file that is written, and every index of safetensors where the output is the
// folder as a whole. Files of the input are none of the shards.
[[nodiscard]] inline OldModels old_models(const QuantizeTarget& target, const QuantizePlan& plan,
                                          const ModelContents& model);

// Throws: errc::bad_argument, naming the index, where the folder has another index than the target
// that would not be a model any more.
void require_no_old_models(const OldModels& old, const QuantizeTarget& target);

// The files that an index names; none where it cannot be read.
inline std::set<std::string> files_named_by(const std::filesystem::path& index) {
  std::set<std::string> names;
  try {
    const io::Json json = io::parse_json(io::read_text(index), index.string());
    if (!json.is_object() || !json.contains("weight_map")) return names;
    for (const io::Json& file : json["weight_map"])
      if (file.is_string()) names.insert(file.get<std::string>());
  } catch (const error&) {
    names.clear();
  }
  return names;
}

inline std::set<std::string> files_written(const QuantizeTarget& target, const QuantizePlan& plan) {
  std::set<std::string> names{target.file};
  if (target.is_sharded)
    for (const OutputShard& shard : plan.shards) names.insert(shard.name);
  return names;
}

inline bool have_common_name(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

inline void OldModels::remove_indexes() const {
  for (const std::filesystem::path& index : indexes) {
    std::error_code code;
    std::filesystem::remove(index, code);
    if (code) tq::detail::raise_text(errc::io_failure, {index.string(), ": ", code.message()});
  }
  if (!indexes.empty()) io::sync_folder(indexes.front().parent_path());
}

inline void OldModels::remove_shards() const {
  std::error_code code;
  for (const std::filesystem::path& shard : shards) std::filesystem::remove(shard, code);
}

inline OldModels old_models(const QuantizeTarget& target, const QuantizePlan& plan,
                            const ModelContents& model) {
  const std::set<std::string> written = files_written(target, plan);
  std::set<std::string> replaced, kept;
  OldModels old;
  std::error_code code;
  for (std::filesystem::directory_iterator at(target.folder.empty() ? "." : target.folder, code),
       end;
       !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(".index.json")) continue;
    const std::filesystem::path index = target.folder / name;
    const std::set<std::string> named = files_named_by(index);
    const bool is_model_of_folder = target.is_folder && name.ends_with(".safetensors.index.json");
    const bool is_replaced =
        is_model_of_folder || written.contains(name) || have_common_name(named, written);
    if (is_replaced) old.indexes.push_back(index);
    (is_replaced ? replaced : kept).insert(named.begin(), named.end());
  }
  for (const std::string& name : replaced) {
    if (written.contains(name) || kept.contains(name)) continue;
    if (!io::detail::is_safe_shard_name(name)) continue;
    const std::filesystem::path shard = target.folder / name;
    const std::filesystem::file_status status = std::filesystem::symlink_status(shard, code);
    const bool is_read =
        std::any_of(model.files().begin(), model.files().end(),
                    [&](const std::filesystem::path& file) { return is_same_file(file, shard); });
    if (!is_read &&
        (std::filesystem::is_regular_file(status) || std::filesystem::is_symlink(status)))
      old.shards.push_back(shard);
  }
  return old;
}

inline void require_no_old_models(const OldModels& old, const QuantizeTarget& target) {
  for (const std::filesystem::path& index : old.indexes)
    if (!target.is_sharded || index != target.path())
      tq::detail::raise_text(errc::bad_argument,
                             {index.string(), ": ", occupied_by("the index of another model")});
}

}  // namespace tq::store::detail
