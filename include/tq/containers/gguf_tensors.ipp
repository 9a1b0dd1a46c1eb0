// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/gguf_tensors.hpp.

#include <tq/containers/gguf_tensors.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/layouts/gguf/dequantize.hpp>

#include <optional>

namespace tq::io {

TQ_API GgufTensors GgufTensors::open(const std::filesystem::path& path) {
  return GgufTensors(GgufParts::open(path));
}

TQ_API GgufTensors::GgufTensors(GgufParts parts) : parts_(std::move(parts)) {
  for (std::size_t i = 0; i < parts_.files().size(); ++i) {
    const std::size_t first = tensors_.size();
    for (const GgufTensor& t : parts_.files()[i].tensors()) add(t);
    part_of_.resize(tensors_.size(), i);
    shards_.push_back({parts_.paths()[i].filename().string(), {}, first, tensors_.size() - first});
  }
  index_ = NameIndex(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) static_cast<void>(index_.add_next(tensors_));
}

TQ_API const std::vector<std::filesystem::path>& GgufTensors::files() const noexcept {
  return parts_.paths();
}

TQ_API const TensorInfo* GgufTensors::find(std::string_view name) const {
  const std::optional<std::size_t> place = index_.find(tensors_, name);
  return place ? &tensors_[*place] : nullptr;
}

TQ_API const GgufTensor* GgufTensors::find_stored(std::string_view name) const {
  const std::optional<std::size_t> place = index_.find(tensors_, name);
  return place ? parts_.files()[part_of_[*place]].find(name) : nullptr;
}

TQ_API const TensorInfo& GgufTensors::info(std::string_view name) const {
  if (const TensorInfo* const found = find(name)) return *found;
  const auto other = std::ranges::find(others_, name, &OtherMember::name);
  if (other != others_.end())
    detail::fail(errc::unsupported, "tq::io::GgufTensors", file_name(), detail::shown(name),
                 other->reason);
  detail::fail(errc::unknown_name, "tq::io::GgufTensors", file_name(), detail::shown(name),
               "expected a tensor of this name, got none");
}

TQ_API Tensor GgufTensors::read(const std::string& name) const {
  const TensorInfo& entry = info(name);
  Tensor out{entry.name, entry.dtype, entry.shape,
             std::vector<std::byte>(static_cast<std::size_t>(entry.size_bytes))};
  read_into(name, out.bytes);
  return out;
}

TQ_API void GgufTensors::read_into(const std::string& name, std::span<std::byte> out) const {
  const TensorInfo& entry = info(name);
  if (out.size() != entry.size_bytes)
    detail::fail(errc::shape_mismatch, "tq::io::GgufTensors::read_into", file_name(),
                 detail::shown(name),
                 detail::expected_got(std::to_string(entry.size_bytes) + " bytes",
                                      std::to_string(out.size())));
  const GgufReader& file = file_of(name);
  const GgufTensor& stored = file.info(name);
  if (gguf_dtype(stored.type)) return file.read_range(stored, 0, out);
  decode(file, stored, out);
}

TQ_API std::vector<std::uint8_t> GgufTensors::read_stored(const std::string& name) const {
  static_cast<void>(info(name));
  const GgufReader& file = file_of(name);
  const GgufTensor& stored = file.info(name);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(stored.size_bytes));
  file.read_range(stored, 0, std::as_writable_bytes(std::span(out)));
  return out;
}

TQ_API const GgufReader& GgufTensors::file_of(std::string_view name) const {
  return parts_.files()[part_of_[*index_.find(tensors_, name)]];
}

TQ_API const std::string& GgufTensors::file_name() const noexcept {
  return parts_.files().front().file_name();
}

TQ_API void GgufTensors::add(const GgufTensor& t) {
  const std::optional<std::uint64_t> values = storage_bytes(DType::f32, t.shape);
  if (const std::optional<DType> dtype = gguf_dtype(t.type))
    tensors_.push_back({t.name, *dtype, t.shape, t.offset, t.size_bytes});
  else if (layouts::gguf::has_block(t.type) && values)
    tensors_.push_back({t.name, DType::f32, t.shape, t.offset, *values});
  else
    others_.push_back(
        {t.name,
         detail::expected_got("blocks that are understood", layouts::gguf::info_of(t.type).name),
         std::nullopt, true});
}

TQ_API void GgufTensors::decode(const GgufReader& file, const GgufTensor& stored,
                                std::span<std::byte> out) {
  const layouts::gguf::TypeInfo& type = layouts::gguf::info_of(stored.type);
  constexpr std::uint64_t most = 64;
  std::vector<std::uint8_t> blocks(most * type.bytes);
  std::vector<float> values(most * type.elements);
  const std::uint64_t count = stored.size_bytes / type.bytes;
  std::byte* to = out.data();
  for (std::uint64_t first = 0; first < count; first += most) {
    const auto n = static_cast<std::size_t>(std::min(most, count - first));
    const std::span<std::uint8_t> some = std::span(blocks).first(n * type.bytes);
    const std::span<float> decoded = std::span(values).first(n * type.elements);
    file.read_range(stored, first * type.bytes, std::as_writable_bytes(some));
    layouts::gguf::dequantize(stored.type, some, decoded);
    for (const float v : decoded) {
      store_le(to, v);
      to += sizeof(v);
    }
  }
}

}  // namespace tq::io
