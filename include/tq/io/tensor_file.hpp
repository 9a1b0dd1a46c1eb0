// SPDX-License-Identifier: MIT
#pragma once
// One way to open any tensor file: .npy, .npz, .safetensors or a sharded .index.json.

#include <tq/io/failure.hpp>
#include <tq/io/npy.hpp>
#include <tq/io/npz.hpp>
#include <tq/io/safetensors.hpp>
#include <tq/io/safetensors_index.hpp>

#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tq::io {

/// An open tensor file of any kind. One reader serves one thread.
class TensorFile {
 public:
  using Reader = std::variant<NpyReader, NpzReader, SafetensorsReader, SafetensorsIndexReader>;

  TensorFile(Reader reader, const std::filesystem::path& path) : reader_(std::move(reader)) {
    std::visit(
        [&](const auto& r) {
          using R = std::decay_t<decltype(r)>;
          if constexpr (std::is_same_v<R, NpyReader>) tensors_ = {r.info()};
          else tensors_ = r.tensors();
          if constexpr (requires { r.metadata(); }) metadata_ = r.metadata();
          if constexpr (requires { r.files(); }) files_ = r.files();
          else files_ = {path};
        },
        reader_);
  }

  /// What the file holds, in file order; a .npy file holds one tensor named after its stem.
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }
  /// The text pairs of a safetensors file; empty for the other kinds.
  [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }

  /// All files that are read: the one that was opened, and the shards of an index.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept { return files_; }

  /// One tensor. Throws: `errc::unknown_name`; `errc::malformed`; `errc::io_failure`.
  [[nodiscard]] Tensor read(const std::string& name) {
    return std::visit(
        [&](auto& r) -> Tensor {
          if constexpr (std::is_same_v<std::decay_t<decltype(r)>, NpyReader>) {
            if (name != r.info().name)
              raise(errc::unknown_name, "tq::io::TensorFile: expected tensor " +
                                            detail::shown(r.info().name) + ", got " +
                                            detail::shown(name));
            return r.read();
          } else {
            return r.read(name);
          }
        },
        reader_);
  }

 private:
  Reader reader_;
  std::vector<TensorInfo> tensors_;
  Metadata metadata_;
  std::vector<std::filesystem::path> files_;
};

/// Opens a tensor file by its extension. Throws: `errc::unsupported` for another extension;
/// `errc::io_failure`; `errc::malformed`.
[[nodiscard]] inline TensorFile open_tensor_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".npy")) return TensorFile(NpyReader::open(path), path);
  if (name.ends_with(".npz")) return TensorFile(NpzReader::open(path), path);
  if (name.ends_with(".safetensors")) return TensorFile(SafetensorsReader::open(path), path);
  if (name.ends_with(".index.json")) return TensorFile(SafetensorsIndexReader::open(path), path);
  detail::fail(errc::unsupported, "tq::io::open_tensor_file", path.string(), "",
               detail::expected_got(".npy, .npz, .safetensors or .index.json",
                                    "extension " + detail::shown(path.extension().string())));
}

}  // namespace tq::io
