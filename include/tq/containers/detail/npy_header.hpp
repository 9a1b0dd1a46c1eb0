// SPDX-License-Identifier: MIT
#pragma once
// The header of a .npy file: a bounded parser for its Python literal, and its writer.

#include <tq/bodies.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/files/failure.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// The contents of a .npy header. `shape` is logical, also when the data are column-major.
struct NpyHeader {
  DType dtype = DType::f32;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::size_t> shape;
  std::uint64_t data_offset = 0;  ///< from the magic number to the first element
  std::uint64_t data_bytes = 0;
};

/// The longest header text a reader accepts; one of rank 32 takes less than 1 KiB.
inline constexpr std::uint32_t npy_max_header = 1u << 20;
/// The largest rank of a .npy file, as in NumPy 2.
inline constexpr std::size_t npy_max_rank = 64;

namespace detail {

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }. No recursion: the values of
// the three keys are a string, a bool and a flat tuple, anything else is refused where it begins.
class NpyHeaderParser {
 public:
  TQ_API NpyHeaderParser(std::string_view text, std::uint64_t base, std::string_view file,
                         std::string_view item);

  [[nodiscard]] TQ_API NpyHeader parse();

 private:
  [[noreturn]] TQ_API void fail_at(std::size_t at, std::string_view expected, std::string_view got,
                                   errc code = errc::malformed) const;

  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] TQ_API std::string got_here() const;
  [[nodiscard]] static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

  TQ_API void skip_space() noexcept;

  TQ_API void expect(char c);

  // A string in either quote, without escapes: no key or type string of the format needs one.
  [[nodiscard]] TQ_API std::string_view parse_string();

  TQ_API void parse_descr();

  TQ_API void parse_order();

  TQ_API void parse_shape();

  [[nodiscard]] TQ_API std::size_t parse_extent();

  std::string_view text_;
  std::uint64_t base_;
  std::string_view file_, item_;
  std::size_t at_ = 0;
  NpyHeader header_;
};

// Reads magic, version, length and header through next(span), which fills its span or raises;
// `available` is the size of file or archive member, so nothing larger is ever allocated.
template <class Next>
[[nodiscard]] NpyHeader read_npy_header(Next&& next, std::uint64_t available, std::string_view file,
                                        std::string_view item) {
  const auto malformed = [&](std::string_view expected, std::string_view got, std::uint64_t at) {
    fail(errc::malformed, "tq::io::read_npy", file, item,
         expected_got(expected, got) + ", at offset " + std::to_string(at));
  };
  const std::string size_text = std::to_string(available) + " bytes";
  if (available < 10) malformed("a header of 10 bytes or more", size_text, 0);
  std::array<std::byte, 10> fixed;
  next(std::span<std::byte>(fixed));
  constexpr std::string_view magic = "\x93NUMPY";
  for (std::size_t i = 0; i < magic.size(); ++i)
    if (fixed[i] != static_cast<std::byte>(magic[i]))
      malformed("the magic number of .npy", "other bytes", i);
  const unsigned major = std::to_integer<unsigned>(fixed[6]);
  const unsigned minor = std::to_integer<unsigned>(fixed[7]);
  if (major < 1 || major > 3 || minor != 0)
    malformed("version 1.0, 2.0 or 3.0", std::to_string(major) + "." + std::to_string(minor), 6);

  std::uint32_t length = load_le<std::uint16_t>(fixed.data() + 8);
  std::uint64_t offset = 10;
  if (major > 1) {
    if (available < 12) malformed("a header of 12 bytes or more", size_text, 8);
    std::array<std::byte, 2> high;
    next(std::span<std::byte>(high));
    length |= static_cast<std::uint32_t>(load_le<std::uint16_t>(high.data())) << 16;
    offset = 12;
  }
  if (length > available - offset || length > npy_max_header)
    malformed("a header inside the file of at most " + std::to_string(npy_max_header) + " bytes",
              std::to_string(length) + " bytes", 8);
  std::vector<std::byte> raw(length);
  next(std::span<std::byte>(raw));
  const std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
  NpyHeader header = NpyHeaderParser(text, offset, file, item).parse();
  header.data_offset = offset + length;

  const std::optional<std::uint64_t> size = storage_bytes(header.dtype, header.shape);
  if (!size || *size > available - header.data_offset)
    malformed((size ? std::to_string(*size) + " bytes" : std::string("a size below 2^64")) +
                  " of data for " + std::string(to_string(header.dtype)) + " " +
                  shape_text(header.shape),
              std::to_string(available - header.data_offset), header.data_offset);
  header.data_bytes = *size;
  return header;
}

// The bytes before the data, little-endian C order; the data begin at a multiple of 64.
[[nodiscard]] TQ_API std::string npy_header_text(DType dtype, std::span<const std::size_t> shape,
                                                 std::string_view file, std::string_view item);

}  // namespace detail
}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/detail/npy_header.ipp>
#endif
