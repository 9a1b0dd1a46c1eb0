// SPDX-License-Identifier: MIT
#include "old_models.hpp"

#include "output_files.hpp"
#include "own_file.hpp"

#include <tq/containers/safetensors_index.hpp>
#include <tq/files/sync_folder.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json_text.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <system_error>

namespace tool {

namespace fs = std::filesystem;

namespace {

// The files that an index names; none where it cannot be read.
std::set<std::string> files_named_by(const fs::path& index) {
  std::set<std::string> names;
  try {
    const tq::io::Json json = tq::io::parse_json(tq::io::read_text(index), index.string());
    if (!json.is_object() || !json.contains("weight_map")) return names;
    for (const tq::io::Json& file : json["weight_map"])
      if (file.is_string()) names.insert(file.get<std::string>());
  } catch (const tq::error&) {
    names.clear();
  }
  return names;
}

std::set<std::string> files_written(const QuantizeTarget& target, const QuantizePlan& plan) {
  std::set<std::string> names{target.file};
  if (target.is_sharded)
    for (const OutputShard& shard : plan.shards) names.insert(shard.name);
  return names;
}

bool have_common_name(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

}  // namespace

void OldModels::remove_indexes() const {
  for (const fs::path& index : indexes) {
    std::error_code code;
    fs::remove(index, code);
    if (code) throw tq::error(tq::errc::io_failure, index.string() + ": " + code.message());
  }
  if (!indexes.empty()) tq::io::sync_folder(indexes.front().parent_path());
}

void OldModels::remove_shards() const {
  std::error_code code;
  for (const fs::path& shard : shards) fs::remove(shard, code);
}

OldModels old_models(const QuantizeTarget& target, const QuantizePlan& plan,
                     const StoredModel& model) {
  const std::set<std::string> written = files_written(target, plan);
  std::set<std::string> replaced, kept;
  OldModels old;
  std::error_code code;
  for (fs::directory_iterator at(target.folder.empty() ? "." : target.folder, code), end;
       !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(".index.json")) continue;
    const fs::path index = target.folder / name;
    const std::set<std::string> named = files_named_by(index);
    const bool is_model_of_folder = target.is_folder && name.ends_with(".safetensors.index.json");
    const bool is_replaced =
        is_model_of_folder || written.contains(name) || have_common_name(named, written);
    if (is_replaced) old.indexes.push_back(index);
    (is_replaced ? replaced : kept).insert(named.begin(), named.end());
  }
  for (const std::string& name : replaced) {
    if (written.contains(name) || kept.contains(name)) continue;
    if (!tq::io::detail::is_safe_shard_name(name)) continue;
    const fs::path shard = target.folder / name;
    const fs::file_status status = fs::symlink_status(shard, code);
    const bool is_read =
        std::any_of(model.files().begin(), model.files().end(),
                    [&](const fs::path& file) { return is_same_file(file, shard); });
    if (!is_read && (fs::is_regular_file(status) || fs::is_symlink(status)))
      old.shards.push_back(shard);
  }
  return old;
}

void require_no_old_models(const OldModels& old, const QuantizeTarget& target) {
  for (const fs::path& index : old.indexes)
    if (!target.is_sharded || index != target.path())
      throw tq::error(tq::errc::bad_argument,
                      index.string() + ": " + occupied_by("the index of another model"));
}

}  // namespace tool
