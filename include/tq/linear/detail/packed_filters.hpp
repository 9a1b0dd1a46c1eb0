// SPDX-License-Identifier: MIT
#pragma once
// PackedFilters: the integer weights of a two-dimensional convolution, packed group by group, or
// for all channels at once where it is depthwise.

#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/detail/default_layout.hpp>
#include <tq/linear/detail/depthwise_weights.hpp>
#include <tq/linear/detail/weight_extents.hpp>
#include <tq/linear/packed_weights.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tq {

/// Weights of shape [outputs, channels of a group, height, width]. Those of groups of one channel,
/// and of fewer than 16 outputs, are depthwise. Filters that were moved from have no groups, no
/// outputs and no channels.
class PackedFilters {
 public:
  /// `codes` of uint8 or int8, of any kind that `tq::as_tensor` takes. `zero_points`: none, one, or
  /// one for each output. Throws: `errc::shape_mismatch` unless the weights have four axes, and
  /// groups divide the outputs; `errc::bad_argument` for extents that memory cannot hold; as
  /// `PackedWeights`.
  template <detail::ByteTensor W>
  explicit PackedFilters(const W& codes, std::size_t groups = 1,
                         std::span<const std::int32_t> zero_points = {},
                         PanelLayout layout = detail::default_layout<default_arch>())
      : PackedFilters(detail::read_as<detail::code_of<W>>(codes).view(), groups, zero_points,
                      layout, detail::CodesAreRead{}) {}

  [[nodiscard]] std::size_t groups() const noexcept { return count_; }
  [[nodiscard]] bool is_depthwise() const noexcept { return depthwise_.has_value(); }
  /// All outputs by the rows and columns of their kernels. Precondition: is_depthwise().
  [[nodiscard]] const DepthwiseWeights& depthwise() const noexcept { return *depthwise_; }
  /// The outputs of group `g` by the channels, rows and columns of its kernel. Precondition:
  /// not is_depthwise().
  [[nodiscard]] const PackedWeights& group(std::size_t g) const noexcept { return groups_[g]; }
  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t outputs_of_group() const noexcept {
    return count_ == 0 ? 0 : outputs_ / count_;
  }
  [[nodiscard]] std::size_t channels_of_group() const noexcept { return channels_; }
  [[nodiscard]] const std::array<std::size_t, 2>& kernel() const noexcept { return kernel_; }

  /// Bytes of memory that are held.
  [[nodiscard]] std::size_t bytes() const noexcept {
    std::size_t sum = depthwise_ ? depthwise_->bytes() : 0;
    for (const PackedWeights& w : groups_) sum += w.bytes();
    return sum;
  }
  /// As `PackedWeights::reach`.
  [[nodiscard]] std::int64_t reach(std::size_t output) const noexcept {
    return depthwise_ ? depthwise_->reach(output)
                      : group(output / outputs_of_group()).reach(output % outputs_of_group());
  }
  /// The largest of all outputs.
  [[nodiscard]] std::int64_t reach() const noexcept {
    std::int64_t most = 0;
    for (std::size_t n = 0; n < outputs_; ++n) most = std::max(most, reach(n));
    return most;
  }

 private:
  // Groups of more outputs fill the registers of a product of matrices.
  static constexpr std::size_t most_of_channel = 16;

  template <ByteCode Code>
  PackedFilters(const TensorView<const Code>& weights, std::size_t groups,
                std::span<const std::int32_t> zero_points, PanelLayout layout,
                detail::CodesAreRead) {
    const Shape& shape = weights.shape();
    detail::require_weight_extents("tq::PackedFilters", shape);
    if (shape.rank() != 4 || groups == 0 || shape[0] % groups != 0 ||
        groups > std::max(shape[0], std::size_t{1}))
      detail::raise_expected(
          errc::shape_mismatch, "tq::PackedFilters",
          {"weights of shape [outputs, channels, height, width], with outputs that ", groups,
           " groups divide"},
          {shape.extents()});
    if (zero_points.size() > 1 && zero_points.size() != shape[0])
      detail::raise_expected(errc::shape_mismatch, "tq::PackedFilters",
                             {"0, 1 or ", shape[0], " zero points"}, {zero_points.size()});
    channels_ = shape[1];
    kernel_ = std::array<std::size_t, 2>{shape[2], shape[3]};
    count_ = groups;
    outputs_ = shape[0];
    const std::size_t each = outputs_ / groups;
    if (channels_ == 1 && each > 0 && each < most_of_channel) {
      depthwise_.emplace(packed(weights, 0, outputs_, zero_points, PanelLayout::pairs_of_16));
      return;
    }
    for (std::size_t g = 0; g < groups; ++g)
      groups_.push_back(packed(
          weights, g * each, each,
          zero_points.size() > 1 ? zero_points.subspan(g * each, each) : zero_points, layout));
  }

  // The weights of `count` outputs from `first` on.
  template <class Code>
  [[nodiscard]] PackedWeights packed(const TensorView<const Code>& weights, std::size_t first,
                                     std::size_t count, std::span<const std::int32_t> zero_points,
                                     PanelLayout layout) const {
    const std::size_t inputs = channels_ * kernel()[0] * kernel()[1];
    std::vector<Code> rows(count * inputs);
    std::size_t at = 0;
    for (std::size_t n = first; n < first + count && !rows.empty(); ++n)
      for (std::size_t c = 0; c < channels_; ++c)
        for (std::size_t h = 0; h < kernel()[0]; ++h)
          for (std::size_t w = 0; w < kernel()[1]; ++w) rows[at++] = element(weights, {n, c, h, w});
    return PackedWeights(TensorView<const Code>(rows.data(), Shape{count, inputs}), zero_points,
                         layout);
  }
  template <class Code>
  static Code element(const TensorView<const Code>& t,
                      const std::array<std::size_t, 4>& at) noexcept {
    const Code* p = t.data();
    for (int axis = 0; axis < 4; ++axis)
      p += static_cast<std::ptrdiff_t>(at[static_cast<std::size_t>(axis)]) * t.stride(axis);
    return *p;
  }

  detail::Emptied<std::size_t> count_, outputs_, channels_;
  detail::Emptied<std::array<std::size_t, 2>> kernel_;
  std::vector<PackedWeights> groups_;  // none where depthwise
  std::optional<DepthwiseWeights> depthwise_;
};

}  // namespace tq
