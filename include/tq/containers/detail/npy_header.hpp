// SPDX-License-Identifier: MIT
#pragma once
// The header of a .npy file: a bounded parser for its Python literal, and its writer.

#include <tq/containers/tensor.hpp>
#include <tq/files/failure.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  NpyHeaderParser(std::string_view text, std::uint64_t base, std::string_view file,
                  std::string_view item)
      : text_(text), base_(base), file_(file), item_(item) {}

  [[nodiscard]] NpyHeader parse() {
    skip_space();
    expect('{');
    bool seen_descr = false, seen_order = false, seen_shape = false;
    for (;;) {
      skip_space();
      if (peek() == '}') break;
      const std::size_t key_at = at_;
      const std::string_view key = parse_string();
      skip_space();
      expect(':');
      skip_space();
      if (key == "descr" && !std::exchange(seen_descr, true)) parse_descr();
      else if (key == "fortran_order" && !std::exchange(seen_order, true)) parse_order();
      else if (key == "shape" && !std::exchange(seen_shape, true)) parse_shape();
      else fail_at(key_at, "one each of descr, fortran_order, shape", "key " + shown(key));
      skip_space();
      if (peek() != ',') break;
      ++at_;
    }
    expect('}');
    skip_space();
    if (at_ != text_.size()) fail_at(at_, "the end of the header", shown(text_.substr(at_)));
    if (!seen_descr || !seen_order || !seen_shape)
      fail_at(at_, "keys descr, fortran_order and shape", "a header without one of them");
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail_at(std::size_t at, std::string_view expected, std::string_view got,
                            errc code = errc::malformed) const {
    fail(code, "tq::io::read_npy", file_, item_,
         expected_got(expected, got) + ", at offset " + std::to_string(base_ + at));
  }

  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] std::string got_here() const {
    return at_ < text_.size() ? shown(text_.substr(at_, 1)) : "the end of the header";
  }
  [[nodiscard]] static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

  void skip_space() noexcept {
    while (at_ < text_.size() && std::string_view(" \t\n\r\f").find(text_[at_]) != text_.npos)
      ++at_;
  }

  void expect(char c) {
    if (at_ >= text_.size() || text_[at_] != c) fail_at(at_, shown({&c, 1}), got_here());
    ++at_;
  }

  // A string in either quote, without escapes: no key or type string of the format needs one.
  [[nodiscard]] std::string_view parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail_at(at_, "a quoted string", got_here());
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' || text_[at_] == '\n')
        fail_at(at_, "a string without escapes", got_here());
      ++at_;
    }
    if (at_ == text_.size()) fail_at(begin - 1, "a closing quote", "the end of the header");
    return text_.substr(begin, at_++ - begin);
  }

  void parse_descr() {
    const std::size_t at = at_;
    if (peek() == '[' || peek() == '(')
      fail_at(at, "a plain element type", "a structured type", errc::unsupported);
    std::string_view descr = parse_string();
    const std::string whole = shown(descr);
    const char order = descr.empty() ? '\0' : descr.front();
    const bool has_order = order != '\0' && std::string_view("<>|=").find(order) != descr.npos;
    if (has_order) descr.remove_prefix(1);
    if (!descr.empty() && descr.front() == 'O')
      fail_at(at, "a numeric type", whole + " (objects are pickles, which are never read)",
              errc::unsupported);
    const std::optional<DType> dtype = dtype_from_npy(descr);
    if (!dtype)
      fail_at(at, "one of b1 i1..i8 u1..u8 f2 f4 f8 c8 c16 with its byte order", whole,
              errc::unsupported);
    header_.dtype = *dtype;
    header_.big_endian = order == '>' || (order != '<' && std::endian::native == std::endian::big);
  }

  void parse_order() {
    const std::string_view rest = text_.substr(at_);
    const bool is_true = rest.starts_with("True");
    if (!is_true && !rest.starts_with("False")) fail_at(at_, "True or False", got_here());
    at_ += is_true ? 4u : 5u;
    header_.fortran_order = is_true;
  }

  void parse_shape() {
    expect('(');
    bool comma = true;  // before the first extent, or after one
    for (;;) {
      skip_space();
      if (peek() == ')') break;
      if (!comma) fail_at(at_, "\",\" or \")\"", got_here());
      if (header_.shape.size() == npy_max_rank)
        fail_at(at_, "a rank of at most " + std::to_string(npy_max_rank), "more",
                errc::unsupported);
      header_.shape.push_back(parse_extent());
      skip_space();
      comma = peek() == ',';
      if (comma) ++at_;
    }
    if (header_.shape.size() == 1 && !comma) fail_at(at_, "a tuple such as (3,)", "a number");
    ++at_;
  }

  [[nodiscard]] std::size_t parse_extent() {
    const std::size_t begin = at_;
    if (!is_digit(peek())) fail_at(at_, "a non-negative integer", got_here());
    std::size_t value = 0;
    for (; is_digit(peek()); ++at_) {
      const std::size_t digit = static_cast<std::size_t>(text_[at_] - '0');
      if (value > (std::numeric_limits<std::size_t>::max() - digit) / 10)
        fail_at(begin, "an extent below 2^64", "a larger one");
      value = value * 10 + digit;
    }
    if (at_ - begin > 1 && text_[begin] == '0')
      fail_at(begin, "an integer without leading zeros", shown(text_.substr(begin, at_ - begin)));
    if (peek() == 'L') ++at_;  // a Python 2 long
    return value;
  }

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
[[nodiscard]] inline std::string npy_header_text(DType dtype, std::span<const std::size_t> shape,
                                                 std::string_view file, std::string_view item) {
  if (npy_descr(dtype).empty())
    fail(errc::unsupported, "tq::io::write_npy", file, item,
         expected_got("a type that .npy can name", to_string(dtype)));
  if (shape.size() > npy_max_rank)
    fail(errc::unsupported, "tq::io::write_npy", file, item,
         expected_got("a rank of at most 64", std::to_string(shape.size())));
  std::string body = "{'descr': '";
  body += bits(dtype) == 8 ? '|' : '<';
  body.append(npy_descr(dtype)).append("', 'fortran_order': False, 'shape': (");
  for (std::size_t i = 0; i < shape.size(); ++i)
    body.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
  body += shape.size() == 1 ? ",), }" : "), }";
  // The largest header of rank 64 is far below the 65535 bytes of version 1.0.
  const std::size_t total = (10 + body.size() + 1 + 63) / 64 * 64;
  body.append(total - 10 - body.size() - 1, ' ').push_back('\n');
  std::string out("\x93NUMPY\x01\x00", 8);
  out.push_back(static_cast<char>(body.size() & 0xff));
  out.push_back(static_cast<char>(body.size() >> 8));
  return out + body;
}

}  // namespace detail
}  // namespace tq::io
