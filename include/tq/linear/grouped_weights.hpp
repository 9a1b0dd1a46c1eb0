// SPDX-License-Identifier: MIT
#pragma once
// GroupedWeights: a matrix of low-bit weights with a scale and a zero point for every group of
// inputs, in the order in which multiplication reads it.

#include <tq/core/buffer.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/error.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/linear/level_map.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tq {

/// Parameters of weights in groups: scales of any type, and zero points or none.
template <class Params>
concept GroupedWeightParams =
    AnyParams<Params> && GroupedElement<typename Params::type> && !Params::has_offset;

/// Weights of shape [outputs, inputs], packed once and multiplied many times, on every instruction
/// set: in panels of 32 outputs (`kernels::group_tile`), at 2, 3, 4 or 8 bits a weight, groups
/// padded to whole units of 16 inputs (32 at 3 bits). Beside them lie a float32 scale for every
/// group of every output and, unless all are equal, a zero point of a byte.
class GroupedWeights {
 public:
  /// Parameters of any granularity: what its blocks span along the inputs is a group. Throws:
  /// `errc::shape_mismatch` unless the weights have two axes; `errc::bad_group_size` for groups of
  /// more than 65536 inputs, whose sums might leave 32 bits; `errc::bad_scale` where halves are
  /// packed as integers (`float4_e2m1fn`) and half a scale is below the smallest float;
  /// `errc::bad_argument` for codes that are none.
  template <GroupedWeightParams Params, class Pack>
  explicit GroupedWeights(const QuantizedTensor<Params, Pack>& weights)
      : GroupedWeights(weights.shape(), LevelMap::of<typename Params::type>(),
                       weights.params().granularity().block(weights.shape())) {
    Buffer<typename Params::code_type> codes(weights.size());
    unpack<typename Params::type, Pack>(weights.bytes(), codes.span());
    const auto& params = weights.params();
    const auto zero_level = [&]([[maybe_unused]] std::size_t i) {
      if constexpr (Params::has_zero_point) return params.zero_points()[i] - map_.lower;
      else return map_.zero;
    };
    const auto scales = params.scales();
    bool shared = true;
    for (std::size_t i = 0; i < scales.size(); ++i) shared &= zero_level(i) == zero_level(0);
    if (shared && scales.size() != 0) map_.zero = zero_level(0);
    if (!shared) zeros_.assign(panels() * groups() * kernels::group_columns, 0);
    for (std::size_t n = 0; n < outputs_; ++n)
      for (std::size_t g = 0; g < groups(); ++g) {
        const std::size_t param = n / block_outputs_ * groups() + g;
        const std::int32_t zero = zero_level(param);
        set_scale(n, g, scales[param]);
        if (!shared) zeros_[parameter(n, g)] = static_cast<std::uint8_t>(zero);
        pack_group(n, g, codes.data() + n * inputs_, zero);
      }
  }

  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
  /// Inputs of a group, but for the last one.
  [[nodiscard]] std::size_t group_size() const noexcept { return group_; }
  [[nodiscard]] std::size_t groups() const noexcept { return (inputs_ + group_ - 1) / group_; }
  /// Inputs that a group is packed as.
  [[nodiscard]] std::size_t padded_group_size() const noexcept { return padded_; }
  [[nodiscard]] std::size_t panels() const noexcept {
    return (outputs_ + kernels::group_columns - 1) / kernels::group_columns;
  }
  /// What packed codes stand for; `zero` is the one that all weights share where they do.
  [[nodiscard]] const LevelMap& map() const noexcept { return map_; }
  [[nodiscard]] bool has_zero_points() const noexcept { return !zeros_.empty(); }
  /// Of everything that multiplication reads.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return codes_.size() + zeros_.size() + scales_.size() * sizeof(float);
  }
  /// Codes and parameters of the outputs [32 * i, 32 * i + 32).
  [[nodiscard]] kernels::GroupPanel panel(std::size_t i) const noexcept {
    const std::size_t parameters = i * groups() * kernels::group_columns;
    return {codes_.data() + i * panel_bytes(), scales_.data() + parameters,
            zeros_.empty() ? nullptr : zeros_.data() + parameters, nullptr,
            map_.has_table ? map_.table.data() : nullptr};
  }

 private:
  static constexpr std::size_t most_in_group = 65536;

  GroupedWeights(const Shape& shape, const LevelMap& map, const Shape& block) : map_(map) {
    if (shape.rank() != 2)
      raise(errc::shape_mismatch,
            "tq::GroupedWeights: expected weights of shape [outputs, inputs], got " +
                to_string(shape));
    outputs_ = shape[0];
    inputs_ = shape[1];
    block_outputs_ = block[0];
    group_ = block[1];
    if (group_ > most_in_group)
      raise(errc::bad_group_size, "tq::GroupedWeights: expected groups of at most " +
                                      std::to_string(most_in_group) + " inputs, got " +
                                      std::to_string(group_));
    const std::size_t unit = map_.width == 3 ? 32 : 16;
    padded_ = (group_ + unit - 1) / unit * unit;
    codes_ = Buffer<std::uint8_t>(panels() * panel_bytes());
    scales_ = Buffer<float>(panels() * groups() * kernels::group_columns);
    std::ranges::fill(codes_.span(), std::uint8_t{0});
    std::ranges::fill(scales_.span(), 0.0f);
  }

  [[nodiscard]] std::size_t panel_bytes() const noexcept {
    return groups() * padded_ * kernels::group_columns / 8 * static_cast<std::size_t>(map_.width);
  }
  // Where a parameter of an output is.
  [[nodiscard]] std::size_t parameter(std::size_t output, std::size_t group) const noexcept {
    constexpr std::size_t columns_of_panel = kernels::group_columns;
    return (output / columns_of_panel * groups() + group) * columns_of_panel +
           output % columns_of_panel;
  }

  void set_scale(std::size_t output, std::size_t group, float scale) {
    const float divided = scale / static_cast<float>(map_.divisor);
    if (scale == scale && divided * static_cast<float>(map_.divisor) != scale)
      raise(errc::bad_scale, "tq::GroupedWeights: expected scales of which half is a float, got " +
                                 detail::number_text(scale) + " for group " +
                                 std::to_string(group) + " of output " + std::to_string(output));
    scales_.data()[parameter(output, group)] = divided;
  }

  // One group of an output, whose codes begin at `row`; behind the last one, what stands for 0.
  template <class Code>
  void pack_group(std::size_t output, std::size_t group, const Code* row, std::int32_t zero) {
    const std::size_t first = group * group_, count = std::min(group_, inputs_ - first);
    for (std::size_t i = 0; i < padded_; ++i) {
      std::int32_t packed = map_.is_coded ? map_.padding : zero;
      if (i < count)
        packed = map_.is_coded ? map_.packed[static_cast<std::size_t>(row[first + i])]
                               : row[first + i] - map_.lower;
      put(output, group * padded_ + i, static_cast<unsigned>(packed));
    }
  }

  // Writes a packed code: see kernels/group_dot.hpp for its place.
  void put(std::size_t output, std::size_t input, unsigned packed) noexcept {
    constexpr std::size_t columns_of_panel = kernels::group_columns, line = 4 * columns_of_panel;
    const auto width = static_cast<std::size_t>(map_.width);
    const std::size_t unit = width == 3 ? 32 : 16, four = input % unit / 4;
    std::uint8_t* const to = codes_.data() + output / columns_of_panel * panel_bytes() +
                             input / unit * (unit * columns_of_panel / 8 * width) +
                             output % columns_of_panel * 4 + input % 4;
    const auto set = [&](std::size_t bits, std::size_t lines, unsigned v) {
      std::uint8_t& byte = to[four % lines * line];
      byte = static_cast<std::uint8_t>(byte | v << four / lines * bits);
    };
    if (width == 3) {
      set(2, 2, packed & 3u);
      to[2 * line] = static_cast<std::uint8_t>(to[2 * line] | packed >> 2 << four);
    } else {
      set(width, width / 2, packed);
    }
  }

  LevelMap map_;
  std::size_t outputs_ = 0, inputs_ = 0, block_outputs_ = 1, group_ = 1, padded_ = 16;
  Buffer<std::uint8_t> codes_;
  Buffer<float> scales_;
  std::vector<std::uint8_t> zeros_;  // none where all share one
};

}  // namespace tq
