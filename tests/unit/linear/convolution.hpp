// SPDX-License-Identifier: MIT
#pragma once
// Convolutions as sums under their kernels, in plain loops.

#include <tq/linear/conv_geometry.hpp>
#include <tq/linear/detail/packed_filters.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/inputs.hpp"

namespace test {

// A convolution whose sums are made place by place.
template <class X = std::uint8_t, class W = std::int8_t>
struct Convolution {
  std::size_t images = 2, channels = 4, outputs = 6, groups = 1;
  std::array<std::size_t, 2> extent{9, 7}, kernel{3, 2};
  tq::ConvGeometry geometry;
  std::int32_t zero_point = 0;
  std::vector<X> x;
  std::vector<W> w;
  std::vector<std::int32_t> zero_points;

  void fill(inputs::Random& r) {
    x.resize(in().size());
    w.resize(weights().size());
    for (auto& v : x) v = any<X>(r);
    for (auto& v : w) v = any<W>(r);
  }
  [[nodiscard]] tq::Shape in() const { return {images, channels, extent[0], extent[1]}; }
  [[nodiscard]] tq::Shape weights() const {
    return {outputs, channels / groups, kernel[0], kernel[1]};
  }
  [[nodiscard]] tq::Shape out() const {
    return {images, outputs, geometry.outputs(0, extent[0], kernel[0]),
            geometry.outputs(1, extent[1], kernel[1])};
  }
  [[nodiscard]] tq::PackedFilters packed() const {
    return tq::PackedFilters(tq::TensorView<const W>(w.data(), weights()), groups, zero_points);
  }
  [[nodiscard]] tq::TensorView<const X> view() const { return {x.data(), in()}; }

  // The sum under the kernel, place by place.
  [[nodiscard]] std::int32_t sum(std::size_t image, std::size_t output, std::size_t top,
                                 std::size_t left) const {
    const std::size_t each = channels / groups, first = output / (outputs / groups) * each;
    std::int32_t s = 0;
    for (std::size_t c = 0; c < each; ++c)
      for (std::size_t h = 0; h < kernel[0]; ++h)
        for (std::size_t k = 0; k < kernel[1]; ++k) {
          const auto at = [&](std::size_t axis, std::size_t o, std::size_t i) {
            return static_cast<std::ptrdiff_t>(o * geometry.strides[axis] +
                                               i * geometry.dilations[axis]) -
                   static_cast<std::ptrdiff_t>(geometry.pads_before[axis]);
          };
          const std::ptrdiff_t row = at(0, top, h), column = at(1, left, k);
          if (row < 0 || column < 0 || row >= static_cast<std::ptrdiff_t>(extent[0]) ||
              column >= static_cast<std::ptrdiff_t>(extent[1]))
            continue;
          const std::size_t from =
              ((image * channels + first + c) * extent[0] + static_cast<std::size_t>(row)) *
                  extent[1] +
              static_cast<std::size_t>(column);
          const std::int32_t weight = w[((output * each + c) * kernel[0] + h) * kernel[1] + k];
          s += (x[from] - zero_point) *
               (weight -
                (zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : output]));
        }
    return s;
  }
  [[nodiscard]] std::vector<std::int32_t> sums() const {
    std::vector<std::int32_t> all;
    const tq::Shape o = out();
    for (std::size_t i = 0; i < o[0]; ++i)
      for (std::size_t n = 0; n < o[1]; ++n)
        for (std::size_t h = 0; h < o[2]; ++h)
          for (std::size_t k = 0; k < o[3]; ++k) all.push_back(sum(i, n, h, k));
    return all;
  }

 private:
  // Often one of those that reach furthest.
  template <class Code>
  static Code any(inputs::Random& r) {
    using limits = std::numeric_limits<Code>;
    return static_cast<Code>(r.chance(10)   ? int{limits::min()}
                             : r.chance(10) ? int{limits::max()}
                                            : r.between(limits::min(), limits::max()));
  }
};

// The strides of [a, b, h, w] in memory as [a, h, w, b].
inline tq::Strides channels_last(const tq::Shape& s) {
  const auto n = [](std::size_t v) { return static_cast<std::ptrdiff_t>(v); };
  return {n(s[1] * s[2] * s[3]), 1, n(s[3] * s[1]), n(s[1])};
}
template <class T>
std::vector<T> channels_last(const std::vector<T>& x, const tq::Shape& s) {
  std::vector<T> out(x.size());
  const std::size_t plane = s[2] * s[3];
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i / (s[1] * plane) * s[1] * plane + i % plane * s[1] + i / plane % s[1]] = x[i];
  return out;
}

}  // namespace test
