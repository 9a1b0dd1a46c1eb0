// SPDX-License-Identifier: MIT
#pragma once
// LearnedSlots: how the learned parameters of all slots lie in one array, and what is made of them.

#include <tq/core/make_params.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/gradient.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tq::detail {

// Arrays have the first parameter of every slot, then, where there are two, the second of every
// slot. Functions are for a LearningGradient; the type may be named for any.
template <GradientPolicy Gradient, AnyParams Params>
struct LearnedSlots {
  static constexpr bool has_second = Gradient::learned > 1;
  static constexpr kernels::Bounds bounds = code_bounds<Params>();

  [[nodiscard]] static std::size_t count(std::span<const float> values) noexcept {
    return values.size() / Gradient::learned;
  }
  [[nodiscard]] static Learned get(std::span<const float> values, std::size_t slot) noexcept {
    return {values[slot], has_second ? values[count(values) + slot] : 0.0f};
  }
  static void put(std::span<float> values, std::size_t slot, Learned l) noexcept {
    values[slot] = l.first;
    if constexpr (has_second) values[count(values) + slot] = l.second;
  }

  // The values that training starts from.
  [[nodiscard]] static std::vector<float> start(const Params& calibrated) {
    const std::size_t slot_count = calibrated.scales().size();
    std::vector<float> values(slot_count * Gradient::learned);
    for (std::size_t i = 0; i < slot_count; ++i) {
      Affine start = calibrated.affine(i);
      start.scale = std::max(start.scale,
                             std::numeric_limits<float>::min());  // 0: a block of nothing but zeros
      put(values, i, Gradient::start(start, bounds));
    }
    return values;
  }
  [[nodiscard]] static Affine affine(std::span<const float> values, std::size_t slot) noexcept {
    return Gradient::affine(get(values, slot), bounds);
  }
  // The parameters to quantize with.
  [[nodiscard]] static Params params(const typename Params::granularity_type& granularity,
                                     std::span<const float> values) {
    std::vector<float> scales(count(values));
    std::vector<std::int32_t> zero_points(Params::has_zero_point ? scales.size() : 0);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const Affine a = affine(values, i);
      scales[i] = a.scale;
      if constexpr (Params::has_zero_point) zero_points[i] = a.zero_point;
    }
    return make_params<Params>(granularity, Scales<float>(std::move(scales)), zero_points);
  }
  // Keeps what an optimiser made of `before` in its domain.
  static void keep(std::span<const float> before, std::span<float> values) noexcept {
    for (std::size_t i = 0; i < count(values); ++i)
      put(values, i, Gradient::keep(get(before, i), get(values, i), bounds));
  }
  // Writes the gradients at `values`; `sums` are over slots of so many elements.
  static void gradients(std::span<const float> values, const ParameterGradients& sums,
                        std::span<const std::size_t> sizes, std::span<float> out) noexcept {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const SlotSums of_slot{sums.scale[i], has_second ? sums.offset[i] : 0.0};
      put(out, i, Gradient::gradient(get(values, i), bounds, of_slot, sizes[i]));
    }
  }
};

}  // namespace tq::detail
