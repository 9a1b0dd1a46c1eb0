// SPDX-License-Identifier: MIT
#pragma once
// The files of a model's folder beside its tensors, which a checkpoint carries over.

#include <tq/error.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/hidden_file.hpp>
#include <tq/store/detail/output_names.hpp>
#include <tq/store/detail/unfinished_run.hpp>
#include <tq/store/own_file.hpp>
#include <tq/store/same_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tq::store::detail {

// Files by their paths in the folder, sorted.
struct CompanionFiles {
  std::vector<std::string> copied;
  std::vector<std::string> left;  // weights, indexes, old configurations
};

// Configurations of quantization that stand beside config.json.
inline constexpr std::array<std::string_view, 3> quantization_files{
    "quantize_config.json", "quant_config.json", "hf_quant_config.json"};

// True for weights in any form, for what lists them, and for what says how they were quantized.
// "params.json" makes engines look for the weights in the format of Mistral.
[[nodiscard]] inline bool is_left_behind(const std::string& path) {
  static constexpr std::array<std::string_view, 14> endings{
      ".safetensors", ".index.json", ".bin", ".pt",      ".pth",    ".ckpt",    ".gguf",
      ".onnx",        ".onnx_data",  ".h5",  ".msgpack", ".tflite", ".mlmodel", ".ot"};
  const std::string lower = lower_case(path);
  const std::string name = std::filesystem::path(lower).filename().string();
  for (const std::string_view ending : endings)
    if (name.ends_with(ending)) return true;
  if (std::ranges::find(quantization_files, name) != quantization_files.end()) return true;
  return name == "params.json" || name.starts_with("consolidated") ||
         lower.starts_with("original/") || lower.starts_with("onnx/");
}

// The files of a folder but config.json, the tensors that are read, hidden files, and the folder
// `out`, which may lie within.
[[nodiscard]] inline CompanionFiles companion_files(const std::filesystem::path& folder,
                                                    const std::filesystem::path& out) {
  namespace fs = std::filesystem;
  CompanionFiles found;
  std::error_code code;
  for (fs::recursive_directory_iterator at(folder, code), end; !code && at != end;
       at.increment(code)) {
    const std::string path = at->path().lexically_relative(folder).generic_string();
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (io::is_hidden(name) || name == UnfinishedRun::folder_name ||
          is_same_file(at->path(), out))
        at.disable_recursion_pending();
      continue;
    }
    if (io::is_hidden(name) || path == "config.json" || !at->is_regular_file(ignored)) continue;
    (is_left_behind(path) ? found.left : found.copied).push_back(path);
  }
  if (code) tq::detail::raise_text(errc::io_failure, {folder.string(), ": ", code.message()});
  std::ranges::sort(found.copied);
  std::ranges::sort(found.left);
  return found;
}

// Copies a file, which then is on the disk.
inline void copy_companion(const std::filesystem::path& from, const std::filesystem::path& to) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  make_folders(to.parent_path());
  const io::ByteSource source = io::ByteSource::open(from);
  io::AtomicFile file(to, io::Links::replaced);
  std::vector<std::byte> bytes;
  for (std::uint64_t at = 0; at < source.size(); at += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(most, source.size() - at)));
    source.read(at, bytes);
    file.write(bytes);
  }
  file.commit();
  mark_as_own(to);
}

inline void write_companion(const std::filesystem::path& to, const std::string& text) {
  make_folders(to.parent_path());
  write_text(to, text);
  mark_as_own(to);
}

}  // namespace tq::store::detail
