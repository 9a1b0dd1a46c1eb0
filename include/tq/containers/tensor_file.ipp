// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/tensor_file.hpp.

#include <tq/containers/tensor_file.hpp>
#include <tq/core/detail/with_alternative.hpp>
#include <tq/files/failure.hpp>

#include <system_error>

#include <type_traits>

namespace tq::io {

TQ_API TensorFile::TensorFile(Reader reader, const std::filesystem::path& path) {
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

TQ_API std::span<const TensorInfo> TensorFile::tensors() const noexcept {
  return tq::detail::with_alternative(contents_->reader,
                                      [](const auto& r) -> std::span<const TensorInfo> {
                                        if constexpr (requires { r.tensors(); }) return r.tensors();
                                        else return {&r.info(), 1};
                                      });
}

TQ_API std::span<const OtherMember> TensorFile::others() const noexcept {
  return tq::detail::with_alternative(contents_->reader,
                                      [](const auto& r) -> std::span<const OtherMember> {
                                        if constexpr (requires { r.others(); }) return r.others();
                                        else return {};
                                      });
}

TQ_API const Metadata& TensorFile::metadata() const noexcept {
  static const Metadata none;
  return tq::detail::with_alternative(contents_->reader, [](const auto& r) -> const Metadata& {
    if constexpr (requires { r.metadata(); }) return r.metadata();
    else return none;
  });
}

TQ_API const std::vector<std::filesystem::path>& TensorFile::files() const noexcept {
  return contents_->files;
}

TQ_API Tensor TensorFile::read(const std::string& name) {
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

TQ_API const TensorInfo* TensorFile::find(std::string_view name) const {
  return tq::detail::with_alternative(contents_->reader, [&](const auto& r) -> const TensorInfo* {
    if constexpr (requires { r.find(name); }) return r.find(name);
    else return r.info().name == name ? &r.info() : nullptr;
  });
}

TQ_API const GgufTensor* TensorFile::find_blocks(std::string_view name) const {
  const auto* const gguf = std::get_if<GgufTensors>(&contents_->reader);
  const GgufTensor* const tensor = gguf != nullptr ? gguf->find_stored(name) : nullptr;
  return tensor != nullptr && layouts::gguf::has_block(tensor->type) ? tensor : nullptr;
}

TQ_API std::vector<std::uint8_t> TensorFile::read_blocks(const std::string& name) const {
  if (find_blocks(name) == nullptr)
    tq::detail::raise_text(errc::unknown_name, {"tq::io::TensorFile::read_blocks: ",
                                                detail::expected_got("a tensor in blocks of GGUF",
                                                                     detail::shown(name))});
  return std::get<GgufTensors>(contents_->reader).read_stored(name);
}

TQ_API const TensorInfo& TensorFile::info(const std::string& name) const {
  return tq::detail::with_alternative(contents_->reader, [&](const auto& r) -> const TensorInfo& {
    if constexpr (std::is_same_v<std::decay_t<decltype(r)>, NpyReader>) {
      require_name(r, name);
      return r.info();
    } else {
      return r.info(name);
    }
  });
}

TQ_API void TensorFile::read_range(const std::string& name, std::uint64_t offset,
                                   std::span<std::byte> out) {
  read_range(info(name), offset, out);
}

TQ_API void TensorFile::read_range(const TensorInfo& info, std::uint64_t offset,
                                   std::span<std::byte> out) {
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

TQ_API void TensorFile::read_raw(const OtherMember& other, std::uint64_t offset,
                                 std::span<std::byte> out) const {
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

TQ_API void TensorFile::require_name(const NpyReader& reader, const std::string& name) {
  if (name != reader.info().name)
    tq::detail::raise_expected(errc::unknown_name, "tq::io::TensorFile",
                               {"tensor ", detail::shown(reader.info().name)},
                               {detail::shown(name)});
}

TQ_API TensorFile open_tensor_file(const std::filesystem::path& path) {
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
