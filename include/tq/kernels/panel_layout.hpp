// SPDX-License-Identifier: MIT
#pragma once
// PanelLayout: the orders in which packed weights may lie, by what reads them.

#include <tq/arch/narrow_dot.hpp>
#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>

namespace tq {

/// Weights lie in panels of some outputs, [inputs / depth][outputs of the panel][depth]. Values are
/// those of files.
enum class PanelLayout : std::uint8_t {
  pairs_of_16 = 0,  ///< 16 outputs, 2 inputs: 16-bit products, which every instruction set has
  fours_of_16 = 1,  ///< 16 outputs, 4 inputs: AVX-VNNI, NEON's dot product
  fours_of_64 = 2,  ///< 64 outputs, 4 inputs: AVX-512 VNNI
  narrow_fours_of_16 = 3,  ///< as fours_of_16, of weights that `arch::is_narrow` two by two: AVX2
  eights_of_16 = 4,        ///< 16 outputs, 8 inputs: NEON's products of matrices (i8mm)
};

namespace kernels {

namespace detail {
// Powers of two, so that nothing here divides.
constexpr std::size_t column_bits(PanelLayout layout) noexcept {
  return layout == PanelLayout::fours_of_64 ? 6 : 4;
}
constexpr std::size_t depth_bits(PanelLayout layout) noexcept {
  switch (layout) {
    case PanelLayout::pairs_of_16: return 1;
    case PanelLayout::eights_of_16: return 3;
    default: return 2;
  }
}
constexpr std::size_t pieces(std::size_t n, std::size_t bits) noexcept {
  return (n >> bits) + ((n & ((std::size_t{1} << bits) - 1)) != 0 ? 1 : 0);
}
}  // namespace detail

/// Outputs of a panel.
[[nodiscard]] constexpr std::size_t panel_columns(PanelLayout layout) noexcept {
  return std::size_t{1} << detail::column_bits(layout);
}
/// Inputs that lie beside each other.
[[nodiscard]] constexpr std::size_t panel_depth(PanelLayout layout) noexcept {
  return std::size_t{1} << detail::depth_bits(layout);
}
/// Times that a lane multiplies for one output.
[[nodiscard]] constexpr std::size_t panel_steps(PanelLayout layout, std::size_t inputs) noexcept {
  return detail::pieces(inputs, detail::depth_bits(layout));
}
[[nodiscard]] constexpr std::size_t panel_count(PanelLayout layout, std::size_t outputs) noexcept {
  return detail::pieces(outputs, detail::column_bits(layout));
}
/// Weights of a panel, with those that pad it.
[[nodiscard]] constexpr std::size_t panel_size(PanelLayout layout, std::size_t inputs) noexcept {
  return panel_steps(layout, inputs) << (detail::column_bits(layout) + detail::depth_bits(layout));
}
/// Where a weight lies, of panels one after the other.
[[nodiscard]] constexpr std::size_t panel_place(PanelLayout layout, std::size_t inputs,
                                                std::size_t output, std::size_t input) noexcept {
  const std::size_t columns = detail::column_bits(layout), depth = detail::depth_bits(layout),
                    column = output & (panel_columns(layout) - 1);
  return (output >> columns) * panel_size(layout, inputs) +
         ((((input >> depth) << columns) + column) << depth) + (input & (panel_depth(layout) - 1));
}

/// The layout that Dot reads.
template <class Dot>
inline constexpr PanelLayout layout_of = Dot::depth == 2        ? PanelLayout::pairs_of_16
                                         : Dot::depth == 8      ? PanelLayout::eights_of_16
                                         : Dot::columns != 16   ? PanelLayout::fours_of_64
                                         : arch::NarrowDot<Dot> ? PanelLayout::narrow_fours_of_16
                                                                : PanelLayout::fours_of_16;

}  // namespace kernels
}  // namespace tq
