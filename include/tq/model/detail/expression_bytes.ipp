// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/expression_bytes.hpp.

#include <tq/model/detail/expression_bytes.hpp>

#include <string>

namespace tq::detail {

TQ_API ByteSet byte_range(unsigned char first, unsigned char last) {
  ByteSet set;
  for (unsigned b = first; b <= last; ++b) set.set(b);
  return set;
}

TQ_API ByteSet one_byte(char byte) { return ByteSet().set(static_cast<unsigned char>(byte)); }

TQ_API ByteSet byte_set(std::string_view text) {
  ByteSet set;
  for (const char byte : text) set |= one_byte(byte);
  return set;
}

TQ_API ByteSet any_byte() { return ~byte_set("\n\r"); }

TQ_API std::optional<ByteSet> byte_class(std::string_view name) {
  const ByteSet upper = byte_range('A', 'Z'), lower = byte_range('a', 'z'),
                digit = byte_range('0', '9'), graph = byte_range('!', '~');
  const ByteSet alpha = upper | lower, alnum = alpha | digit, space = byte_set(" \t\n\v\f\r");
  std::string lowered(name);
  for (char& c : lowered)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (lowered == "alnum") return alnum;
  if (lowered == "alpha") return alpha;
  if (lowered == "blank") return byte_set(" \t");
  if (lowered == "cntrl") return byte_range(0, 31) | one_byte('\x7f');
  if (lowered == "d" || lowered == "digit") return digit;
  if (lowered == "graph") return graph;
  if (lowered == "lower") return lower;
  if (lowered == "print") return graph | one_byte(' ');
  if (lowered == "punct") return graph & ~alnum;
  if (lowered == "s" || lowered == "space") return space;
  if (lowered == "upper") return upper;
  if (lowered == "w") return alnum | one_byte('_');
  if (lowered == "xdigit") return digit | byte_range('a', 'f') | byte_range('A', 'F');
  return std::nullopt;
}

}  // namespace tq::detail
