// SPDX-License-Identifier: MIT
#pragma once
// SavedFormat: what the bytes of packed weights begin with. Numbers are little endian:
//
//   0   8   name of the format
//   8   4   version
//   12  4   layout
//   16  8   outputs
//   24  8   inputs
//   32  8   checksum: FNV-1a of 64 bits over what is before and behind it

#include <tq/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tq::detail {

template <std::unsigned_integral T>
void put_number(std::span<std::byte> bytes, std::size_t at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}
template <std::unsigned_integral T>
T number_at(std::span<const std::byte> bytes, std::size_t at) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<T>(std::to_integer<T>(bytes[at + i]) << (8 * i));
  return value;
}

struct SavedSizes {
  std::uint32_t layout;
  std::uint64_t outputs, inputs;
};

// A format of packed weights.
struct SavedFormat {
  static constexpr std::size_t version_at = 8, layout_at = 12, outputs_at = 16, inputs_at = 24,
                               checksum_at = 32, common = 40;
  // Sizes beyond would overflow where places in panels are computed, and fit no bytes.
  static constexpr std::uint64_t most = std::uint64_t{1} << 31;

  std::string_view loader;  // "tq::load_packed_weights", for messages
  std::string_view name;    // 8 letters
  std::uint32_t version;
  std::size_t header;  // bytes before anything that depends on sizes

  // Writes what is common to all, the checksum last: call this when the rest is there.
  void seal(std::span<std::byte> bytes, const SavedSizes& sizes) const noexcept {
    std::ranges::transform(name, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
    put_number(bytes, version_at, version);
    put_number(bytes, layout_at, sizes.layout);
    put_number(bytes, outputs_at, sizes.outputs);
    put_number(bytes, inputs_at, sizes.inputs);
    put_number(bytes, checksum_at, checksum(bytes));
  }

  // Throws: `errc::malformed` for bytes of another format, for too few and for changed ones;
  // `errc::unsupported` for another version.
  [[nodiscard]] SavedSizes open(std::span<const std::byte> bytes) const {
    if (bytes.size() < header)
      refuse(errc::malformed, "a header of " + std::to_string(header) + " bytes",
             std::to_string(bytes.size()));
    const auto same = [](char c, std::byte b) { return c == std::to_integer<char>(b); };
    if (!std::equal(name.begin(), name.end(), bytes.begin(), same))
      refuse(errc::malformed, "bytes that begin with \"" + std::string(name) + "\"", "others");
    if (const auto v = number_at<std::uint32_t>(bytes, version_at); v != version)
      refuse(errc::unsupported, "version " + std::to_string(version), std::to_string(v));
    const auto sum = number_at<std::uint64_t>(bytes, checksum_at), own = checksum(bytes);
    if (sum != own)
      refuse(errc::malformed, "the checksum " + std::to_string(sum), std::to_string(own));
    return {number_at<std::uint32_t>(bytes, layout_at), number_at<std::uint64_t>(bytes, outputs_at),
            number_at<std::uint64_t>(bytes, inputs_at)};
  }

  [[noreturn]] void refuse(errc code, const std::string& expected, const std::string& got) const {
    raise(code, std::string(loader) + ": expected " + expected + ", got " + got);
  }
  [[noreturn]] void refuse_sizes(std::span<const std::byte> bytes, const SavedSizes& sizes) const {
    refuse(errc::malformed, "sizes that fit the bytes",
           std::to_string(sizes.outputs) + " outputs of " + std::to_string(sizes.inputs) +
               " inputs in " + std::to_string(bytes.size() - header) + " bytes");
  }

 private:
  static std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
    std::uint64_t sum = 0xcbf29ce484222325u;
    const auto take = [&](std::span<const std::byte> part) {
      for (const std::byte b : part)
        sum = (sum ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3u;
    };
    take(bytes.first(checksum_at));
    take(bytes.subspan(common));
    return sum;
  }
};

}  // namespace tq::detail
