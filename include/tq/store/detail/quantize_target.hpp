// SPDX-License-Identifier: MIT
#pragma once
// QuantizeTarget: the meaning of `out` of convert_model: one file, or a folder of shards with an
// index.

#include <tq/containers/detail/counted_name.hpp>
#include <tq/error.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/same_file.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tq::store::detail {

struct QuantizeTarget {
  std::filesystem::path folder;  // of the file, or of the shards and the index
  std::string file;              // the one file, or the index
  bool is_sharded = false;
  bool is_folder = false;  // `out` names the folder: what is written becomes its model

  [[nodiscard]] std::filesystem::path path() const { return folder / file; }
};

// The name of the output, which is that of a .safetensors file, of an .index.json or of a folder:
// one that exists, or whose name ends in '/'. Where `in` is a folder, a name that is free and has
// not the extension of a file is a folder as well, and gets the '/'. `others`: what else the
// command takes, for the message, such as ".npy, ". Throws: OptionError for another name.
[[nodiscard]] inline std::string target_name(const std::string& out, const std::string& in,
                                             const std::string& others = "");

// An .index.json is an index with a shard for each file of the model. A folder gets an index like
// that of the model, or, where it has none, a file of the same name.
[[nodiscard]] QuantizeTarget quantize_target(const std::string& out, const ModelContents& model);

// Throws: OptionError where what is written is what is read: the model, a configuration beside it
// (which may be one that tq select wrote), or the file `config`, unless that is empty.
inline void require_other_files(const std::string& out, const QuantizeTarget& target,
                                const QuantizePlan& plan, const ModelContents& model,
                                const std::string& config = "",
                                const std::vector<std::filesystem::path>& hessians = {});

inline constexpr std::string_view index_ending = ".index.json";

// True for a model of several files with an index.
[[nodiscard]] inline bool is_sharded_model(const ModelContents& model) {
  return model.files().front().string().ends_with(index_ending);
}

// A folder that is called like a file is meant if its name ends in a slash.
inline bool means_folder(const std::string& out) {
  if (out.ends_with(".safetensors") || out.ends_with(index_ending)) return false;
  std::error_code code;
  return out.ends_with('/') || std::filesystem::is_directory(out, code);
}

// Names of files that are written by nobody here, but may be meant by mistake. Others may be those
// of folders: "llama-3.1-int4".
inline bool is_file_name(const std::filesystem::path& out) {
  constexpr std::array<std::string_view, 15> endings{".npy", ".npz",  ".json",   ".gguf", ".onnx",
                                                     ".bin", ".pt",   ".pth",    ".ckpt", ".pkl",
                                                     ".h5",  ".hdf5", ".tflite", ".zip",  ".html"};
  return std::ranges::find(endings, out.extension().string()) != endings.end();
}

// True if a name that is free and has no extension of a file is that of a folder to make.
inline bool is_new_folder(const std::string& out, const std::string& in) {
  std::error_code code;
  return !out.empty() && std::filesystem::is_directory(in, code) && !is_file_name(out) &&
         !std::filesystem::exists(std::filesystem::symlink_status(out, code));
}

inline std::string target_name(const std::string& out, const std::string& in,
                               const std::string& others) {
  if (means_folder(out) || out.ends_with(index_ending) || out.ends_with(".safetensors")) return out;
  if (is_new_folder(out, in)) return out + "/";
  raise_option("`out`: expected a name ending in " + others +
               ".safetensors or .index.json, or a folder (one that exists, a name ending in /, "
               "or, where `in` is a folder, a new name without an extension), got \"" +
               out + "\"");
}

inline QuantizeTarget quantize_target(const std::string& out, const ModelContents& model) {
  const std::filesystem::path path(out), in = model.files().front();
  if (!means_folder(out))
    return {path.parent_path(), path.filename().string(), out.ends_with(index_ending)};
  if (in.string().ends_with(index_ending)) return {path, in.filename().string(), true, true};
  std::string stem = in.stem().string();
  const auto part = io::detail::counted_name(stem);
  if (part && in.extension() == ".gguf" && model.files().size() > 1) stem = part->before;
  return {path, stem + ".safetensors", false, true};
}

inline void require_other_files(const std::string& out, const QuantizeTarget& target,
                                const QuantizePlan& plan, const ModelContents& model,
                                const std::string& config,
                                const std::vector<std::filesystem::path>& hessians) {
  std::vector<std::filesystem::path> written{target.path()};
  if (target.is_sharded)
    for (const OutputShard& shard : plan.shards) written.push_back(target.folder / shard.name);
  for (const std::filesystem::path& file : written) {
    if (!config.empty()) require_other_file("`out`", file.string(), {config}, "`config_file`");
    if (!hessians.empty()) require_other_file("`out`", file.string(), hessians, "`hessians`");
    require_no_configuration("`out`", file.string(), model);
  }
  if (!target.is_sharded)
    return require_other_file("`out`", target.path().string(), model.files(), "`in`");
  std::error_code code;
  for (const std::filesystem::path& file : written) {
    if (!std::filesystem::exists(file, code)) continue;  // so it is none that is read
    for (const std::filesystem::path& read : model.files())
      if (is_same_file(file, read))
        raise_option("`out`: expected another folder than that of `in`, got \"" + out + "\"");
  }
}

}  // namespace tq::store::detail
