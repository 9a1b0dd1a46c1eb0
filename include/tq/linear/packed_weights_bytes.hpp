// SPDX-License-Identifier: MIT
#pragma once
// save_packed_weights, load_packed_weights: packed weights as bytes, to be kept beside the codes
// that they were made of. They begin as linear/detail/saved_format.hpp says, with "tqpacked",
// version 1 and a PanelLayout as layout:
//
//   40  4n  zero points of the n outputs
//   ..      panels, as the layout has them

#include <tq/core/buffer.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/kernels/panel_layout.hpp>
#include <tq/linear/detail/default_layout.hpp>
#include <tq/linear/detail/saved_format.hpp>
#include <tq/linear/detail/weight_extents.hpp>
#include <tq/linear/packed_weights.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tq {

namespace detail {
inline constexpr SavedFormat packed_format{"tq::load_packed_weights", "tqpacked", 1, 40};
}  // namespace detail

/// The bytes of packed weights, with their layout. Throws: std::bad_alloc.
[[nodiscard]] inline std::vector<std::byte> save_packed_weights(const PackedWeights& weights) {
  constexpr auto& format = detail::packed_format;
  const std::size_t outputs = weights.outputs(), panels = format.header + 4 * outputs;
  std::vector<std::byte> bytes(panels + weights.codes().size());
  for (std::size_t n = 0; n < outputs; ++n)
    detail::put_number(bytes, format.header + 4 * n,
                       static_cast<std::uint32_t>(weights.zero_point(n)));
  std::ranges::transform(weights.codes(), bytes.begin() + static_cast<std::ptrdiff_t>(panels),
                         [](std::int8_t code) { return static_cast<std::byte>(code); });
  format.seal(bytes, {static_cast<std::uint8_t>(weights.layout()), outputs, weights.inputs()});
  return bytes;
}

/// The weights that were saved, packed anew where they were saved in another layout than is asked
/// for. Throws: `errc::malformed` for bytes that are no such weights, or not all of them, or not as
/// they were written; `errc::unsupported` for a version or a layout that is not known;
/// `errc::bad_zero_point`.
[[nodiscard]] inline PackedWeights load_packed_weights(
    std::span<const std::byte> bytes, PanelLayout layout = detail::default_layout<default_arch>()) {
  constexpr auto& format = detail::packed_format;
  const detail::SavedSizes sizes = format.open(bytes);
  if (sizes.layout > std::uint32_t{static_cast<std::uint8_t>(PanelLayout::eights_of_16)})
    format.refuse(errc::unsupported, "a layout from 0 to 4", std::to_string(sizes.layout));
  const auto saved = static_cast<PanelLayout>(sizes.layout);
  const std::size_t outputs = sizes.outputs, inputs = sizes.inputs;
  if (outputs > (bytes.size() - format.header) / 4 || inputs > format.most ||
      !detail::bounds_weights(Shape{outputs, inputs}))
    format.refuse_sizes(bytes, sizes);
  const auto codes = bytes.subspan(format.header + 4 * outputs);
  const std::size_t panels = kernels::panel_count(saved, outputs),
                    size = kernels::panel_size(saved, inputs);
  if (panels == 0 ? !codes.empty() : codes.size() % panels != 0 || codes.size() / panels != size)
    format.refuse_sizes(bytes, sizes);

  std::vector<std::int32_t> zero_points(outputs);
  Buffer<std::int8_t> matrix(outputs * inputs);
  std::size_t set = 0;
  for (std::size_t n = 0; n < outputs; ++n) {
    zero_points[n] =
        std::bit_cast<std::int32_t>(detail::number_at<std::uint32_t>(bytes, format.header + 4 * n));
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
    format.refuse(errc::malformed, "zeros where panels are padded",
                  std::to_string(all_set - set) + " other codes");
  return PackedWeights(TensorView<const std::int8_t>(matrix.data(), Shape{outputs, inputs}),
                       zero_points, layout);
}

}  // namespace tq
