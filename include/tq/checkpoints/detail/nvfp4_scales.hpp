// SPDX-License-Identifier: MIT
#pragma once
// Nvfp4Scales: the scales of an NVFP4 weight as a file stores them.

#include <tq/core/float_elements.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/overflow.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/scheme/encoded_layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tq::io::detail {

/// E4M3 scales of blocks and one scale of the tensor, which divides them (compressed-tensors) or
/// multiplies them (ModelOpt).
struct Nvfp4Scales {
  enum class Kind : std::uint8_t { divisor, multiplier };
  static constexpr float reach = 448.0f * 6.0f;  ///< the largest block scale and the largest code

  Kind kind = Kind::divisor;
  float tensor_scale = 1.0f;
  std::vector<std::uint8_t> blocks{};

  /// The scale of a tensor whose largest magnitude is `abs_max`; no scale of a block leaves
  /// float32.
  [[nodiscard]] static float tensor_scale_for(Kind kind, float abs_max) {
    constexpr float most = 0x1p118f;
    if (!(abs_max > 0)) return 1.0f;
    return kind == Kind::divisor ? std::min(reach / abs_max, most)
                                 : std::max(abs_max / reach, 1 / most);
  }
  /// The scale of a block as readers compute it.
  [[nodiscard]] float real(std::uint8_t block) const {
    const float e = float8_e4m3fn::format::decode(block);
    return kind == Kind::divisor ? e / tensor_scale : e * tensor_scale;
  }
  /// The nearest code of the scale of a block, never that of 0.
  [[nodiscard]] std::uint8_t nearest(float real) const {
    const float e = kind == Kind::divisor ? real * tensor_scale : real / tensor_scale;
    const auto code = static_cast<std::uint8_t>(
        float8_e4m3fn::format::template encode<Saturate>(e, NearestEven{}, 0));
    return std::max(code, std::uint8_t{1});
  }

  /// Scales for blocks of these ranges under the scale of `abs_max`; `scales` become those that
  /// readers compute.
  [[nodiscard]] static Nvfp4Scales fit(Kind kind, float abs_max, std::span<const Range> ranges,
                                       std::span<float> scales) {
    Nvfp4Scales out{kind, tensor_scale_for(kind, abs_max)};
    out.blocks.reserve(ranges.size());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      out.blocks.push_back(out.nearest(std::max({0.0f, -ranges[i].min, ranges[i].max}) / 6.0f));
      scales[i] = out.real(out.blocks[i]);
    }
    return out;
  }

  /// The stored form of the scales of `t`, or nothing where there is none. `abs_max` is that of the
  /// fused set; where it is 0, the largest scale of a block is 448.
  [[nodiscard]] static std::optional<Nvfp4Scales> of(Kind kind, const EncodedTensor& t,
                                                     float abs_max) {
    const std::vector<float> scales = t.scales.values();
    const float most = scales.empty() ? 0.0f : *std::ranges::max_element(scales);
    std::vector<float> candidates;
    if (abs_max > 0) {
      candidates.push_back(tensor_scale_for(kind, abs_max));
    } else {
      if (const auto* two = t.scales.get_if<Scales<TwoLevel<float8_e4m3fn>>>())
        candidates.push_back(kind == Kind::multiplier ? two->tensor_scale()
                                                      : 1 / two->tensor_scale());
      float guess = tensor_scale_for(kind, most * 6.0f);
      for (int i = 0; i < 3; ++i) guess = std::nextafter(guess, 0.0f);
      for (int i = 0; i < 6; ++i) {
        candidates.push_back(guess);
        guess = std::nextafter(guess, 2 * guess);
      }
    }
    for (const float candidate : candidates) {
      Nvfp4Scales out{kind, candidate};
      for (const float s : scales) {
        out.blocks.push_back(s == 0 ? std::uint8_t{0} : out.nearest(s));
        if (out.real(out.blocks.back()) != s) break;
      }
      if (out.blocks.size() == scales.size() &&
          (scales.empty() || out.real(out.blocks.back()) == scales.back()))
        return out;
    }
    return std::nullopt;
  }
};

}  // namespace tq::io::detail
