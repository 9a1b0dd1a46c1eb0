// SPDX-License-Identifier: MIT
#pragma once
// Bytes in the format of linear/detail/saved_format.hpp, changed.

#include <tq/error.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace test {

using Bytes = std::vector<std::byte>;

/// Writes the checksum as the format describes it.
inline void sum_again(Bytes& bytes) {
  std::uint64_t sum = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i >= 32 && i < 40) continue;
    sum ^= static_cast<std::uint64_t>(bytes[i]);
    sum *= 1099511628211u;
  }
  for (std::size_t i = 0; i < 8; ++i) bytes[32 + i] = static_cast<std::byte>(sum >> (8 * i));
}

/// The bytes with other values from `at` on, and the checksum of these.
inline Bytes with_values(Bytes bytes, std::size_t at, std::initializer_list<int> values) {
  for (const int v : values) bytes[at++] = static_cast<std::byte>(v);
  sum_again(bytes);
  return bytes;
}

/// Whether load(bytes) refuses them with each byte changed, cut before each, and one byte longer.
template <class Load>
bool refuses_changes(const Bytes& whole, const Load& load) {
  const auto refused = [&](const Bytes& bytes) {
    try {
      load(bytes);
    } catch (const tq::error& e) {
      return e.code() == tq::errc::malformed || e.code() == tq::errc::unsupported;
    }
    return false;
  };
  bool all = true;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes changed = whole;
    changed[i] ^= std::byte{0x10};
    all = all && refused(changed) &&
          refused(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)));
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  return all && refused(longer);
}

}  // namespace test
