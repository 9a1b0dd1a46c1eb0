// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/gguf_writer.hpp.

#include <tq/containers/detail/gguf_header.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/utf8.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>

namespace tq::io {

TQ_API GgufWriter::GgufWriter(const std::filesystem::path& path, std::span<const GgufEntry> entries,
                              std::span<const GgufTensorDecl> declarations, Links links)
    : path_(path.string()),
      order_(plan(entries, declarations)),
      written_(order_.size()),
      file_(path, links),
      gather_(file_) {
  const detail::GgufHeader header(entries, order_);
  file_.write(header.bytes());
  const std::uint64_t start = detail::gguf_aligned(file_.position(), alignment_);
  end_ += start;
  write_zeros(file_.position(), start);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    order_[i].offset += start;
    index_.emplace(order_[i].name, i);
  }
}

TQ_API void GgufWriter::append(std::string_view name, std::span<const std::byte> bytes) {
  const auto found = index_.find(name);
  if (found == index_.end()) refuse(errc::unknown_name, name, "a declared tensor", "none");
  const GgufTensor& tensor = order_[found->second];
  std::uint64_t& written = written_[found->second];
  if (bytes.size() > tensor.size_bytes - written)
    refuse(errc::shape_mismatch, name, std::to_string(tensor.size_bytes) + " bytes", "more");
  gather_.write_at(tensor.offset + written, bytes);
  written += bytes.size();
}

TQ_API void GgufWriter::finish() {
  for (std::size_t i = 0; i < order_.size(); ++i)
    if (written_[i] != order_[i].size_bytes)
      refuse(errc::bad_argument, order_[i].name,
             std::to_string(order_[i].size_bytes) + " bytes of every declared tensor",
             std::to_string(written_[i]));
  gather_.flush();
  // Readers expect that the last tensor is padded, too; those behind it may be empty.
  const auto has_bytes = [](const GgufTensor& t) { return t.size_bytes != 0; };
  const auto last = std::ranges::find_if(order_.rbegin(), order_.rend(), has_bytes);
  if (last != order_.rend()) write_zeros(last->offset + last->size_bytes, end_);
  file_.flush();
  file_.commit();
}

TQ_API void GgufWriter::refuse(errc code, std::string_view item, std::string_view expected,
                               std::string_view got) const {
  detail::fail(code, "tq::io::GgufWriter", path_, item.empty() ? "" : detail::shown(item),
               detail::expected_got(expected, got));
}

TQ_API void GgufWriter::write_zeros(std::uint64_t from, std::uint64_t to) {
  constexpr std::array<std::byte, 4096> zeros{};
  while (from < to) {
    const std::uint64_t n = std::min<std::uint64_t>(zeros.size(), to - from);
    file_.write_at(from, std::span(zeros).first(static_cast<std::size_t>(n)));
    from += n;
  }
}

TQ_API std::vector<GgufTensor> GgufWriter::plan(std::span<const GgufEntry> entries,
                                                std::span<const GgufTensorDecl> declarations) {
  std::unordered_set<std::string_view> keys, names;
  for (const GgufEntry& e : entries) {
    if (e.name.empty() || e.name.size() > 65535 || !is_utf8(e.name) || !keys.insert(e.name).second)
      refuse(errc::bad_argument, "", "a key of 1 to 65535 bytes of UTF-8, used once",
             detail::shown(e.name));
    check_value(e);
  }
  std::vector<GgufTensor> order;
  for (const GgufTensorDecl& d : declarations) {
    if (d.name.size() > gguf_max_name || !is_utf8(d.name) || !names.insert(d.name).second)
      refuse(errc::bad_argument, "", "a name of at most 63 bytes of UTF-8, used once",
             detail::shown(d.name));
    const std::optional<std::uint64_t> size = gguf_bytes(d.type, d.shape);
    const layouts::gguf::TypeInfo& type = layouts::gguf::info_of(d.type);
    if (!size || d.shape.size() > gguf_max_rank)
      refuse(errc::shape_mismatch, d.name,
             "at most 4 extents and rows of whole blocks of " + std::to_string(type.elements),
             std::string(type.name) + " " + shape_text(d.shape));
    order.push_back({d.name, d.type, d.shape, end_, *size});
    if (*size > std::uint64_t{1} << 62 || end_ > std::uint64_t{1} << 62)
      refuse(errc::bad_argument, d.name, "less than 2^62 bytes in all", "more");
    end_ = detail::gguf_aligned(end_ + *size, alignment_);
  }
  return order;
}

TQ_API void GgufWriter::check_value(const GgufEntry& e) {
  if (e.name == gguf_alignment_key) {
    const auto* const alignment = std::get_if<std::uint32_t>(&e.value);
    if (alignment == nullptr || !detail::is_gguf_alignment(*alignment))
      refuse(errc::bad_argument, e.name, "a power of two of type uint32",
             alignment ? std::to_string(*alignment) : std::string(type_name(e.value)));
    alignment_ = *alignment;
  }
  const auto check_text = [&](const std::string& text) {
    if (!is_utf8(text)) refuse(errc::bad_argument, e.name, "UTF-8", detail::shown(text));
  };
  if (const auto* const text = std::get_if<std::string>(&e.value)) check_text(*text);
  const auto* const array = std::get_if<GgufArray>(&e.value);
  if (array == nullptr) return;
  if (std::holds_alternative<std::monostate>(*array))
    refuse(errc::bad_argument, e.name, "an array of numbers, bools or strings", "none");
  if (const auto* const texts = std::get_if<std::vector<std::string>>(array))
    std::ranges::for_each(*texts, check_text);
}

}  // namespace tq::io
