// SPDX-License-Identifier: MIT
#pragma once
// The gradient of fake quantization element by element: of rows shorter than registers, of what is
// left of a row, and of blocks with a NaN.

#include <tq/config.hpp>
#include <tq/kernels/gradient_point.hpp>
#include <tq/kernels/gradient_rows.hpp>
#include <tq/kernels/quotient_simd.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

namespace detail {

template <class Gradient>
inline constexpr int learned = Gradient::learned;

// The summands of an element.
struct Share {
  float scale = 0, offset = 0;
};

// One element. `Integers`: codes lie on the integers, with a zero point; otherwise the code is y /
// scale.
template <bool Integers, NumericsPolicy N, class Gradient>
struct backward_element {
  using Point = GradientPoint<float, bool>;
  static TQ_FORCE_INLINE Point point(const Gradients& g, float scale, std::int32_t zero,
                                     Bounds bounds, const N& n, std::uint64_t index) noexcept {
    Point p{};
    p.upstream = *g.gy;
    p.scale = scale;
    p.zero_point = static_cast<float>(zero);
    p.low = bounds.low - p.zero_point;
    p.high = bounds.high - p.zero_point;
    p.value = N::scaling_type::apply(*g.x, scale);
    if (!(p.value == p.value)) return p;
    if constexpr (Integers) {
      const float rounded = n.rounding(std::clamp(p.value, p.low - 1.0f, p.high + 1.0f), index);
      p.inside = rounded >= p.low && rounded <= p.high;
      p.code = std::clamp(rounded, p.low, p.high);
    } else {
      p.inside = p.value >= p.low && p.value <= p.high;
      p.code = *g.y / scale;
    }
    return p;
  }
  static TQ_FORCE_INLINE Share run(const Gradients& g, float scale, std::int32_t zero,
                                   Bounds bounds, const N& n, std::uint64_t index) noexcept {
    const Point p = point(g, scale, zero, bounds, n, index);
    Share share;
    if constexpr (learned < Gradient >> 0) share.scale = p.upstream * Gradient::scale(p);
    if constexpr (learned < Gradient >> 1) share.offset = p.upstream * Gradient::offset(p);
    *g.gx = Gradient::input(p);
    return share;
  }
};

// Element by element. Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch, bool Integers, NumericsPolicy N, class Gradient>
struct backward_elements {
  static void run(const Gradients& g, const GradientRows& rows, Bounds bounds, const N& n,
                  std::uint64_t index, ParameterSums sums) noexcept {
    for (std::size_t r = 0; r < rows.count; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      const Gradients at = g.from(row * rows.x, row * rows.y, row * rows.gy, row * rows.gx);
      const std::uint64_t draw_index = index + static_cast<std::uint64_t>(row * rows.draw_step);
      double by_scale = 0, by_offset = 0;
      for (std::size_t i = 0; i < rows.length; ++i) {
        const auto k = static_cast<std::ptrdiff_t>(i);
        const std::size_t p = r * rows.param_row + i * rows.param_step;
        const Share add = backward_element<Integers, N, Gradient>::run(
            at.from(k, k, k, k), rows.scale[p], rows.zero_point != nullptr ? rows.zero_point[p] : 0,
            bounds, n, draw_index + i);
        by_scale += static_cast<double>(add.scale);
        by_offset += static_cast<double>(add.offset);
        if (rows.param_step != 0 || i + 1 == rows.length) {
          const std::size_t to = r * rows.sum_row + i * rows.sum_step;
          if constexpr (learned < Gradient >> 0) sums.scale[to] += by_scale;
          if constexpr (learned < Gradient >> 1) sums.offset[to] += by_offset;
          by_scale = by_offset = 0;
        }
      }
    }
  }
};

}  // namespace detail

}  // namespace tq::kernels
