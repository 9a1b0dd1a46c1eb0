// SPDX-License-Identifier: MIT
#include "quantize_target.hpp"

#include "commands.hpp"
#include "output_files.hpp"

#include <algorithm>
#include <array>
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

// Names of files that are written by nobody here, but may be meant by mistake. Others may be those
// of folders: "llama-3.1-int4".
bool is_file_name(const std::filesystem::path& out) {
  constexpr std::array<std::string_view, 15> endings{".npy", ".npz",  ".json",   ".gguf", ".onnx",
                                                     ".bin", ".pt",   ".pth",    ".ckpt", ".pkl",
                                                     ".h5",  ".hdf5", ".tflite", ".zip",  ".html"};
  return std::ranges::find(endings, out.extension().string()) != endings.end();
}

// Whether a name that is free and has no extension of a file is that of a folder to make.
bool is_new_folder(const std::string& out, const std::string& in) {
  std::error_code code;
  return !out.empty() && std::filesystem::is_directory(in, code) && !is_file_name(out) &&
         !std::filesystem::exists(std::filesystem::symlink_status(out, code));
}

}  // namespace

std::string target_name(const std::string& out, const std::string& in, const std::string& others) {
  if (means_folder(out) || out.ends_with(index_ending) || out.ends_with(".safetensors")) return out;
  if (is_new_folder(out, in)) return out + "/";
  throw UsageError("OUT: expected a name ending in " + others +
                   ".safetensors or .index.json, or a folder (one that exists, a name ending in /, "
                   "or, where IN is a folder, a new name without an extension), got \"" +
                   out + "\"");
}

QuantizeTarget quantize_target(const std::string& out, const StoredModel& model) {
  const std::filesystem::path path(out), in = model.files().front();
  if (!means_folder(out))
    return {path.parent_path(), path.filename().string(), out.ends_with(index_ending)};
  if (in.string().ends_with(index_ending)) return {path, in.filename().string(), true};
  return {path, in.stem().string() + ".safetensors", false};
}

void require_other_files(const std::string& out, const QuantizeTarget& target,
                         const QuantizePlan& plan, const StoredModel& model) {
  if (!target.is_sharded) return require_other_file("OUT", target.path(), model.files(), "IN");
  std::vector<std::filesystem::path> written{target.path()};
  for (const OutputShard& shard : plan.shards) written.push_back(target.folder / shard.name);
  std::error_code code;
  for (const std::filesystem::path& file : written) {
    if (!std::filesystem::exists(file, code)) continue;  // so it is none that is read
    for (const std::filesystem::path& read : model.files())
      if (is_same_file(file, read))
        throw UsageError("OUT: expected another folder than that of IN, got \"" + out + "\"");
  }
}

}  // namespace tool
