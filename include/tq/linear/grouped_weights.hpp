// SPDX-License-Identifier: MIT
#pragma once
// GroupedWeights: a matrix of low-bit weights with a scale and a zero point or an offset for every
// group of inputs, in the order in which multiplication reads it.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/emptied.hpp>
#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/error.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/linear/detail/group_layout.hpp>
#include <tq/linear/detail/weight_extents.hpp>
#include <tq/linear/detail/weight_levels.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tq {

/// Parameters of weights in groups: scales of any type, and zero points, offsets or neither.
template <class Params>
concept GroupedWeightParams = AnyParams<Params> && GroupedElement<typename Params::type>;

/// `WeightLevels` by the name that it had first.
using LevelMap = WeightLevels;

/// The input of `GroupedWeights`: codes and parameters without their static types.
struct GroupedCodes {
  WeightLevels map;                 ///< of the type of the codes
  Shape shape;                      ///< [outputs, inputs]
  Shape block;                      ///< of shared parameters; along the inputs, a group
  Buffer<std::uint8_t> packed;      ///< row-major, as the map packs them
  std::vector<float> scales;        ///< row-major over the blocks
  std::vector<std::int32_t> zeros;  ///< levels of 0, as many, or empty: the map's level
  std::vector<float> offsets{};     ///< added to values, as many, or empty: none
};

/// Weights of shape [outputs, inputs], packed once and multiplied many times, on every instruction
/// set: in panels of 32 outputs (`kernels::group_tile`), at 2, 3, 4 or 8 bits a weight, groups
/// padded to whole units of 16 inputs (32 at 3 bits). Beside them lie a float32 scale for every
/// group of every output, a float32 offset where groups have offsets and, unless all are equal, a
/// zero point of a byte. Weights that were moved from have no outputs, no inputs and no groups.
class GroupedWeights {
 public:
  /// Parameters of any granularity: what its blocks span along the inputs is a group. Throws:
  /// `errc::shape_mismatch` unless the weights have two axes; `errc::bad_group_size` for groups of
  /// more than 65536 inputs, whose sums might leave 32 bits; `errc::bad_scale` where halves are
  /// packed as integers (`float4_e2m1fn`) and half a scale is below the smallest float;
  /// `errc::bad_argument` for codes that are none.
  template <GroupedWeightParams Params, class Pack>
  explicit GroupedWeights(const QuantizedTensor<Params, Pack>& weights)
      : GroupedWeights(codes_of(weights)) {}

  /// Throws: as above; `errc::bad_group_size` for blocks of nothing; `errc::shape_mismatch` for
  /// another number of codes, scales, zero levels or offsets than shape and blocks ask for;
  /// `errc::bad_argument` for extents that memory cannot hold and for codes that are not packed by
  /// the map; `errc::bad_scale` for scales that are not positive and finite (of code books also 0,
  /// negative or NaN); `errc::bad_zero_point` for levels that the map has not; `errc::not_finite`
  /// for offsets that are not.
  explicit GroupedWeights(const GroupedCodes& of)
      : map_(of.map),
        layout_(layout_of(of)),
        codes_(layout_.get().code_bytes()),
        scales_(layout_.get().parameters()),
        offsets_(of.offsets.empty() ? 0 : layout_.get().parameters()) {
    std::ranges::fill(codes_.span(), std::uint8_t{0});
    std::ranges::fill(scales_.span(), 0.0f);
    std::ranges::fill(offsets_.span(), 0.0f);
    const bool shared =
        std::ranges::adjacent_find(of.zeros, std::not_equal_to<>{}) == of.zeros.end();
    if (shared && !of.zeros.empty()) map_.zero = of.zeros[0];
    if (!shared) zeros_.assign(layout_.get().parameters(), 0);
    for (std::size_t n = 0; n < outputs(); ++n)
      for (std::size_t g = 0; g < groups(); ++g) {
        const std::size_t block = n / of.block[0] * groups() + g;
        const std::int32_t zero = shared ? map_.zero : of.zeros[block];
        set_scale(n, g, of.scales[block]);
        if (has_offsets()) set_offset(n, g, of.offsets[block]);
        if (!shared) zeros_[layout_.get().parameter(n, g)] = static_cast<std::uint8_t>(zero);
        pack_group(n, g, of.packed.data() + n * inputs(), zero);
      }
  }

  [[nodiscard]] std::size_t outputs() const noexcept { return layout_.get().outputs(); }
  [[nodiscard]] std::size_t inputs() const noexcept { return layout_.get().inputs(); }
  /// Inputs of a group, but for the last one.
  [[nodiscard]] std::size_t group_size() const noexcept { return layout_.get().group(); }
  [[nodiscard]] std::size_t groups() const noexcept { return layout_.get().groups(); }
  /// Inputs that a group is packed as.
  [[nodiscard]] std::size_t padded_group_size() const noexcept {
    return layout_.get().padded_group();
  }
  [[nodiscard]] std::size_t panels() const noexcept { return layout_.get().panels(); }
  /// The values of packed codes; `zero` is the level of 0 of weights that share it.
  [[nodiscard]] const WeightLevels& map() const noexcept { return map_; }
  [[nodiscard]] bool has_zero_points() const noexcept { return !zeros_.empty(); }
  /// True if a float is added to the values of every group.
  [[nodiscard]] bool has_offsets() const noexcept { return offsets_.size() != 0; }
  /// Size of everything that multiplication reads.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return codes_.size() + zeros_.size() + (scales_.size() + offsets_.size()) * sizeof(float);
  }
  /// All panels, one after the other: packed codes; scales, over the divisor of the map; offsets,
  /// empty if there are none; and zero levels, empty if all weights share the map's.
  [[nodiscard]] std::span<const std::uint8_t> codes() const noexcept { return codes_.span(); }
  [[nodiscard]] std::span<const float> scales() const noexcept { return scales_.span(); }
  [[nodiscard]] std::span<const float> offsets() const noexcept { return offsets_.span(); }
  [[nodiscard]] std::span<const std::uint8_t> zeros() const noexcept { return zeros_; }
  /// Codes and parameters of the outputs [32 * i, 32 * i + 32).
  [[nodiscard]] kernels::GroupPanel panel(std::size_t i) const noexcept {
    const std::size_t parameters = i * groups() * kernels::group_columns;
    return {codes_.data() + i * layout_.get().panel_bytes(),
            scales_.data() + parameters,
            zeros_.empty() ? nullptr : zeros_.data() + parameters,
            nullptr,
            map_.has_table ? map_.table.data() : nullptr,
            has_offsets() ? offsets_.data() + parameters : nullptr};
  }

 private:
  static constexpr std::size_t most_in_group = 65536;

  static void require_matrix(const Shape& shape) {
    if (shape.rank() != 2)
      detail::raise_expected(errc::shape_mismatch, "tq::GroupedWeights",
                             {"weights of shape [outputs, inputs]"}, {shape.extents()});
  }
  // Throws unless all parts fit each other.
  static detail::GroupLayout layout_of(const GroupedCodes& of) {
    require_matrix(of.shape);
    require_matrix(of.block);
    if (of.block[0] == 0 || of.block[1] == 0 || of.block[1] > most_in_group)
      detail::raise_expected(
          errc::bad_group_size, "tq::GroupedWeights",
          {"groups of at least 1 and at most ", most_in_group, " inputs, of at least 1 output"},
          {of.block[1], " and ", of.block[0]});
    detail::require_weight_extents("tq::GroupedWeights", of.shape);
    const detail::GroupLayout layout(of.shape[0], of.shape[1], of.block[1], of.map.width);
    require_parts(of, detail::units_for(of.shape[0], of.block[0]) * layout.groups());
    return layout;
  }
  static void require_parts(const GroupedCodes& of, std::size_t blocks) {
    const auto require_count = [](const char* what, std::size_t expected, std::size_t got) {
      detail::require_size("tq::GroupedWeights", what, expected, got);
    };
    require_count("a number of codes", of.shape.size(), of.packed.size());
    if (of.shape.size() != 0) require_count("a number of scales", blocks, of.scales.size());
    if (!of.zeros.empty())
      require_count("a number of zero levels", of.scales.size(), of.zeros.size());
    if (!of.offsets.empty())
      require_count("a number of offsets", of.scales.size(), of.offsets.size());
    for (const std::int32_t zero : of.zeros)
      if (of.map.is_coded || zero < 0 || zero > of.map.highest)
        detail::raise_expected(errc::bad_zero_point, "tq::GroupedWeights",
                               {"levels of 0 from 0 to ", of.map.highest, ", of integers"}, {zero});
    std::array<bool, 256> is_code{};
    for (std::size_t v = 0; v < is_code.size(); ++v)
      is_code[v] = of.map.is_packed(static_cast<std::uint8_t>(v));
    for (std::size_t i = 0; i < of.packed.size(); ++i)
      if (const std::uint8_t code = of.packed.data()[i]; !is_code[code])
        detail::raise_expected(errc::bad_argument, "tq::GroupedWeights",
                               {"packed codes of the type"}, {code, " at element ", i});
  }

  template <class Params, class Pack>
  static GroupedCodes codes_of(const QuantizedTensor<Params, Pack>& weights) {
    using Type = typename Params::type;
    using Code = typename Params::code_type;  // a byte
    require_matrix(weights.shape());
    const auto& params = weights.params();
    GroupedCodes out{WeightLevels::of<Type>(),
                     weights.shape(),
                     params.granularity().block(weights.shape()),
                     Buffer<std::uint8_t>(weights.size()),
                     {},
                     {},
                     {}};
    auto* const codes = reinterpret_cast<Code*>(out.packed.data());
    unpack<Type, Pack>(weights.bytes(), std::span<Code>(codes, weights.size()));
    for (std::size_t i = 0; i < weights.size(); ++i) out.packed.data()[i] = out.map.pack(codes[i]);
    const auto scales = params.scales();
    out.scales.assign(scales.begin(), scales.end());
    if constexpr (Params::has_zero_point)
      for (const std::int32_t z : params.zero_points()) out.zeros.push_back(z - out.map.lower);
    if constexpr (Params::has_offset) {
      const auto offsets = params.offsets();
      out.offsets.assign(offsets.begin(), offsets.end());
    }
    return out;
  }

  void set_scale(std::size_t output, std::size_t group, float scale) {
    const auto refuse = [&](const char* expected) {
      detail::raise_expected(errc::bad_scale, "tq::GroupedWeights", {expected},
                             {scale, " for group ", group, " of output ", output});
    };
    const bool is_nan = scale != scale;
    const bool is_of_codes = map_.is_coded && (detail::is_finite(scale) || is_nan);
    if (!detail::valid_scale(scale) && !is_of_codes) refuse("positive finite scales");
    const float divided = scale / static_cast<float>(map_.divisor);
    if (!is_nan && divided * static_cast<float>(map_.divisor) != scale)
      refuse("scales of which half is a float");
    scales_.data()[layout_.get().parameter(output, group)] = divided;
  }

  void set_offset(std::size_t output, std::size_t group, float offset) {
    if (!detail::is_finite(offset))
      detail::raise_expected(errc::not_finite, "tq::GroupedWeights", {"finite offsets"},
                             {offset, " for group ", group, " of output ", output});
    offsets_.data()[layout_.get().parameter(output, group)] = offset;
  }

  // One group of an output, whose codes begin at `row`; behind the last one, what stands for 0.
  void pack_group(std::size_t output, std::size_t group, const std::uint8_t* row,
                  std::int32_t zero) noexcept {
    const std::size_t first = group * group_size(),
                      count = std::min(group_size(), inputs() - first);
    const unsigned nothing = map_.is_coded ? map_.padding : static_cast<unsigned>(zero);
    for (std::size_t i = 0; i < padded_group_size(); ++i)
      layout_.get().put(codes_.data(), output, group, i, i < count ? row[first + i] : nothing);
  }

  WeightLevels map_;
  detail::Emptied<detail::GroupLayout> layout_;
  Buffer<std::uint8_t> codes_;
  Buffer<float> scales_, offsets_;
  std::vector<std::uint8_t> zeros_;  // none where all share one
};

}  // namespace tq
