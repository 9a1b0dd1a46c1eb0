// SPDX-License-Identifier: MIT
#pragma once
// Writing safetensors files: tensors are declared first, then their bytes follow one by one.

#include <tq/containers/raw_tensor.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/utf8.hpp>
#include <tq/files/write_gather.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tq::io {

/// A tensor promised to a writer.
struct TensorDecl {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
  std::optional<RawTensor> raw{};  ///< of another type, in place of `dtype` and `shape`

  /// Size of the data, or nothing for a shape that does not fill whole bytes below 2^64 bits.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const {
    return raw ? raw->size_bytes : storage_bytes(dtype, shape);
  }
};

namespace detail {

inline void append_json_string(std::string& out, std::string_view text) {
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

// The names of types that have no `DType`, by the names of tensors.
using RawTypes = std::map<std::string, std::string, std::less<>>;

// A tensor in the compact JSON of the reference writer.
inline void append_header_entry(std::string& out, const TensorInfo& t, std::string_view type) {
  append_json_string(out, t.name);
  out += ":{\"dtype\":";
  append_json_string(out, type);
  out += ",\"shape\":[";
  for (std::size_t i = 0; i < t.shape.size(); ++i)
    out.append(i == 0 ? "" : ",").append(std::to_string(t.shape[i]));
  out += "],\"data_offsets\":[" + std::to_string(t.offset) + "," +
         std::to_string(t.offset + t.size_bytes) + "]}";
}

// The compact JSON of the reference writer, padded with spaces to a multiple of 8 bytes. The
// offsets of `tensors` are relative to the data.
[[nodiscard]] inline std::string safetensors_header_text(std::span<const TensorInfo> tensors,
                                                         const Metadata& metadata,
                                                         const RawTypes& raw = {}) {
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

/// Writes a safetensors file atomically, holding at most one tensor in memory, or parts of one. The
/// order of the data is that of the reference writer: widest dtype first, then by name; tensors of
/// types that have no `DType` come last, so that the others lie where their readers want them.
///
///     SafetensorsWriter writer(path, declarations, {{"format", "pt"}});
///     for (const TensorInfo& t : writer.order()) writer.write(t.name, bytes_of(t.name));
///     writer.finish();   // without it the target keeps its old content
class SafetensorsWriter {
 public:
  /// Throws: `errc::bad_argument` for a name that is repeated, "__metadata__" or not UTF-8, or a
  /// header over the limit; `errc::unsupported` for c128; `errc::shape_mismatch` for a shape that
  /// does not fill whole bytes; `errc::io_failure`.
  SafetensorsWriter(const std::filesystem::path& path, std::span<const TensorDecl> declarations,
                    const Metadata& metadata = {}, Links links = Links::followed)
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
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// Bytes of the file that a writer makes of these declarations: header, its padding and data.
  /// Throws: as the constructor, but for `errc::io_failure`.
  [[nodiscard]] static std::uint64_t file_bytes(std::span<const TensorDecl> declarations,
                                                const Metadata& metadata = {}) {
    const std::vector<TensorInfo> order = plan("a file", declarations, metadata);
    const std::uint64_t data = order.empty() ? 0 : order.back().offset + order.back().size_bytes;
    const detail::RawTypes raw = raw_types(declarations);
    return 8 + detail::safetensors_header_text(order, metadata, raw).size() + data;
  }

  /// Bytes that a tensor adds to any file of several, at least: its data, and its entry in the
  /// header as that of a first tensor, whose offsets have the fewest digits. Throws: as
  /// `file_bytes`.
  [[nodiscard]] static std::uint64_t least_bytes(const TensorDecl& declaration) {
    const std::vector<TensorInfo> order = plan("a file", {&declaration, 1}, {});
    std::string entry = ",";
    detail::append_header_entry(
        entry, order.front(),
        declaration.raw ? declaration.raw->dtype : safetensors_name(declaration.dtype));
    return entry.size() + order.front().size_bytes;
  }

  /// The declared tensors in the order their data must come; `offset` is from the start of the
  /// file.
  [[nodiscard]] const std::vector<TensorInfo>& order() const noexcept { return order_; }

  /// Writes all bytes of the next tensor of `order()`, row-major, little-endian, sub-byte types
  /// packed. Throws: `errc::bad_argument` for another name; `errc::shape_mismatch`;
  /// `errc::io_failure`.
  void write(std::string_view name, std::span<const std::byte> bytes) {
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

  /// Writes the next bytes of a tensor; tensors, and their parts among one another, come in any
  /// order. Not to be mixed with `write`. Throws: `errc::unknown_name`; `errc::shape_mismatch` for
  /// more bytes than the tensor has; `errc::io_failure`.
  void append(std::string_view name, std::span<const std::byte> bytes) {
    const auto found = index_.find(name);
    if (found == index_.end()) refuse(errc::unknown_name, name, "a declared tensor", "none");
    append(found->second, bytes);
  }

  /// Writes bytes of a tensor from its byte number `begin` on; every byte comes once, in any order.
  /// Not to be mixed with `append` for one tensor. Throws: as `append`.
  void place(std::string_view name, std::uint64_t begin, std::span<const std::byte> bytes) {
    const auto found = index_.find(name);
    if (found == index_.end()) refuse(errc::unknown_name, name, "a declared tensor", "none");
    put(found->second, begin, bytes);
  }

  /// Asks `produce` for each remaining tensor in order, writes it and lets it go, then finishes.
  /// Throws: as `write` and `finish`; `errc::shape_mismatch` when dtype or shape is not as
  /// declared.
  void write_all(const std::function<Tensor(const TensorInfo&)>& produce) {
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

  /// Pushes all data to the device, so that the rename is all that `finish` has left to do. Throws:
  /// as `finish`.
  void flush() {
    for (std::size_t i = 0; missing_ != 0 && i < order_.size(); ++i)
      if (written_[i] != order_[i].size_bytes)
        refuse(errc::bad_argument, order_[i].name, "data of every declared tensor",
               written_[i] == 0 ? "none" : std::to_string(written_[i]) + " bytes");
    gather_.flush();
    file_.flush();
  }

  /// Makes the file visible under its name. Tensors without elements need not be written. Throws:
  /// `errc::bad_argument` when data is missing; `errc::io_failure`.
  void finish() {
    flush();
    file_.commit();
  }

 private:
  void append(std::size_t i, std::span<const std::byte> bytes) { put(i, written_[i], bytes); }
  void put(std::size_t i, std::uint64_t begin, std::span<const std::byte> bytes) {
    const TensorInfo& t = order_[i];
    const std::uint64_t room = t.size_bytes - std::max(written_[i], std::min(begin, t.size_bytes));
    if (bytes.size() > room)
      refuse(errc::shape_mismatch, t.name, std::to_string(t.size_bytes) + " bytes", "more");
    gather_.write_at(t.offset + begin, bytes);
    written_[i] += bytes.size();
    missing_ -= bytes.size();
  }

  [[noreturn]] void refuse(errc code, std::string_view name, std::string_view expected,
                           std::string_view got) const {
    detail::fail(code, "tq::io::SafetensorsWriter", file_.target().string(), name,
                 detail::expected_got(expected, got));
  }

  [[nodiscard]] static detail::RawTypes raw_types(std::span<const TensorDecl> declarations) {
    detail::RawTypes raw;
    for (const TensorDecl& d : declarations)
      if (d.raw) raw.emplace(d.name, d.raw->dtype);
    return raw;
  }

  [[nodiscard]] static std::vector<TensorInfo> plan(const std::string& file,
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

  std::vector<TensorInfo> order_;
  std::unordered_map<std::string_view, std::size_t> index_;  // of names in `order_`
  std::vector<std::uint64_t> written_;                       // bytes of each
  std::uint64_t missing_ = 0;                                // bytes of all that are not
  AtomicFile file_;
  detail::WriteGather gather_;
  std::size_t next_ = 0;
};

/// Writes tensors that are all in memory. Throws: as `SafetensorsWriter`.
inline void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors,
                              const Metadata& metadata = {}) {
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
