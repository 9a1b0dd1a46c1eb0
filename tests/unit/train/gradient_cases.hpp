// SPDX-License-Identifier: MIT
#pragma once
// Gradients of a layer against finite differences in double of what it computes, with rounding
// replaced by a constant.

#include <tq/core/make_params.hpp>
#include <tq/train/fake_quantize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/index_oracle.hpp"
#include "support/inputs.hpp"
#include "support/tensor_oracle.hpp"

namespace gradient_cases {

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// A layer with parameters as given.
template <class Layer>
Layer layer_with(typename Layer::granularity_type g, typename Layer::params_type params,
                 std::vector<float> learned) {
  Layer layer(g);
  auto state = layer.state();
  state.params = std::move(params);
  state.learned = std::move(learned);
  layer.restore(std::move(state));
  return layer;
}

/// One slot: the first and second learned parameter, its scale and zero point, and the ends of the
/// codes.
struct Slot {
  double first, second, scale, zero, lo, hi;
};

/// The constants of a straight-through gradient: the side of the range, and the step that rounding
/// added.
struct Frozen {
  int side;     // -1 below, 0 within, 1 above
  double step;  // round(v) - v
};
inline Frozen frozen(double v, double lo, double hi) {
  return {v < lo ? -1 : v > hi ? 1 : 0, std::nearbyint(v) - v};
}
/// The same where it is the rounded value that must lie within.
inline Frozen frozen_by_code(double v, double lo, double hi) {
  const double r = std::nearbyint(v);
  return {r < lo ? -1 : r > hi ? 1 : 0, r - v};
}

/// Values that are not near whole numbers, ties, or the ends of the codes.
inline std::vector<float> away_from_kinks(std::size_t n, const std::vector<double>& scales,
                                          double lo, double hi, std::uint64_t seed,
                                          const std::vector<std::size_t>& slots) {
  inputs::Random r(seed);
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double whole = std::floor(lo - 5 + r.unit() * (hi - lo + 11));
    const double part = (r.chance(50) ? 1 : -1) * (0.03 + 0.43 * r.unit());
    x[i] = static_cast<float>((whole + part) * scales[slots[i]]);
  }
  return x;
}

/// The slot of every element, row-major.
template <class Granularity>
std::vector<std::size_t> slots_of(const Granularity& g, const tq::Shape& shape) {
  std::vector<std::size_t> out;
  const tq::Shape block = oracle::block(g, shape);
  oracle::each_index(shape, [&](const std::vector<std::size_t>& i) {
    out.push_back(oracle::param(i, shape, block));
  });
  return out;
}

/// `freeze(x, slot)` gives a Frozen, `y(x, first, second, frozen, slot)` what x becomes with that
/// kept constant. The sums over a slot of N elements are multiplied by factor(N, slot).
template <class Layer, class Freeze, class Y, class Factor>
void check(Layer& layer, const tq::Shape& shape, std::uint64_t seed, Freeze&& freeze, Y&& y,
           Factor&& factor) {
  using Params = typename Layer::params_type;
  constexpr int learned = Layer::gradient_type::learned;
  const std::size_t n = shape.size();
  const Params& params = layer.params();
  const std::vector<std::size_t> slots = slots_of(layer.granularity(), shape);
  const std::size_t count = params.scales().size();
  std::vector<Slot> slot;
  std::vector<double> scales;
  std::vector<std::size_t> elements(count);
  for (std::size_t k = 0; k < count; ++k) {
    const tq::Affine a = params.affine(k);
    slot.push_back({static_cast<double>(layer.learned()[k]),
                    learned > 1 ? static_cast<double>(layer.learned()[count + k]) : 0.0,
                    static_cast<double>(a.scale), static_cast<double>(a.zero_point),
                    static_cast<double>(Params::codes.min),
                    static_cast<double>(Params::codes.max)});
    scales.push_back(static_cast<double>(a.scale));
  }
  for (const std::size_t k : slots) ++elements[k];
  double low = slot[0].lo - slot[0].zero, high = slot[0].hi - slot[0].zero;
  for (const Slot& s : slot) {
    low = std::min(low, s.lo - s.zero);
    high = std::max(high, s.hi - s.zero);
  }
  const std::vector<float> x = away_from_kinks(n, scales, low, high, seed, slots);
  inputs::Random r(seed + 1);
  std::vector<float> gy(n), gx(n), out(n);
  for (float& g : gy) g = static_cast<float>(0.5 + r.normal());
  const tq::ConstTensorView view(x.data(), shape);
  std::as_const(layer).forward(view, out);
  const std::span<const float> got = layer.backward(view, gy, gx);
  REQUIRE(got.size() == count * static_cast<std::size_t>(learned));

  struct Sum {
    double value = 0, size = 0;
  };
  std::vector<Sum> first(count), second(count);
  std::size_t within = 0, outside = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Slot& s = slot[slots[i]];
    const auto xi = static_cast<double>(x[i]), g = static_cast<double>(gy[i]);
    const Frozen f = freeze(xi, s);
    f.side == 0 ? ++within : ++outside;
    const auto slope = [&](double at, auto&& value) {
      const double h = 1e-6 * std::max(1e-3, std::fabs(at));
      return (value(at + h) - value(at - h)) / (2 * h);
    };
    const auto add = [&](Sum& sum, double d) {
      sum.value += g * d;
      sum.size += std::fabs(g * d);
    };
    add(first[slots[i]], slope(s.first, [&](double v) { return y(xi, v, s.second, f, s); }));
    add(second[slots[i]], slope(s.second, [&](double v) { return y(xi, s.first, v, f, s); }));
    INFO("x " << x[i] << ", scale " << s.scale << ", zero point " << s.zero);
    const double base = y(xi, s.first, s.second, f, s);
    CHECK(std::fabs(static_cast<double>(out[i]) - base) <= 1e-4 * s.scale);  // it is this function
    const double input = g * slope(xi, [&](double v) { return y(v, s.first, s.second, f, s); });
    CHECK(std::fabs(static_cast<double>(gx[i]) - input) <= 1e-3 * std::fabs(g));
  }
  CHECK(within > n / 4);
  CHECK(outside > 0);
  for (std::size_t k = 0; k < count; ++k) {
    const double by = factor(elements[k], slot[k]);
    const auto agrees = [&](float value, const Sum& sum) {
      INFO("slot " << k << " of " << count << ": expected " << by * sum.value << ", got " << value);
      CHECK(std::fabs(static_cast<double>(value) - by * sum.value) <=
            1e-3 * std::fabs(by * sum.value) + 1e-6 * by * sum.size);
    };
    if constexpr (learned > 0) agrees(got[k], first[k]);
    if constexpr (learned > 1) agrees(got[count + k], second[k]);
  }
}

/// The factor of LSQ and LSQ+.
inline double step_factor(std::size_t n, const Slot& s) {
  return 1 / std::sqrt(static_cast<double>(n) * s.hi);
}
inline double no_factor(std::size_t, const Slot&) { return 1; }

/// n floats from lo to hi, evenly spread in the logarithm, of all significands.
inline std::vector<float> spread(std::size_t n, double lo, double hi) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(
        lo * std::pow(hi / lo, (static_cast<double>(i) + 0.5) / static_cast<double>(n)));
  return out;
}

/// dL/dx and the sums of single elements, one slot each: what a gradient says of values one by one.
/// For layers of PerChannel<0> over {n, 1}.
struct Single {
  std::vector<float> gx, first, second;
};
template <class Layer>
Single single(Layer& layer, const std::vector<float>& x, float gy) {
  const tq::Shape shape{x.size(), 1};
  const std::vector<float> upstream(x.size(), gy);
  Single out;
  out.gx.resize(x.size());
  const std::span<const float> g =
      layer.backward(tq::ConstTensorView(x.data(), shape), upstream, out.gx);
  const auto n = static_cast<std::ptrdiff_t>(x.size());
  if (Layer::gradient_type::learned > 0) out.first.assign(g.begin(), g.begin() + n);
  if (Layer::gradient_type::learned > 1) out.second.assign(g.begin() + n, g.end());
  return out;
}
/// The same parameters for every value.
template <class Layer>
Layer repeated(std::size_t n, float scale, std::int32_t zero, float first, float second = 0) {
  using Params = typename Layer::params_type;
  std::vector<std::int32_t> zeros;
  if constexpr (Params::has_zero_point) zeros.assign(n, zero);
  std::vector<float> learned(Layer::gradient_type::learned > 0 ? n : 0, first);
  if (Layer::gradient_type::learned > 1) learned.insert(learned.end(), n, second);
  return layer_with<Layer>(
      {}, tq::make_params<Params>({}, tq::Scales<float>(std::vector<float>(n, scale)), zeros),
      std::move(learned));
}

}  // namespace gradient_cases
