// SPDX-License-Identifier: MIT
#pragma once
// Ternary codes <-> bytes of five digits of base 3.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// byte = sum of (code_i + 1) * 3^i over five codes. The digits after the last code are written as
/// 0 and ignored when read. Codes beyond -1 and 1 count as these, bytes above 242 as byte - 243.
template <class Arch>
struct five_in_byte {
  static void pack(const std::int8_t* codes, unsigned char* out, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; i += 5) {
      std::uint32_t byte = 0;
      for (std::size_t k = n - i < 5 ? n - i : 5; k-- > 0;) {
        const int code = codes[i + k];
        byte = 3 * byte + static_cast<std::uint32_t>((code > 0) - (code < 0) + 1);
      }
      out[i / 5] = static_cast<unsigned char>(byte);
    }
  }

  static void unpack(const unsigned char* bytes, std::int8_t* codes, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; i += 5) {
      std::uint32_t byte = bytes[i / 5];
      for (std::size_t k = 0; k < 5 && i + k < n; ++k, byte /= 3)
        codes[i + k] = static_cast<std::int8_t>(static_cast<int>(byte % 3) - 1);
    }
  }

  /// Unpacks n codes, from code `first` on.
  static void unpack_from(const unsigned char* bytes, std::size_t first, std::size_t n,
                          std::int8_t* codes) noexcept {
    std::int8_t some[5];
    bytes += first / 5;
    if (const std::size_t lead = first % 5; lead != 0) {
      const std::size_t m = n < 5 - lead ? n : 5 - lead;
      unpack(bytes++, some, lead + m);
      for (std::size_t k = 0; k < m; ++k) *codes++ = some[lead + k];
      n -= m;
    }
    unpack(bytes, codes, n);
  }
};

}  // namespace tq::kernels
