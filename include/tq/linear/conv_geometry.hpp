// SPDX-License-Identifier: MIT
#pragma once
// ConvGeometry: where a two-dimensional convolution takes its inputs from.

#include <tq/error.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string>

namespace tq {

/// Along height and width each. One of one dimension has a height of 1.
struct ConvGeometry {
  std::array<std::size_t, 2> strides{1, 1};
  std::array<std::size_t, 2> dilations{1, 1};
  std::array<std::size_t, 2> pads_before{0, 0};
  std::array<std::size_t, 2> pads_after{0, 0};

  friend bool operator==(const ConvGeometry&, const ConvGeometry&) = default;

  /// The outputs along `axis` (0 or 1) of inputs of `extent` under a kernel. Throws:
  /// `errc::bad_argument` for strides, dilations or kernels of 0, and for kernels that are larger
  /// than the padded input.
  [[nodiscard]] std::size_t outputs(std::size_t axis, std::size_t extent,
                                    std::size_t kernel) const {
    if (strides[axis] == 0 || dilations[axis] == 0 || kernel == 0)
      raise(errc::bad_argument,
            "tq::ConvGeometry: expected strides, dilations and kernels of at least 1, got " +
                std::to_string(strides[axis]) + ", " + std::to_string(dilations[axis]) + " and " +
                std::to_string(kernel));
    const std::size_t reach = (kernel - 1) * dilations[axis] + 1;
    const std::size_t padded = pads_before[axis] + extent + pads_after[axis];
    if (padded < reach)
      raise(errc::bad_argument,
            "tq::ConvGeometry: expected inputs of at least " + std::to_string(reach) +
                " with their padding, as the kernel reaches, got " + std::to_string(padded));
    return (padded - reach) / strides[axis] + 1;
  }

  /// The input along `axis` that `output` takes at place `at` of the kernel: beyond every extent
  /// where it is padding before.
  [[nodiscard]] std::size_t input(std::size_t axis, std::size_t output,
                                  std::size_t at) const noexcept {
    const std::size_t i = output * strides[axis] + at * dilations[axis];
    return i >= pads_before[axis] ? i - pads_before[axis]
                                  : std::numeric_limits<std::size_t>::max() / 2;
  }
};

}  // namespace tq
