// SPDX-License-Identifier: MIT
#pragma once
// A short text that stands for a long list, to tell whether it is the same as before.

#include <tq/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tq::store::detail {

// FNV-1a of 64 bits. It tells accidents apart, not attacks.
class Digest {
 public:
  Digest& add(std::string_view text) {
    add(std::uint64_t{text.size()});  // so that "ab", "c" is not "a", "bc"
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    return *this;
  }
  Digest& add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_byte((number >> shift) & 0xff);
    return *this;
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(state_ >> shift) & 15];
    return out;
  }

 private:
  void add_byte(std::uint64_t byte) { state_ = (state_ ^ byte) * 0x100000001b3; }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace tq::store::detail
