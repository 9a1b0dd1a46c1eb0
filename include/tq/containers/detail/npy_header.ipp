// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/detail/npy_header.hpp.

#include <tq/containers/detail/npy_header.hpp>

#include <bit>
#include <limits>
#include <utility>

namespace tq::io {

namespace detail {

TQ_API NpyHeaderParser::NpyHeaderParser(std::string_view text, std::uint64_t base,
                                        std::string_view file, std::string_view item)
    : text_(text), base_(base), file_(file), item_(item) {}

TQ_API NpyHeader NpyHeaderParser::parse() {
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

TQ_API void NpyHeaderParser::fail_at(std::size_t at, std::string_view expected,
                                     std::string_view got, errc code) const {
  fail(code, "tq::io::read_npy", file_, item_,
       expected_got(expected, got) + ", at offset " + std::to_string(base_ + at));
}

TQ_API std::string NpyHeaderParser::got_here() const {
  return at_ < text_.size() ? shown(text_.substr(at_, 1)) : "the end of the header";
}

TQ_API void NpyHeaderParser::skip_space() noexcept {
  while (at_ < text_.size() && std::string_view(" \t\n\r\f").find(text_[at_]) != text_.npos) ++at_;
}

TQ_API void NpyHeaderParser::expect(char c) {
  if (at_ >= text_.size() || text_[at_] != c) fail_at(at_, shown({&c, 1}), got_here());
  ++at_;
}

TQ_API std::string_view NpyHeaderParser::parse_string() {
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

TQ_API void NpyHeaderParser::parse_descr() {
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

TQ_API void NpyHeaderParser::parse_order() {
  const std::string_view rest = text_.substr(at_);
  const bool is_true = rest.starts_with("True");
  if (!is_true && !rest.starts_with("False")) fail_at(at_, "True or False", got_here());
  at_ += is_true ? 4u : 5u;
  header_.fortran_order = is_true;
}

TQ_API void NpyHeaderParser::parse_shape() {
  expect('(');
  bool comma = true;  // before the first extent, or after one
  for (;;) {
    skip_space();
    if (peek() == ')') break;
    if (!comma) fail_at(at_, "\",\" or \")\"", got_here());
    if (header_.shape.size() == npy_max_rank)
      fail_at(at_, "a rank of at most " + std::to_string(npy_max_rank), "more", errc::unsupported);
    header_.shape.push_back(parse_extent());
    skip_space();
    comma = peek() == ',';
    if (comma) ++at_;
  }
  if (header_.shape.size() == 1 && !comma) fail_at(at_, "a tuple such as (3,)", "a number");
  ++at_;
}

TQ_API std::size_t NpyHeaderParser::parse_extent() {
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

TQ_API std::string npy_header_text(DType dtype, std::span<const std::size_t> shape,
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
