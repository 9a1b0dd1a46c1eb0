// SPDX-License-Identifier: MIT
#pragma once
// PackedFilters: the integer weights of a two-dimensional convolution, packed group by group.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/packed_weights.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tq {

/// Weights of shape [outputs, channels of a group, height, width].
class PackedFilters {
 public:
  /// `zero_points`: none, one, or one for each output. Throws: `errc::shape_mismatch` unless the
  /// weights have four axes, and groups divide the outputs; as `PackedWeights`.
  template <ByteCode Code>
  explicit PackedFilters(const TensorView<const Code>& weights, std::size_t groups = 1,
                         std::span<const std::int32_t> zero_points = {},
                         PanelLayout layout = kernels::layout_of<arch::best_dot<arch::native>>) {
    const Shape& shape = weights.shape();
    if (shape.rank() != 4 || groups == 0 || shape[0] % groups != 0)
      raise(errc::shape_mismatch,
            "tq::PackedFilters: expected weights of shape [outputs, channels, height, width], with "
            "outputs that " +
                std::to_string(groups) + " groups divide, got " + to_string(shape));
    if (zero_points.size() > 1 && zero_points.size() != shape[0])
      raise(errc::shape_mismatch, "tq::PackedFilters: expected 0, 1 or " +
                                      std::to_string(shape[0]) + " zero points, got " +
                                      std::to_string(zero_points.size()));
    channels_ = shape[1];
    kernel_ = {shape[2], shape[3]};
    const std::size_t each = shape[0] / groups, inputs = channels_ * kernel_[0] * kernel_[1];
    std::vector<Code> rows(each * inputs);
    for (std::size_t g = 0; g < groups; ++g) {
      std::size_t at = 0;
      for (std::size_t n = g * each; n < (g + 1) * each; ++n)
        for (std::size_t c = 0; c < channels_; ++c)
          for (std::size_t h = 0; h < kernel_[0]; ++h)
            for (std::size_t w = 0; w < kernel_[1]; ++w)
              rows[at++] = element(weights, {n, c, h, w});
      groups_.emplace_back(
          TensorView<const Code>(rows.data(), Shape{each, inputs}),
          zero_points.size() > 1 ? zero_points.subspan(g * each, each) : zero_points, layout);
    }
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }
  /// The outputs of group `g` by the channels, rows and columns of its kernel.
  [[nodiscard]] const PackedWeights& group(std::size_t g) const noexcept { return groups_[g]; }
  [[nodiscard]] std::size_t outputs() const noexcept {
    return groups_.size() * groups_[0].outputs();
  }
  [[nodiscard]] std::size_t channels_of_group() const noexcept { return channels_; }
  [[nodiscard]] const std::array<std::size_t, 2>& kernel() const noexcept { return kernel_; }

 private:
  template <class Code>
  static Code element(const TensorView<const Code>& t,
                      const std::array<std::size_t, 4>& at) noexcept {
    const Code* p = t.data();
    for (int axis = 0; axis < 4; ++axis)
      p += static_cast<std::ptrdiff_t>(at[static_cast<std::size_t>(axis)]) * t.stride(axis);
    return *p;
  }

  std::size_t channels_ = 0;
  std::array<std::size_t, 2> kernel_{};
  std::vector<PackedWeights> groups_;  // one at least
};

}  // namespace tq
