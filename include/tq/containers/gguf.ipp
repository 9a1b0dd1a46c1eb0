// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/gguf.hpp.

#include <tq/containers/gguf.hpp>
#include <tq/files/file_content.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <array>
#include <optional>
#include <utility>
#include <variant>

namespace tq::io {

TQ_API GgufReader GgufReader::open(const std::filesystem::path& path, GgufByteOrder order) {
  return GgufReader(ByteSource::open(path), order);
}

TQ_API GgufReader::GgufReader(ByteSource source, GgufByteOrder order) : source_(std::move(source)) {
  detail::GgufCursor cursor(source_);
  read_version(cursor, order);
  const std::uint64_t tensor_count = cursor.count("tensors", 24);
  const std::uint64_t entry_count = cursor.count("keys", 13);
  for (std::uint64_t i = 0; i < entry_count; ++i) read_entry(cursor, i);
  require_names(entries_, "every key once");
  read_alignment(cursor);
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < tensor_count; ++i) read_tensor(cursor, i, end);
  index_ = require_names(tensors_, "every tensor name once");
  data_offset_ = detail::gguf_aligned(cursor.offset(), alignment_);
  cursor.set_item("");
  if (!tensors_.empty() && !source_.contains(data_offset_, end))
    cursor.refuse_at(
        data_offset_, std::to_string(end) + " bytes of tensors, with padding",
        "a file of " + std::to_string(source_.size()) + " bytes in all (is it cut off?)");
  for (GgufTensor& t : tensors_) t.offset += data_offset_;
}

TQ_API const GgufValue* GgufReader::find_value(std::string_view key) const noexcept {
  return find_gguf_value(entries_, key);
}

TQ_API const GgufTensor* GgufReader::find(std::string_view name) const {
  const std::optional<std::size_t> place = index_.find(tensors_, name);
  return place ? &tensors_[*place] : nullptr;
}

TQ_API const GgufTensor& GgufReader::info(std::string_view name) const {
  if (const GgufTensor* const found = find(name)) return *found;
  detail::fail(errc::unknown_name, "tq::io::GgufReader", source_.name(), detail::shown(name),
               "expected a tensor of this name, got none");
}

TQ_API std::vector<std::byte> GgufReader::read_bytes(std::string_view name) const {
  const GgufTensor& tensor = info(name);
  std::vector<std::byte> out(static_cast<std::size_t>(tensor.size_bytes));
  read_range(tensor, 0, out);
  return out;
}

TQ_API void GgufReader::read_range(const GgufTensor& tensor, std::uint64_t offset,
                                   std::span<std::byte> out) const {
  const auto refuse = [&](errc code, const std::string& expected, const std::string& got) {
    detail::fail(code, "tq::io::GgufReader::read_range", source_.name(), detail::shown(tensor.name),
                 detail::expected_got(expected, got));
  };
  const layouts::gguf::TypeInfo& type = layouts::gguf::info_of(tensor.type);
  if (offset > tensor.size_bytes || out.size() > tensor.size_bytes - offset)
    refuse(errc::bad_argument, "a range inside " + std::to_string(tensor.size_bytes) + " bytes",
           std::to_string(out.size()) + " bytes at offset " + std::to_string(offset));
  if (is_big_endian_ && !type.words_known)
    refuse(errc::unsupported, "a type whose byte order can be swapped", std::string(type.name));
  if (is_big_endian_ && (offset % type.bytes != 0 || out.size() % type.bytes != 0))
    refuse(errc::bad_argument, "whole blocks of " + std::to_string(type.bytes) + " bytes",
           std::to_string(out.size()) + " bytes at offset " + std::to_string(offset));
  source_.read(tensor.offset + offset, out);
  if (!is_big_endian_) return;
  for (std::size_t block = 0; block < out.size(); block += type.bytes)
    detail::reverse_units(out.data() + block + type.first_word, type.words * type.word_bytes,
                          type.word_bytes);
}

TQ_API Tensor GgufReader::read(std::string_view name) const {
  const GgufTensor& tensor = info(name);
  const std::optional<DType> dtype = gguf_dtype(tensor.type);
  if (!dtype)
    detail::fail(errc::unsupported, "tq::io::GgufReader::read", source_.name(), detail::shown(name),
                 detail::expected_got("a tensor of plain numbers",
                                      layouts::gguf::info_of(tensor.type).name));
  return {tensor.name, *dtype, tensor.shape, read_bytes(name)};
}

TQ_API void GgufReader::read_version(detail::GgufCursor& cursor, GgufByteOrder order) {
  std::array<std::byte, 4> magic{};
  if (source_.size() >= 4) source_.read(0, magic);
  const std::string text(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (text != "GGUF") {
    detail::refuse_foreign_content(source_, "tq::io::GgufReader", "a GGUF file");
    cursor.refuse_at(
        0, "\"GGUF\"",
        source_.size() < 4 ? std::to_string(source_.size()) + " bytes" : detail::shown(text));
  }
  static_cast<void>(cursor.number<std::uint32_t>("the magic"));
  version_ = cursor.number<std::uint32_t>("the version");
  is_big_endian_ = version_ != 0 && (version_ & 0xffffu) == 0;
  if (is_big_endian_ && order == GgufByteOrder::little)
    cursor.refuse("a little-endian file", "a big-endian one (GgufByteOrder::any reads it)");
  cursor.swap_bytes(is_big_endian_);
  if (is_big_endian_) version_ = version_ >> 24 | (version_ >> 8 & 0xff00u);
  if (version_ != 2 && version_ != 3) cursor.refuse("version 2 or 3", std::to_string(version_));
}

TQ_API void GgufReader::read_entry(detail::GgufCursor& cursor, std::uint64_t i) {
  cursor.set_item("key " + std::to_string(i));
  GgufEntry entry{cursor.text("a key"), {}};
  if (entry.name.empty() || entry.name.size() > 65535)
    cursor.refuse("a key of 1 to 65535 bytes", std::to_string(entry.name.size()));
  cursor.set_item(detail::shown(entry.name));
  entry.value = cursor.value();
  entries_.push_back(std::move(entry));
}

TQ_API void GgufReader::read_alignment(detail::GgufCursor& cursor) {
  const GgufValue* const value = find_value(gguf_alignment_key);
  if (value == nullptr) return;
  cursor.set_item(std::string(gguf_alignment_key));
  const auto* const alignment = std::get_if<std::uint32_t>(value);
  if (alignment == nullptr) cursor.refuse("an alignment of type uint32", type_name(*value));
  if (!detail::is_gguf_alignment(*alignment))
    cursor.refuse("an alignment that is a power of two", std::to_string(*alignment));
  alignment_ = *alignment;
}

TQ_API void GgufReader::read_tensor(detail::GgufCursor& cursor, std::uint64_t i,
                                    std::uint64_t& end) {
  cursor.set_item("tensor " + std::to_string(i));
  GgufTensor tensor{cursor.text("a tensor name"), {}, {}, 0, 0};
  if (tensor.name.size() > gguf_max_name)
    cursor.refuse("a name of at most 63 bytes", std::to_string(tensor.name.size()));
  cursor.set_item(detail::shown(tensor.name));
  const auto rank = cursor.number<std::uint32_t>("a rank");
  if (rank > gguf_max_rank) cursor.refuse("at most 4 extents", std::to_string(rank));
  tensor.shape.resize(rank);
  for (std::size_t axis = rank; axis-- > 0;) {
    const auto extent = cursor.number<std::uint64_t>("an extent");
    if (extent >> 63 != 0) cursor.refuse("an extent below 2^63", std::to_string(extent));
    tensor.shape[axis] = static_cast<std::size_t>(extent);
  }
  const auto number = cursor.number<std::uint32_t>("a type");
  const layouts::gguf::TypeInfo* const type = layouts::gguf::find_type(number);
  if (type == nullptr) cursor.refuse("the number of a type", std::to_string(number));
  tensor.type = type->type;
  tensor.offset = cursor.number<std::uint64_t>("an offset");
  const std::optional<std::uint64_t> size = gguf_bytes(tensor.type, tensor.shape);
  if (!size)
    cursor.refuse("rows of whole blocks of " + std::to_string(type->elements) +
                      " elements, and fewer than 2^63 elements and bytes",
                  std::string(type->name) + " " + shape_text(tensor.shape));
  if (tensor.offset != end)
    cursor.refuse("data to begin at " + std::to_string(end) + " (no hole, no overlap)",
                  std::to_string(tensor.offset));
  tensor.size_bytes = *size;
  // Both are below 2^63, so that the sum does not wrap.
  if (*size > source_.size() || end > source_.size())
    cursor.refuse("data inside the file of " + std::to_string(source_.size()) + " bytes",
                  std::to_string(*size) + " bytes (is it cut off?)");
  end = detail::gguf_aligned(end + *size, alignment_);
  tensors_.push_back(std::move(tensor));
}

}  // namespace tq::io
