// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/safetensors.hpp.

#include <tq/containers/safetensors.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/file_content.hpp>

#include <array>
#include <optional>
#include <utility>

namespace tq::io {

TQ_API SafetensorsReader SafetensorsReader::open(const std::filesystem::path& path) {
  return SafetensorsReader(ByteSource::open(path));
}

TQ_API SafetensorsReader::SafetensorsReader(ByteSource source) : source_(std::move(source)) {
  const auto malformed = [&](std::string_view expected, std::string_view got, int at) {
    detail::fail(errc::malformed, "tq::io::SafetensorsReader", source_.name(), "",
                 detail::expected_got(expected, got) + ", at offset " + std::to_string(at));
  };
  const auto refuse_other_files = [&] {
    detail::refuse_foreign_content(source_, "tq::io::SafetensorsReader", "a safetensors file");
  };
  if (source_.size() < 8) refuse_other_files();
  if (source_.size() < 8)
    malformed("a header length of 8 bytes", std::to_string(source_.size()) + " bytes", 0);
  std::array<std::byte, 8> raw;
  source_.read(0, raw);
  const std::uint64_t length = load_le<std::uint64_t>(raw.data());
  if (length > safetensors_max_header || length > source_.size() - 8) {
    refuse_other_files();
    malformed(
        "a header of at most 100000000 bytes inside the file",
        std::to_string(length) + " bytes" +
            (length > safetensors_max_header ? "" : " (the file ends before: is it cut off?)"),
        0);
  }
  std::map<std::string, std::string> unknown;
  {
    std::string text(static_cast<std::size_t>(length), '\0');
    source_.read(8, std::as_writable_bytes(std::span<char>(text)));
    if (!text.starts_with('{')) refuse_other_files();
    if (!text.starts_with('{')) malformed("'{'", detail::shown(text.substr(0, 1)), 8);
    detail::SafetensorsSax sax;
    if (!sax.run(text))
      detail::fail(errc::malformed, "tq::io::SafetensorsReader", source_.name(), "header",
                   sax.message());
    tensors_ = std::move(sax.tensors);
    metadata_ = std::move(sax.metadata);
    unknown = std::move(sax.unknown);
  }
  detail::sort_by_place(tensors_);
  index_ = NameIndex(tensors_.size());
  for (const TensorInfo& t : tensors_)
    if (!index_.add_next(tensors_))
      detail::fail(
          errc::malformed, "tq::io::SafetensorsReader", source_.name(), "header",
          detail::shown(t.name) + ": " + detail::expected_got("every name once", "it twice"));
  detail::check_safetensors_layout(tensors_, unknown, source_.size() - 8 - length, 8 + length,
                                   source_.name());
  if (!unknown.empty()) leave_out(unknown);
}

TQ_API const TensorInfo* SafetensorsReader::find(std::string_view name) const {
  const std::optional<std::size_t> place = index_.find(tensors_, name);
  return place ? &tensors_[*place] : nullptr;
}

TQ_API const OtherMember* SafetensorsReader::find_other(std::string_view name) const {
  const std::optional<std::size_t> place = other_index_.find(others_, name);
  return place ? &others_[*place] : nullptr;
}

TQ_API const TensorInfo& SafetensorsReader::info(std::string_view name) const {
  const TensorInfo* const found = find(name);
  if (found != nullptr) return *found;
  if (const OtherMember* const other = find_other(name))
    detail::fail(errc::unsupported, "tq::io::SafetensorsReader", source_.name(),
                 detail::shown(name), other->reason);
  detail::fail(errc::unknown_name, "tq::io::SafetensorsReader", source_.name(), detail::shown(name),
               "expected a tensor of this name, got none");
}

TQ_API Tensor SafetensorsReader::read(const std::string& name) const {
  const TensorInfo& entry = info(name);
  Tensor out{entry.name, entry.dtype, entry.shape,
             std::vector<std::byte>(static_cast<std::size_t>(entry.size_bytes))};
  source_.read(entry.offset, out.bytes);
  return out;
}

TQ_API void SafetensorsReader::read_range(std::string_view name, std::uint64_t offset,
                                          std::span<std::byte> out) const {
  const TensorInfo& entry = info(name);
  if (offset > entry.size_bytes || out.size() > entry.size_bytes - offset)
    detail::fail(
        errc::bad_argument, "tq::io::SafetensorsReader::read_range", source_.name(),
        detail::shown(entry.name),
        detail::expected_got("a range inside " + std::to_string(entry.size_bytes) + " bytes",
                             std::to_string(out.size()) + " bytes") +
            ", at offset " + std::to_string(offset));
  source_.read(entry.offset + offset, out);
}

TQ_API void SafetensorsReader::leave_out(const std::map<std::string, std::string>& unknown) {
  for (const TensorInfo& t : tensors_)
    if (const auto type = unknown.find(t.name); type != unknown.end())
      others_.push_back(
          {t.name,
           detail::expected_got("a dtype of the format", detail::shown(type->second)) + " " +
               shape_text(t.shape),
           RawTensor{type->second, t.shape, t.size_bytes, t.offset, 0}});
  std::erase_if(tensors_, [&](const TensorInfo& t) { return unknown.contains(t.name); });
  index_ = NameIndex(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) (void)index_.add_next(tensors_);
  other_index_ = NameIndex(others_.size());
  for (std::size_t i = 0; i < others_.size(); ++i) (void)other_index_.add_next(others_);
}

}  // namespace tq::io
