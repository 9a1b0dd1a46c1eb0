// SPDX-License-Identifier: MIT
#pragma once
// GroupLayout: where the codes and the parameters of weights in groups lie.

#include <tq/core/detail/sizes.hpp>
#include <tq/kernels/group_dot.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::detail {

// Panels of 32 outputs. Codes are in units of inputs, as kernels/group_dot.hpp has them, to which
// every group is padded; parameters are [panels][groups][32].
class GroupLayout {
 public:
  // `group`: inputs of all groups but the last one, at least 1; `width`: bits of a code, 2, 3, 4
  // or 8. Precondition: `bounds_weights`, and groups of at most 2^31 inputs, so that no size wraps.
  GroupLayout(std::size_t outputs, std::size_t inputs, std::size_t group, int width) noexcept
      : outputs_(outputs),
        inputs_(inputs),
        group_(group),
        width_(static_cast<std::size_t>(width)),
        unit_(width == 3 ? 32 : 16),
        groups_(units_for(inputs, group)),
        padded_(round_up_or_most(group, unit_)) {}

  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  [[nodiscard]] std::size_t group() const noexcept { return group_; }
  [[nodiscard]] std::size_t groups() const noexcept { return groups_; }
  [[nodiscard]] std::size_t padded_group() const noexcept { return padded_; }
  [[nodiscard]] std::size_t panels() const noexcept { return units_for(outputs_, columns); }
  [[nodiscard]] std::size_t panel_bytes() const noexcept {
    return groups_ * padded_ / 8 * columns * width_;
  }
  [[nodiscard]] std::size_t code_bytes() const noexcept { return panels() * panel_bytes(); }
  [[nodiscard]] std::size_t parameters() const noexcept { return panels() * groups_ * columns; }

  // Where a parameter is.
  [[nodiscard]] std::size_t parameter(std::size_t output, std::size_t of_group) const noexcept {
    return (output / columns * groups_ + of_group) * columns + output % columns;
  }

  // Writes the code of input number `i` of a group, where there are zeros.
  void put(std::uint8_t* codes, std::size_t output, std::size_t of_group, std::size_t i,
           unsigned code) const noexcept {
    const Place at = place(output, of_group, i);
    const auto set = [&](std::size_t line, std::size_t shift, unsigned bits) {
      std::uint8_t& byte = codes[at.first + line * line_bytes];
      byte = static_cast<std::uint8_t>(byte | bits << shift);
    };
    if (width_ == 3) {
      set(at.four % 2, at.four / 2 * 2, code & 3u);
      set(2, at.four, code >> 2);
    } else {
      set(at.four % lines(), at.four / lines() * width_, code);
    }
  }
  // Reads it.
  [[nodiscard]] std::uint8_t code(const std::uint8_t* codes, std::size_t output,
                                  std::size_t of_group, std::size_t i) const noexcept {
    const Place at = place(output, of_group, i);
    const auto bits = [&](std::size_t line, std::size_t shift, std::size_t count) {
      const unsigned byte = codes[at.first + line * line_bytes];
      return byte >> shift & ((1u << count) - 1u);
    };
    if (width_ == 3)
      return static_cast<std::uint8_t>(bits(at.four % 2, at.four / 2 * 2, 2) | bits(2, at.four, 1)
                                                                                   << 2);
    return static_cast<std::uint8_t>(bits(at.four % lines(), at.four / lines() * width_, width_));
  }

 private:
  static constexpr std::size_t columns = kernels::group_columns, line_bytes = 4 * columns;
  // Lines that fours of inputs take turns in.
  [[nodiscard]] std::size_t lines() const noexcept { return width_ / 2; }

  struct Place {
    std::size_t first;  // the byte in the first line of the unit
    std::size_t four;   // number of four inputs in the unit
  };
  [[nodiscard]] Place place(std::size_t output, std::size_t of_group,
                            std::size_t i) const noexcept {
    const std::size_t input = of_group * padded_ + i;
    return {output / columns * panel_bytes() + input / unit_ * (unit_ / 8 * columns * width_) +
                output % columns * 4 + input % 4,
            input % unit_ / 4};
  }

  std::size_t outputs_, inputs_, group_, width_, unit_, groups_, padded_;
};

}  // namespace tq::detail
