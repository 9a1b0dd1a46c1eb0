// SPDX-License-Identifier: MIT
#pragma once
// Is a byte string UTF-8?

#include <tq/config.hpp>

#include <cstddef>
#include <string_view>

namespace tq::io {

/// True for well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] constexpr bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80u                      ? 1
                               : first >= 0xc2u && first <= 0xdfu ? 2
                               : first >= 0xe0u && first <= 0xefu ? 3
                               : first >= 0xf0u && first <= 0xf4u ? 4
                                                                  : 0;
    if (length == 0 || length > text.size() - i) return false;
    for (std::size_t k = 1; k < length; ++k) {
      const unsigned next = static_cast<unsigned char>(text[i + k]);
      unsigned low = 0x80u, high = 0xbfu;
      if (k == 1) {  // the first continuation byte excludes overlong forms and surrogates
        if (first == 0xe0u) low = 0xa0u;
        if (first == 0xedu) high = 0x9fu;
        if (first == 0xf0u) low = 0x90u;
        if (first == 0xf4u) high = 0x8fu;
      }
      if (next < low || next > high) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace tq::io
