// SPDX-License-Identifier: MIT
#pragma once
// Scales<DoubleQuantized>: 8-bit codes of scales, and a float32 for every 256 of them.

#include <tq/core/detail/decoded_view.hpp>
#include <tq/core/detail/scale_fit.hpp>
#include <tq/core/detail/scale_limits.hpp>
#include <tq/core/element.hpp>
#include <tq/core/plain_scales.hpp>
#include <tq/core/scale_kinds.hpp>
#include <tq/error.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// 8-bit codes of the scales' distance from their mean, and a float32 for every 256 of them.
template <std::same_as<DoubleQuantized> Self>
class Scales<Self> {
 public:
  using stored_type = typename Self::code_type;
  using map = typename Self::map;
  /// Throws: `errc::shape_mismatch` unless there is a block scale for every 256 codes;
  /// `errc::bad_scale` unless they and the offset are finite.
  Scales(std::vector<stored_type> codes, std::vector<float> block_scales, float offset)
      : stored_(std::move(codes)), block_scales_(std::move(block_scales)), offset_(offset) {
    const std::size_t blocks =
        (stored_.size() + DoubleQuantized::block - 1) / DoubleQuantized::block;
    if (blocks != block_scales_.size())
      detail::raise_expected(errc::shape_mismatch, "tq::Scales",
                             {blocks, " scales for ", stored_.size(), " quantized scales"},
                             {block_scales_.size()});
    bool finite = detail::is_finite(offset_);
    for (const float s : block_scales_) finite = finite && detail::is_finite(s);
    if (!finite)
      raise(errc::bad_scale, "tq::Scales: expected finite block scales and a finite offset");
  }

  /// Quantizes `exact`, which were made of `ranges`, as bitsandbytes does: scale - mean, in blocks
  /// of 256, by the reciprocal of its largest magnitude. Where the rules do not allow what is
  /// nearest, the scale becomes the next one that they do. Where no code means 0, the offset is 0
  /// and not the mean, so that 0 is a scale.
  [[nodiscard]] static Scales nearest(std::span<const float> exact,
                                      std::span<const Range> ranges = {},
                                      const ScaleRules& rules = {}) {
    double sum = 0;
    for (const float s : exact) sum += double(s);
    const bool shifts = rules.has_zero && !exact.empty();
    const auto offset = shifts ? static_cast<float>(sum / static_cast<double>(exact.size())) : 0.0f;
    std::vector<stored_type> codes;
    std::vector<float> block_scales;
    codes.reserve(exact.size());
    block_scales.reserve((exact.size() + DoubleQuantized::block - 1) / DoubleQuantized::block);
    for (std::size_t i = 0; i < exact.size(); i += DoubleQuantized::block) {
      const auto block = exact.subspan(i, std::min(DoubleQuantized::block, exact.size() - i));
      float top = 0;
      bool is_wide = false;
      for (const float s : block) {
        top = std::max(top, std::abs(s - offset));
        is_wide |= s > rules.safe;
      }
      if (is_wide)
        top = std::max(top,
                       offset / 2);  // leaves codes below, for a zero point that does not overflow
      block_scales.push_back(top);
      const float inverse = 1.0f / std::max(top, 1e-38f);
      for (const float s : block)
        codes.push_back(static_cast<stored_type>(map::encode((s - offset) * inverse)));
      detail::keep_rules<map>(std::span(codes).subspan(i),
                              ranges.empty() ? ranges : ranges.subspan(i), rules,
                              [&](float distance) { return value(distance, top, offset); });
    }
    return Scales(std::move(codes), std::move(block_scales), offset);
  }
  /// Blocks of zeros keep the scale 0 under `ScaleOne`: a 1 among small scales would cost the
  /// others their precision.
  template <Element T, class S, NumericsPolicy N, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges) {
    return fit<Encode>(ranges, scale_fit<T, S, N>);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges, const ScaleFit& how) {
    std::vector<float> exact(ranges.size());
    how.exact_with_zeros(ranges, exact.data());
    return nearest(exact, ranges, how.rules);
  }

  [[nodiscard]] auto values() const noexcept {
    return DecodedView(Decode{stored_.data(), block_scales_.data(), offset_}, stored_.size());
  }
  [[nodiscard]] std::span<const stored_type> stored() const noexcept { return stored_; }
  [[nodiscard]] std::span<const float> block_scales() const noexcept { return block_scales_; }
  [[nodiscard]] float offset() const noexcept { return offset_; }
  friend bool operator==(const Scales&, const Scales&) = default;

 private:
  static float value(float distance, float block_scale, float offset) noexcept {
    return std::max(detail::uncontracted(distance * block_scale) + offset, 0.0f);
  }
  struct Decode {
    const stored_type* codes = nullptr;
    const float* block_scales = nullptr;
    float offset = 0.0f;
    float operator()(std::size_t i) const noexcept {
      return value(detail::value_of<map>(codes[i]), block_scales[i / DoubleQuantized::block],
                   offset);
    }
  };
  std::vector<stored_type> stored_;
  std::vector<float> block_scales_;
  float offset_;
};

}  // namespace tq
