// SPDX-License-Identifier: MIT
#pragma once
// One way to open any tensor file: .npy, .npz, .safetensors, a sharded .index.json or .gguf, of
// which a split model is opened by its first part.

#include <tq/containers/gguf_tensors.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/npz.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_index.hpp>
#include <tq/containers/shard.hpp>
#include <tq/core/detail/with_alternative.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/read_ahead.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tq::io {

/// An open tensor file of any kind. One reader serves one thread; `another` serves another.
class TensorFile {
 public:
  using Reader =
      std::variant<NpyReader, NpzReader, SafetensorsReader, SafetensorsIndexReader, GgufTensors>;

  TensorFile(Reader reader, const std::filesystem::path& path) {
    Contents contents{std::move(reader), {}, {}};
    tq::detail::with_alternative(contents.reader, [&](const auto& r) {
      if constexpr (requires { r.shards(); }) {
        contents.files = r.files();
        contents.shards = r.shards();
      } else {
        contents.files = {path};
        contents.shards = {{path.filename().string(), {}, 0, 1}};
        if constexpr (requires { r.tensors(); }) contents.shards[0].count = r.tensors().size();
        if constexpr (requires { r.metadata(); }) contents.shards[0].metadata = r.metadata();
      }
    });
    contents_ = std::make_shared<const Contents>(std::move(contents));
  }

  /// Another reader of the file, which shares the parsed contents.
  [[nodiscard]] TensorFile another() const { return TensorFile(contents_); }

  /// The tensors of the file, in file order; a .npy file holds one tensor, named after its stem.
  [[nodiscard]] std::span<const TensorInfo> tensors() const noexcept {
    return tq::detail::with_alternative(contents_->reader,
                                        [](const auto& r) -> std::span<const TensorInfo> {
                                          if constexpr (requires { r.tensors(); })
                                            return r.tensors();
                                          else return {&r.info(), 1};
                                        });
  }
  /// The other members of the file: text and folders of an archive, tensors of other types.
  [[nodiscard]] std::span<const OtherMember> others() const noexcept {
    return tq::detail::with_alternative(contents_->reader,
                                        [](const auto& r) -> std::span<const OtherMember> {
                                          if constexpr (requires { r.others(); }) return r.others();
                                          else return {};
                                        });
  }
  /// The text pairs of a safetensors file; empty for the other kinds.
  [[nodiscard]] const Metadata& metadata() const noexcept {
    static const Metadata none;
    return tq::detail::with_alternative(contents_->reader, [](const auto& r) -> const Metadata& {
      if constexpr (requires { r.metadata(); }) return r.metadata();
      else return none;
    });
  }

  /// All files that are read: the one that was opened, and the shards of an index or of a split
  /// GGUF model.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept {
    return contents_->files;
  }
  /// The files that tensors are in: the shards, or the one that was opened.
  [[nodiscard]] const std::vector<Shard>& shards() const noexcept { return contents_->shards; }

  /// One tensor. Throws: `errc::unknown_name`; `errc::malformed`; `errc::io_failure`.
  [[nodiscard]] Tensor read(const std::string& name) {
    return tq::detail::with_alternative(contents_->reader, [&](const auto& r) -> Tensor {
      if constexpr (std::is_same_v<std::decay_t<decltype(r)>, NpyReader>) {
        require_name(r, name);
        return r.read();
      } else if constexpr (requires { r.open(name, open_); }) {
        return r.open(name, open_).read(name);
      } else {
        return r.read(name);
      }
    });
  }

  /// The entry of a tensor, or null if no tensor has that name.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const {
    return tq::detail::with_alternative(contents_->reader, [&](const auto& r) -> const TensorInfo* {
      if constexpr (requires { r.find(name); }) return r.find(name);
      else return r.info().name == name ? &r.info() : nullptr;
    });
  }

  /// The entry of a tensor in a GGUF file whose blocks are read as float32; else null.
  [[nodiscard]] const GgufTensor* find_blocks(std::string_view name) const {
    const auto* const gguf = std::get_if<GgufTensors>(&contents_->reader);
    const GgufTensor* const tensor = gguf != nullptr ? gguf->find_stored(name) : nullptr;
    return tensor != nullptr && layouts::gguf::has_block(tensor->type) ? tensor : nullptr;
  }

  /// The blocks that `find_blocks` finds, as they are stored. Throws: `errc::unknown_name` for
  /// another tensor; `errc::io_failure`.
  [[nodiscard]] std::vector<std::uint8_t> read_blocks(const std::string& name) const {
    if (find_blocks(name) == nullptr)
      tq::detail::raise_text(errc::unknown_name, {"tq::io::TensorFile::read_blocks: ",
                                                  detail::expected_got("a tensor in blocks of GGUF",
                                                                       detail::shown(name))});
    return std::get<GgufTensors>(contents_->reader).read_stored(name);
  }

  /// The entry of a tensor. Throws: `errc::unknown_name`.
  [[nodiscard]] const TensorInfo& info(const std::string& name) const {
    return tq::detail::with_alternative(contents_->reader, [&](const auto& r) -> const TensorInfo& {
      if constexpr (std::is_same_v<std::decay_t<decltype(r)>, NpyReader>) {
        require_name(r, name);
        return r.info();
      } else {
        return r.info(name);
      }
    });
  }

  /// Bytes [offset, offset + out.size()) of a tensor as `read` gives them. What cannot be read in
  /// parts (a member of an archive, and .npy data in another order) is read whole and kept until
  /// another tensor is asked for, in memory that is used again. Throws: as `read`;
  /// `errc::bad_argument` outside the tensor.
  void read_range(const std::string& name, std::uint64_t offset, std::span<std::byte> out) {
    read_range(info(name), offset, out);
  }
  /// The same of an entry of `tensors()`.
  void read_range(const TensorInfo& info, std::uint64_t offset, std::span<std::byte> out) {
    if (offset > info.size_bytes || out.size() > info.size_bytes - offset)
      tq::detail::raise_text(
          errc::bad_argument,
          {"tq::io::TensorFile::read_range: ", detail::shown(info.name), ": ",
           detail::expected_got("a range inside " + std::to_string(info.size_bytes) + " bytes",
                                std::to_string(out.size()) + " bytes"),
           ", at offset ", offset});
    tq::detail::with_alternative(contents_->reader, [&](const auto& r) {
      if constexpr (std::is_same_v<std::decay_t<decltype(r)>, SafetensorsReader>) {
        ahead_.read(r.source(), info.offset + offset, out);
      } else if constexpr (requires { r.open(info.name, open_); }) {
        const SafetensorsReader& shard = r.open(info.name, open_);
        if (ahead_of_ != open_.name) ahead_ = {};
        ahead_of_ = open_.name;
        ahead_.read(shard.source(), shard.info(info.name).offset + offset, out);
      } else if constexpr (std::is_same_v<std::decay_t<decltype(r)>, NpyReader>) {
        if (r.is_plain()) r.read_range(offset, out);
        else copy_kept(info, offset, out, [&] { r.read_into(kept_); });
      } else {
        copy_kept(info, offset, out, [&] { r.read_into(info.name, kept_); });
      }
    });
  }

  /// Bytes [offset, offset + out.size()) of one of `others()` that is a tensor of a type that is
  /// not read. Throws: `errc::bad_argument` for another, or outside of it; `errc::io_failure`.
  void read_raw(const OtherMember& other, std::uint64_t offset, std::span<std::byte> out) const {
    const std::uint64_t size = other.raw ? other.raw->size_bytes : 0;
    if (offset > size || out.size() > size - offset)
      tq::detail::raise_text(
          errc::bad_argument,
          {"tq::io::TensorFile::read_raw: ", detail::shown(other.name), ": ",
           detail::expected_got("a range inside " + std::to_string(size) + " bytes",
                                std::to_string(out.size()) + " bytes"),
           ", at offset ", offset});
    if (out.empty()) return;
    if (const auto* const r = std::get_if<SafetensorsReader>(&contents_->reader))
      return r->source().read(other.raw->offset + offset, out);
    const std::filesystem::path folder = contents_->files.front().parent_path();
    ByteSource::open(folder / shards().at(other.raw->shard).name)
        .read(other.raw->offset + offset, out);
  }

 private:
  static void require_name(const NpyReader& reader, const std::string& name) {
    if (name != reader.info().name)
      tq::detail::raise_expected(errc::unknown_name, "tq::io::TensorFile",
                                 {"tensor ", detail::shown(reader.info().name)},
                                 {detail::shown(name)});
  }

  template <class Read>
  void copy_kept(const TensorInfo& info, std::uint64_t offset, std::span<std::byte> out,
                 Read&& read) {
    if (!kept_name_ || *kept_name_ != info.name) {
      kept_name_.reset();
      kept_.resize(static_cast<std::size_t>(info.size_bytes));
      read();
      kept_name_ = info.name;
    }
    std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  }

  // The part that all readers of the file share.
  struct Contents {
    Reader reader;
    std::vector<std::filesystem::path> files;
    std::vector<Shard> shards;
  };
  explicit TensorFile(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
  SafetensorsIndexReader::OpenShard open_;
  detail::ReadAhead ahead_;
  std::string ahead_of_;  // the shard that it is for
  std::optional<std::string> kept_name_;
  std::vector<std::byte> kept_;  // of the tensor of that name
};

/// Opens a tensor file by its extension. Throws: `errc::unsupported` for another extension of a
/// file; `errc::io_failure`; `errc::malformed`.
[[nodiscard]] inline TensorFile open_tensor_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".npy")) return TensorFile(NpyReader::open(path), path);
  if (name.ends_with(".npz")) return TensorFile(NpzReader::open(path), path);
  if (name.ends_with(".safetensors")) return TensorFile(SafetensorsReader::open(path), path);
  if (name.ends_with(".index.json")) return TensorFile(SafetensorsIndexReader::open(path), path);
  if (name.ends_with(".gguf")) return TensorFile(GgufTensors::open(path), path);
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (status.type() == std::filesystem::file_type::not_found)
    detail::fail(errc::io_failure, "tq::io::open_tensor_file", path.string(), "",
                 std::make_error_code(std::errc::no_such_file_or_directory).message());
  detail::fail(errc::unsupported, "tq::io::open_tensor_file", path.string(), "",
               detail::expected_got(".npy, .npz, .safetensors, .index.json or .gguf",
                                    "extension " + detail::shown(path.extension().string())));
}

}  // namespace tq::io
