// SPDX-License-Identifier: MIT
#pragma once
// save_packed_weights, load_packed_weights: packed weights as bytes, to be kept beside the codes
// that they were made of. All numbers are little endian:
//
//   0   8   "tqpacked"
//   8   4   version, 1
//   12  4   layout, a PanelLayout
//   16  8   outputs
//   24  8   inputs
//   32  8   checksum: FNV-1a of 64 bits over what is before and behind it
//   40  4n  zero points of the n outputs
//   ..      panels, as the layout has them

#include <tq/arch/byte_dot.hpp>
#include <tq/arch/isa.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/kernels/panel_layout.hpp>
#include <tq/linear/packed_weights.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

namespace detail {

struct PackedBytes {
  static constexpr std::string_view magic = "tqpacked";
  static constexpr std::uint32_t version = 1;
  static constexpr std::size_t version_at = 8, layout_at = 12, outputs_at = 16, inputs_at = 24,
                               checksum_at = 32, header = 40;
};

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

inline std::uint64_t packed_checksum(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325u;
  const auto take = [&](std::span<const std::byte> part) {
    for (const std::byte b : part) sum = (sum ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3u;
  };
  take(bytes.first(PackedBytes::checksum_at));
  take(bytes.subspan(PackedBytes::header));
  return sum;
}

[[noreturn]] inline void raise_packed(errc code, const std::string& expected,
                                      const std::string& got) {
  raise(code, "tq::load_packed_weights: expected " + expected + ", got " + got);
}

// Throws unless these are bytes of packed weights, whole and unchanged.
inline void require_packed(std::span<const std::byte> bytes) {
  using F = PackedBytes;
  if (bytes.size() < F::header)
    raise_packed(errc::malformed, "a header of " + std::to_string(F::header) + " bytes",
                 std::to_string(bytes.size()));
  const auto same = [](char c, std::byte b) { return c == std::to_integer<char>(b); };
  if (!std::equal(F::magic.begin(), F::magic.end(), bytes.begin(), same))
    raise_packed(errc::malformed, "bytes that begin with \"" + std::string(F::magic) + "\"",
                 "others");
  const auto version = number_at<std::uint32_t>(bytes, F::version_at);
  if (version != F::version)
    raise_packed(errc::unsupported, "version " + std::to_string(F::version),
                 std::to_string(version));
  const auto layout = number_at<std::uint32_t>(bytes, F::layout_at);
  if (layout > std::uint32_t{static_cast<std::uint8_t>(PanelLayout::fours_of_64)})
    raise_packed(errc::unsupported, "a layout from 0 to 2", std::to_string(layout));
  const auto sum = number_at<std::uint64_t>(bytes, F::checksum_at), own = packed_checksum(bytes);
  if (sum != own)
    raise_packed(errc::malformed, "the checksum " + std::to_string(sum), std::to_string(own));
}

}  // namespace detail

/// The bytes of packed weights, with their layout. Throws: std::bad_alloc.
[[nodiscard]] inline std::vector<std::byte> save_packed_weights(const PackedWeights& weights) {
  using F = detail::PackedBytes;
  const std::size_t outputs = weights.outputs(), panels = F::header + 4 * outputs;
  std::vector<std::byte> bytes(panels + weights.codes().size());
  std::transform(F::magic.begin(), F::magic.end(), bytes.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  detail::put_number(bytes, F::version_at, F::version);
  detail::put_number(bytes, F::layout_at,
                     std::uint32_t{static_cast<std::uint8_t>(weights.layout())});
  detail::put_number(bytes, F::outputs_at, std::uint64_t{outputs});
  detail::put_number(bytes, F::inputs_at, std::uint64_t{weights.inputs()});
  for (std::size_t n = 0; n < outputs; ++n)
    detail::put_number(bytes, F::header + 4 * n, static_cast<std::uint32_t>(weights.zero_point(n)));
  std::transform(weights.codes().begin(), weights.codes().end(),
                 bytes.begin() + static_cast<std::ptrdiff_t>(panels),
                 [](std::int8_t code) { return static_cast<std::byte>(code); });
  detail::put_number(bytes, F::checksum_at, detail::packed_checksum(bytes));
  return bytes;
}

/// The weights that were saved, packed anew where they were saved in another layout than is asked
/// for. Throws: `errc::malformed` for bytes that are no such weights, or not all of them, or not as
/// they were written; `errc::unsupported` for a version or a layout that is not known;
/// `errc::bad_zero_point`.
[[nodiscard]] inline PackedWeights load_packed_weights(
    std::span<const std::byte> bytes,
    PanelLayout layout = kernels::layout_of<arch::best_dot<arch::native>>) {
  using F = detail::PackedBytes;
  detail::require_packed(bytes);
  const auto saved =
      static_cast<PanelLayout>(detail::number_at<std::uint32_t>(bytes, F::layout_at));
  const auto outputs = detail::number_at<std::uint64_t>(bytes, F::outputs_at),
             inputs = detail::number_at<std::uint64_t>(bytes, F::inputs_at);
  const std::size_t rest = bytes.size() - F::header;
  const std::string sizes = std::to_string(outputs) + " outputs of " + std::to_string(inputs) +
                            " inputs in " + std::to_string(rest) + " bytes";
  // Numbers this large would overflow below, and fit no bytes.
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  if (outputs > rest / 4 || inputs > most)
    detail::raise_packed(errc::malformed, "sizes that fit the bytes", sizes);
  const auto codes = bytes.subspan(F::header + 4 * outputs);
  const std::size_t panels = kernels::panel_count(saved, outputs),
                    size = kernels::panel_size(saved, inputs);
  if (panels == 0 ? !codes.empty() : codes.size() % panels != 0 || codes.size() / panels != size)
    detail::raise_packed(errc::malformed, "sizes that fit the bytes", sizes);

  std::vector<std::int32_t> zero_points(outputs);
  Buffer<std::int8_t> matrix(outputs * inputs);
  std::size_t set = 0;
  for (std::size_t n = 0; n < outputs; ++n) {
    zero_points[n] =
        std::bit_cast<std::int32_t>(detail::number_at<std::uint32_t>(bytes, F::header + 4 * n));
    for (std::size_t k = 0; k < inputs; ++k) {
      const auto code = static_cast<std::int8_t>(
          std::to_integer<int>(codes[kernels::panel_place(saved, inputs, n, k)]));
      matrix.data()[n * inputs + k] = code;
      if (code != 0) ++set;
    }
  }
  const auto all_set = static_cast<std::size_t>(
      std::count_if(codes.begin(), codes.end(), [](std::byte b) { return b != std::byte{0}; }));
  if (all_set != set)
    detail::raise_packed(errc::malformed, "zeros where panels are padded",
                         std::to_string(all_set - set) + " other codes");
  return PackedWeights(TensorView<const std::int8_t>(matrix.data(), Shape{outputs, inputs}),
                       zero_points, layout);
}

}  // namespace tq
