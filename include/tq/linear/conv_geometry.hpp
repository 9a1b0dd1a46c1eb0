// SPDX-License-Identifier: MIT
#pragma once
// ConvGeometry: where a two-dimensional convolution takes its inputs from.

#include <tq/core/detail/sizes.hpp>
#include <tq/error.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string>

namespace tq {

namespace detail {
/// Throws: `errc::bad_argument` unless `value` is at least `least`, and no negative number that
/// became a size.
inline void require_setting(const char* what, std::size_t value, std::size_t least) {
  if (value >= least && value <= most_size / 2) return;
  const bool negative = value > most_size / 2;
  raise_expected(
      errc::bad_argument, "tq::ConvGeometry", {what, " of at least ", least},
      {negative ? "-" : "", negative ? std::size_t{0} - value : value,
       (negative ? " (which is " + std::to_string(value) + " as a size)" : std::string())});
}
}  // namespace detail

/// Along height and width each. One of one dimension has a height of 1. Negative paddings, which
/// other programs have for crops, are no paddings here: give a view of the part of the input.
struct ConvGeometry {
  std::array<std::size_t, 2> strides{1, 1};
  std::array<std::size_t, 2> dilations{1, 1};
  std::array<std::size_t, 2> pads_before{0, 0};
  std::array<std::size_t, 2> pads_after{0, 0};

  friend bool operator==(const ConvGeometry&, const ConvGeometry&) = default;

  /// The outputs along `axis` (0 or 1) of inputs of `extent` under a kernel. Throws:
  /// `errc::bad_argument` for strides, dilations or kernels of 0, for negative numbers that became
  /// sizes, for kernels that are larger than the padded input, and for a padded input of 2^63 or
  /// more.
  [[nodiscard]] std::size_t outputs(std::size_t axis, std::size_t extent,
                                    std::size_t kernel) const {
    if (strides[axis] == 0 || dilations[axis] == 0 || kernel == 0)
      detail::raise_expected(errc::bad_argument, "tq::ConvGeometry",
                             {"strides, dilations and kernels of at least 1"},
                             {strides[axis], ", ", dilations[axis], " and ", kernel});
    detail::require_setting("strides", strides[axis], 1);
    detail::require_setting("dilations", dilations[axis], 1);
    detail::require_setting("paddings before", pads_before[axis], 0);
    detail::require_setting("paddings after", pads_after[axis], 0);
    const std::size_t steps = kernel - 1,
                      reach =
                          detail::sum_or_most(detail::product_or_most(steps, dilations[axis]), 1),
                      padded = detail::sum_or_most(detail::sum_or_most(pads_before[axis], extent),
                                                   pads_after[axis]);
    if (padded > detail::most_size / 2)
      detail::raise_expected(
          errc::bad_argument, "tq::ConvGeometry", {"inputs of less than 2^63 with their padding"},
          {extent, " with ", pads_before[axis], " before and ", pads_after[axis], " after"});
    if (padded < reach)
      detail::raise_expected(
          errc::bad_argument, "tq::ConvGeometry",
          {"inputs of at least ", reach == detail::most_size ? "2^64" : std::to_string(reach),
           " with their padding, as the kernel reaches"},
          {padded});
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
