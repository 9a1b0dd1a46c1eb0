// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/files/file_content.hpp.

#include <tq/files/failure.hpp>
#include <tq/files/file_content.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace tq::io {

namespace detail {

// The first bytes of formats that have a mark of their own.
// The first bytes of formats that have a mark of their own.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 14> content_marks{{
    {"PK\x03\x04", "a zip archive, as PyTorch and NumPy (.npz) write them"},
    {"\x93NUMPY", "a .npy file"},
    {"GGUF", "a GGUF file"},
    {"\x89HDF\r\n\x1a\n", "an HDF5 file"},
    {"\x1f\x8b", "a gzip archive"},
    {"BZh", "a bzip2 archive"},
    {"\xfd\x37zXZ", "an xz archive"},
    {"\x28\xb5\x2f\xfd", "a zstd archive"},
    {"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"},
    {std::string_view("\0\x05\x16\x07", 4), "an AppleDouble file, which macOS puts beside a file"},
    {"%PDF-", "a PDF document"},
    {"\xff\xfe", "text in UTF-16"},
    {"\xfe\xff", "text in UTF-16"},
    {"\x80\x02", "a Python pickle, which is never read"},
}};

TQ_API bool begins_like(std::string_view text, std::string_view lower_case) {
  if (text.size() < lower_case.size()) return false;
  for (std::size_t i = 0; i < lower_case.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != lower_case[i])
      return false;
  }
  return true;
}

// The digits behind "size " in a pointer of Git LFS, or empty.
TQ_API std::string_view lfs_size(std::string_view text) {
  constexpr std::string_view key = "\nsize ";
  const std::size_t at = text.find(key);
  if (at == text.npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
}

}  // namespace detail

TQ_API std::string foreign_content(std::string_view begin, std::uint64_t size) {
  if (size == 0) return "an empty file";
  if (begin.starts_with("version https://git-lfs.github.com/")) {
    std::string text = "a Git LFS pointer in place of the file";
    if (const std::string_view digits = detail::lfs_size(begin); !digits.empty())
      text.append(" of ").append(digits).append(" bytes");
    return text + "; \"git lfs pull\" downloads it";
  }
  for (const auto& [mark, meaning] : detail::content_marks)
    if (begin.starts_with(mark)) return std::string(meaning);
  std::string_view text = begin;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  for (const std::string_view mark : {"<!doctype html", "<html", "<head", "<body"})
    if (detail::begins_like(text, mark))
      return "an HTML page, as a server sends it in place of a file that it does not give";
  if (detail::begins_like(text, "<?xml")) return "an XML document";
  if (std::ranges::all_of(begin, [](char c) { return c == '\0'; }))
    return "zero bytes, as a download that was not finished leaves them";
  return "";
}

namespace detail {

// Whether all bytes are ones that text has: a short answer of a server, such as "Entry not found".
TQ_API bool is_plain_text(std::string_view begin) {
  return !begin.empty() && std::ranges::all_of(begin, [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  });
}

// The same of an open file that should not be text. Empty where its bytes show nothing.
TQ_API std::string foreign_content_of(const ByteSource& source) {
  std::array<char, content_sample> sample;
  const std::span<char> read(sample.data(), static_cast<std::size_t>(std::min<std::uint64_t>(
                                                sample.size(), source.size())));
  source.read(0, std::as_writable_bytes(read));
  const std::string_view begin(read.data(), read.size());
  std::string content = foreign_content(begin, source.size());
  if (content.empty() && is_plain_text(begin))
    content = "text that begins with " + shown(begin.substr(0, 40));
  return content;
}

TQ_API void refuse_foreign_content(const ByteSource& source, std::string_view where,
                                   std::string_view expected) {
  if (const std::string content = foreign_content_of(source); !content.empty())
    fail(errc::malformed, where, source.name(), "", expected_got(expected, content));
}

}  // namespace detail

}  // namespace tq::io
