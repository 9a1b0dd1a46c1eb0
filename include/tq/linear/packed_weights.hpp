// SPDX-License-Identifier: MIT
#pragma once
// PackedWeights: a matrix of integer weights in the order in which multiplication reads it.

#include <tq/arch/narrow_dot.hpp>
#include <tq/core/buffer.hpp>
#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/kernels/panel_layout.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/detail/default_layout.hpp>
#include <tq/linear/detail/weight_extents.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <vector>

namespace tq {

namespace detail {
// Whether no sum of weights of this reach leaves 32 bits, whatever the codes are.
constexpr bool fits_32_bits(std::int64_t reach) noexcept {
  return reach <= std::numeric_limits<std::int32_t>::max() / 255;
}
// Tells the constructor that has a view from the one that makes it.
struct CodesAreRead {};
}  // namespace detail

/// Weights of shape [outputs, inputs], packed once and multiplied many times: in panels of a
/// layout, a byte each, padded with zeros. Those of uint8 are kept 128 lower, as are their zero
/// points. The layout is that of the instruction set that this build targets, or that the kernel
/// library runs, unless another one is asked for; weights whose sums might leave 32 bits lie in
/// `pairs_of_16` whatever is asked for, as do those that are not narrow where a layout of narrow
/// ones is. Every instruction set multiplies `pairs_of_16` and its own layout; others it lays out
/// anew for every product, which `repacked` does once. Weights that were moved from have no outputs
/// and no inputs.
class PackedWeights {
 public:
  /// `zero_points`: none, one, or one for each output. Throws: `errc::shape_mismatch` unless the
  /// weights have two axes and the zero points one of these sizes; `errc::bad_argument` for extents
  /// that memory cannot hold; `errc::bad_zero_point` for one that is no code.
  template <detail::ByteTensor W>
  explicit PackedWeights(const W& codes, std::span<const std::int32_t> zero_points = {},
                         PanelLayout layout = detail::default_layout<default_arch>())
      : PackedWeights(detail::read_as<detail::code_of<W>>(codes).view(), zero_points, layout,
                      detail::CodesAreRead{}) {}
  /// The codes and zero points of quantized weights. Throws: `errc::shape_mismatch` unless they
  /// have two axes.
  explicit PackedWeights(const ByteWeights& weights,
                         PanelLayout layout = detail::default_layout<default_arch>())
      : PackedWeights(weights.codes(), weights.zero_points(), layout) {}
  /// Packs weights with parameters per tensor or for each output. Throws: as above;
  /// `errc::unsupported` for other parameters.
  template <ByteParams Params, class Pack>
  explicit PackedWeights(const QuantizedTensor<Params, Pack>& weights,
                         PanelLayout layout = detail::default_layout<default_arch>())
      : PackedWeights(ByteWeights(weights), layout) {}

  /// The same weights in another layout.
  [[nodiscard]] PackedWeights repacked(PanelLayout layout) const {
    PackedWeights out("tq::PackedWeights", Shape{outputs_, inputs_});
    if (has_zero_points()) out.zero_points_.assign(zero_points(0), zero_points(0) + outputs_);
    out.pack(layout, [&](std::size_t n, std::size_t k) { return weight(n, k); });
    return out;
  }

  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  [[nodiscard]] PanelLayout layout() const noexcept { return layout_; }
  /// Times that a lane multiplies for one output.
  [[nodiscard]] std::size_t steps() const noexcept {
    return kernels::panel_steps(layout_, inputs_);
  }
  [[nodiscard]] std::size_t panels() const noexcept {
    return kernels::panel_count(layout_, outputs_);
  }
  /// All panels, one after the other.
  [[nodiscard]] std::span<const std::int8_t> codes() const noexcept { return codes_.span(); }
  /// [`steps()`][outputs of a panel][depth] weights.
  [[nodiscard]] const std::int8_t* panel(std::size_t i) const noexcept {
    return codes_.data() + i * kernels::panel_size(layout_, inputs_);
  }
  /// The weight as it is kept.
  [[nodiscard]] std::int8_t weight(std::size_t output, std::size_t input) const noexcept {
    return codes_.data()[kernels::panel_place(layout_, inputs_, output, input)];
  }
  /// The sums of the weights of each output of a panel, modulo 2^32.
  [[nodiscard]] const std::int32_t* column_sums(std::size_t panel) const noexcept {
    return column_sums_.data() + panel * kernels::panel_columns(layout_);
  }

  /// Bytes of memory that are held.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return codes_.size() + (column_sums_.size() + zero_points_.size()) * sizeof(std::int32_t) +
           reach_.size() * sizeof(std::int64_t);
  }

  [[nodiscard]] bool has_zero_points() const noexcept { return !zero_points_.empty(); }
  /// The zero point of an output's weights as they are kept.
  [[nodiscard]] std::int32_t zero_point(std::size_t output) const noexcept {
    return zero_points_.empty() ? 0 : zero_points_[output];
  }
  /// Zero points of the outputs of a panel. Precondition: `has_zero_points()`.
  [[nodiscard]] const std::int32_t* zero_points(std::size_t panel) const noexcept {
    return zero_points_.data() + panel * kernels::panel_columns(layout_);
  }
  /// The sum of the magnitudes of the weights of an output, less their zero point: how far its sums
  /// reach for inputs of magnitude 1.
  [[nodiscard]] std::int64_t reach(std::size_t output) const noexcept { return reach_[output]; }
  /// The largest of all outputs.
  [[nodiscard]] std::int64_t reach() const noexcept {
    return reach_.empty() ? 0 : *std::max_element(reach_.begin(), reach_.end());
  }

 private:
  friend class PackedInt16Weights;  // of whose bytes zero points may be no codes

  template <ByteCode Code>
  PackedWeights(const TensorView<const Code>& weights, std::span<const std::int32_t> zero_points,
                PanelLayout layout, detail::CodesAreRead)
      : PackedWeights("tq::PackedWeights", weights.shape()) {
    constexpr std::int32_t lower = detail::kept_lower<Code>;
    take_zero_points<Code>("tq::PackedWeights", zero_points, lower);
    pack(layout, [&](std::size_t n, std::size_t k) {
      return static_cast<std::int8_t>(
          weights.data()[static_cast<std::ptrdiff_t>(n) * weights.stride(0) +
                         static_cast<std::ptrdiff_t>(k) * weights.stride(1)] -
          lower);
    });
  }
  // `name`: of what is made, for messages.
  PackedWeights(const char* name, const Shape& shape) {
    if (shape.rank() != 2)
      detail::raise_expected(errc::shape_mismatch, name, {"weights of shape [outputs, inputs]"},
                             {shape.extents()});
    detail::require_weight_extents(name, shape);
    outputs_ = shape[0];
    inputs_ = shape[1];
  }
  // Takes at(output, input) for every weight.
  template <class At>
  void pack(PanelLayout layout, const At& at) {
    reach_.assign(outputs_, 0);
    std::vector<std::uint32_t> sums(outputs_);
    for (std::size_t n = 0; n < outputs_; ++n)
      for (std::size_t k = 0; k < inputs_; ++k) {
        const std::int32_t weight = at(n, k);
        reach_[n] += std::abs(weight - zero_point(n));
        sums[n] += static_cast<std::uint32_t>(weight);
      }
    const bool narrow = layout == PanelLayout::narrow_fours_of_16;
    layout_ = detail::fits_32_bits(reach()) && (!narrow || all_narrow(at))
                  ? layout
                  : PanelLayout::pairs_of_16;
    codes_ = Buffer<std::int8_t>(panels() * kernels::panel_size(layout_, inputs_));
    std::fill_n(codes_.data(), codes_.size(), std::int8_t{0});
    const std::size_t columns = kernels::panel_columns(layout_),
                      depth = kernels::panel_depth(layout_);
    column_sums_.assign(panels() * columns, 0);
    if (has_zero_points()) zero_points_.resize(panels() * columns);
    for (std::size_t n = 0; n < outputs_; ++n) {
      column_sums_[n] = static_cast<std::int32_t>(sums[n]);
      std::int8_t* to = codes_.data() + kernels::panel_place(layout_, inputs_, n, 0);
      for (std::size_t k = 0; k < inputs_; k += depth, to += columns * depth)
        for (std::size_t j = 0; j < depth && k + j < inputs_; ++j) to[j] = at(n, k + j);
    }
  }

  template <class At>
  [[nodiscard]] bool all_narrow(const At& at) const {
    for (std::size_t n = 0; n < outputs_; ++n)
      for (std::size_t k = 1; k < inputs_; k += 2)
        if (!arch::is_narrow(at(n, k - 1), at(n, k))) return false;
    return true;
  }

  template <class Code>
  void take_zero_points(const char* name, std::span<const std::int32_t> zero_points,
                        std::int32_t lower) {
    if (!zero_points.empty() && zero_points.size() != 1 && zero_points.size() != outputs_)
      detail::raise_expected(errc::shape_mismatch, name, {"0, 1 or ", outputs(), " zero points"},
                             {zero_points.size()});
    using limits = std::numeric_limits<Code>;
    for (const std::int32_t z : zero_points)
      if (z < limits::min() || z > limits::max())
        detail::raise_expected(
            errc::bad_zero_point, name,
            {"zero points from ", int{limits::min()}, " to ", int{limits::max()}}, {z});
    const auto kept = [&](std::size_t n) {
      return (zero_points.empty()       ? 0
              : zero_points.size() == 1 ? zero_points[0]
                                        : zero_points[n]) -
             lower;
    };
    bool any = false;
    for (std::size_t n = 0; n < outputs_; ++n) any = any || kept(n) != 0;
    if (!any) return;
    zero_points_.resize(outputs_);
    for (std::size_t n = 0; n < outputs_; ++n) zero_points_[n] = kept(n);
  }

  PanelLayout layout_ = PanelLayout::pairs_of_16;
  detail::Emptied<std::size_t> outputs_, inputs_;
  Buffer<std::int8_t> codes_;
  std::vector<std::int32_t> column_sums_;  // of all outputs that panels have room for
  std::vector<std::int32_t> zero_points_;  // of as many; none where all are 0
  std::vector<std::int64_t> reach_;
};

namespace detail {
inline bool fits_32_bits(const PackedWeights& w) noexcept { return fits_32_bits(w.reach()); }
}  // namespace detail

}  // namespace tq
