// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/safetensors_writer.hpp.

#include <tq/containers/safetensors_writer.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/utf8.hpp>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

namespace tq::io {

TQ_API std::optional<std::uint64_t> TensorDecl::bytes() const {
  return raw ? raw->size_bytes : storage_bytes(dtype, shape);
}

namespace detail {

TQ_API void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  constexpr std::string_view plain = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
  out += '"';
  for (const char c : text) {
    if (const std::size_t at = plain.find(c); at != plain.npos) {
      (out += '\\') += letters[at];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      ((out += "\\u00") += hex[static_cast<unsigned char>(c) >> 4]) += hex[c & 0xf];
    } else {
      out += c;
    }
  }
  out += '"';
}

// A tensor in the compact JSON of the reference writer.
TQ_API void append_header_entry(std::string& out, const TensorInfo& t, std::string_view type) {
  append_json_string(out, t.name);
  out += ":{\"dtype\":";
  append_json_string(out, type);
  out += ",\"shape\":[";
  for (std::size_t i = 0; i < t.shape.size(); ++i)
    out.append(i == 0 ? "" : ",").append(std::to_string(t.shape[i]));
  out += "],\"data_offsets\":[" + std::to_string(t.offset) + "," +
         std::to_string(t.offset + t.size_bytes) + "]}";
}

TQ_API std::string safetensors_header_text(std::span<const TensorInfo> tensors,
                                           const Metadata& metadata, const RawTypes& raw) {
  std::string out = "{";
  if (!metadata.empty()) {
    out += "\"__metadata__\":";
    char separator = '{';
    for (const auto& [key, value] : metadata) {
      out += std::exchange(separator, ',');
      append_json_string(out, key);
      out += ':';
      append_json_string(out, value);
    }
    out += '}';
  }
  for (const TensorInfo& t : tensors) {
    if (out.size() > 1) out += ',';
    const auto type = raw.find(t.name);
    append_header_entry(out, t, type == raw.end() ? safetensors_name(t.dtype) : type->second);
  }
  out += '}';
  return out.append((8 - out.size() % 8) % 8, ' ');
}

}  // namespace detail

TQ_API SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                            std::span<const TensorDecl> declarations,
                                            const Metadata& metadata, Links links)
    : order_(plan(path.string(), declarations, metadata)),
      written_(order_.size()),
      file_(path, links),
      gather_(file_) {
  const std::string text =
      detail::safetensors_header_text(order_, metadata, raw_types(declarations));
  if (text.size() > safetensors_max_header)
    refuse(errc::bad_argument, "", "a header of at most 100000000 bytes",
           std::to_string(text.size()));
  std::array<std::byte, 8> length;
  store_le(length.data(), static_cast<std::uint64_t>(text.size()));
  file_.write(length);
  file_.write(std::as_bytes(std::span<const char>(text)));
  for (TensorInfo& t : order_) t.offset += file_.position();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    index_.emplace(order_[i].name, i);
    missing_ += order_[i].size_bytes;
  }
}

TQ_API std::uint64_t SafetensorsWriter::file_bytes(std::span<const TensorDecl> declarations,
                                                   const Metadata& metadata) {
  const std::vector<TensorInfo> order = plan("a file", declarations, metadata);
  const std::uint64_t data = order.empty() ? 0 : order.back().offset + order.back().size_bytes;
  const detail::RawTypes raw = raw_types(declarations);
  return 8 + detail::safetensors_header_text(order, metadata, raw).size() + data;
}

TQ_API std::uint64_t SafetensorsWriter::least_bytes(const TensorDecl& declaration) {
  const std::vector<TensorInfo> order = plan("a file", {&declaration, 1}, {});
  std::string entry = ",";
  detail::append_header_entry(
      entry, order.front(),
      declaration.raw ? declaration.raw->dtype : safetensors_name(declaration.dtype));
  return entry.size() + order.front().size_bytes;
}

TQ_API void SafetensorsWriter::write(std::string_view name, std::span<const std::byte> bytes) {
  if (next_ == order_.size() || order_[next_].name != name)
    refuse(errc::bad_argument, name,
           "the next tensor to be " +
               (next_ == order_.size() ? std::string("none") : detail::shown(order_[next_].name)),
           detail::shown(name));
  if (bytes.size() != order_[next_].size_bytes)
    refuse(errc::shape_mismatch, name, std::to_string(order_[next_].size_bytes) + " bytes",
           std::to_string(bytes.size()));
  append(next_, bytes);
  ++next_;
}

TQ_API void SafetensorsWriter::append(std::string_view name, std::span<const std::byte> bytes) {
  const auto found = index_.find(name);
  if (found == index_.end()) refuse(errc::unknown_name, name, "a declared tensor", "none");
  append(found->second, bytes);
}

TQ_API void SafetensorsWriter::place(std::string_view name, std::uint64_t begin,
                                     std::span<const std::byte> bytes) {
  const auto found = index_.find(name);
  if (found == index_.end()) refuse(errc::unknown_name, name, "a declared tensor", "none");
  put(found->second, begin, bytes);
}

TQ_API void SafetensorsWriter::write_all(const std::function<Tensor(const TensorInfo&)>& produce) {
  while (next_ < order_.size()) {
    const TensorInfo& info = order_[next_];
    const Tensor tensor = produce(info);
    if (tensor.dtype != info.dtype || tensor.shape != info.shape)
      refuse(errc::shape_mismatch, info.name,
             std::string(to_string(info.dtype)) + " " + shape_text(info.shape),
             std::string(to_string(tensor.dtype)) + " " + shape_text(tensor.shape));
    write(info.name, tensor.bytes);
  }
  finish();
}

TQ_API void SafetensorsWriter::flush() {
  for (std::size_t i = 0; missing_ != 0 && i < order_.size(); ++i)
    if (written_[i] != order_[i].size_bytes)
      refuse(errc::bad_argument, order_[i].name, "data of every declared tensor",
             written_[i] == 0 ? "none" : std::to_string(written_[i]) + " bytes");
  gather_.flush();
  file_.flush();
}

TQ_API void SafetensorsWriter::finish() {
  flush();
  file_.commit();
}

TQ_API void SafetensorsWriter::put(std::size_t i, std::uint64_t begin,
                                   std::span<const std::byte> bytes) {
  const TensorInfo& t = order_[i];
  const std::uint64_t room = t.size_bytes - std::max(written_[i], std::min(begin, t.size_bytes));
  if (bytes.size() > room)
    refuse(errc::shape_mismatch, t.name, std::to_string(t.size_bytes) + " bytes", "more");
  gather_.write_at(t.offset + begin, bytes);
  written_[i] += bytes.size();
  missing_ -= bytes.size();
}

TQ_API void SafetensorsWriter::refuse(errc code, std::string_view name, std::string_view expected,
                                      std::string_view got) const {
  detail::fail(code, "tq::io::SafetensorsWriter", file_.target().string(), name,
               detail::expected_got(expected, got));
}

TQ_API detail::RawTypes SafetensorsWriter::raw_types(std::span<const TensorDecl> declarations) {
  detail::RawTypes raw;
  for (const TensorDecl& d : declarations)
    if (d.raw) raw.emplace(d.name, d.raw->dtype);
  return raw;
}

TQ_API std::vector<TensorInfo> SafetensorsWriter::plan(const std::string& file,
                                                       std::span<const TensorDecl> declarations,
                                                       const Metadata& metadata) {
  const auto refuse_name = [&](errc code, std::string_view item, std::string_view text) {
    detail::fail(code, "tq::io::SafetensorsWriter", file, item, text);
  };
  for (const auto& [key, value] : metadata)
    if (!is_utf8(key) || !is_utf8(value))
      refuse_name(errc::bad_argument, detail::shown(key), "expected UTF-8 metadata, got other");
  std::unordered_set<std::string_view> names;
  std::vector<TensorInfo> order, last;
  order.reserve(declarations.size());
  for (const TensorDecl& d : declarations) {
    if (!is_tensor_name(d.name) || !names.insert(d.name).second)
      refuse_name(errc::bad_argument, detail::shown(d.name),
                  "expected a name used once, in UTF-8, other than __metadata__");
    if (d.raw && !is_utf8(d.raw->dtype))
      refuse_name(errc::bad_argument, d.name, "expected a dtype in UTF-8, got other");
    if (!d.raw && safetensors_name(d.dtype).empty())
      refuse_name(errc::unsupported, d.name,
                  detail::expected_got("a type safetensors can name", to_string(d.dtype)));
    const std::optional<std::uint64_t> size = d.bytes();
    if (!size)
      refuse_name(
          errc::shape_mismatch, d.name,
          detail::expected_got("a shape of whole bytes below 2^64 bits",
                               std::string(to_string(d.dtype)) + " " + shape_text(d.shape)));
    (d.raw ? last : order).push_back({d.name, d.dtype, d.raw ? d.raw->shape : d.shape, 0, *size});
  }
  const auto comes_before = [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(detail::dtype_row(a.dtype).write_rank, std::string_view(a.name)) <
           std::pair(detail::dtype_row(b.dtype).write_rank, std::string_view(b.name));
  };
  std::sort(order.begin(), order.end(), comes_before);
  std::sort(last.begin(), last.end(), comes_before);
  order.insert(order.end(), last.begin(), last.end());
  std::uint64_t at = 0;
  for (TensorInfo& t : order) {
    t.offset = at;
    if (t.size_bytes > std::uint64_t{1} << 62 || (at += t.size_bytes) > std::uint64_t{1} << 62)
      refuse_name(errc::bad_argument, t.name, "expected less than 2^62 bytes in all, got more");
  }
  return order;
}

TQ_API void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors,
                              const Metadata& metadata) {
  std::vector<TensorDecl> declarations;
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const Tensor& t : tensors) {
    declarations.push_back({t.name, t.dtype, t.shape});
    by_name.emplace(t.name, &t);
  }
  SafetensorsWriter writer(path, declarations, metadata);
  for (const TensorInfo& info : writer.order())
    writer.write(info.name, by_name.at(info.name)->bytes);
  writer.finish();
}

}  // namespace tq::io
