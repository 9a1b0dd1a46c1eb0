// SPDX-License-Identifier: MIT
#include <tq/calibrate/detail/lp_error.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/kernels/reference.hpp>
#include <tq/observe/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/distributions.hpp"

namespace {

using namespace tq::detail;
template <class Type, class Symmetry, class Scale = float>
using Params = tq::QuantParams<Type, tq::PerTensor, Symmetry, Scale>;

// The quantized value of x, by the operations' own reference.
template <class P, class N>
double quantized(float x, const Levels& a, const N& n) {
  if constexpr (tq::OffsetParams<P>) {
    const tq::reference::OffsetSlot slot{a.scale, a.offset, P::codes.min, P::codes.max};
    return tq::reference::quantize_offset(x, slot, n, 0) * static_cast<double>(a.scale) +
           static_cast<double>(a.offset);
  } else if constexpr (tq::IntegerParams<P>) {
    const tq::reference::Slot slot{a.scale, a.zero_point, P::codes.min, P::codes.max};
    return (tq::reference::quantize(x, slot, n, 0) - a.zero_point) * static_cast<double>(a.scale);
  } else {
    using F = typename P::type::format;
    return static_cast<double>(F::decode(tq::reference::encode<F>(x, a.scale, n, 0))) *
           static_cast<double>(a.scale);
  }
}

// The mean of |x - x'|^norm over 64 places of each bin.
template <class P, class N>
double summed(const distributions::Counts<>& h, const Levels& a, double norm, const N& n) {
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < h.counts_.size(); ++i) {
    const auto count = static_cast<double>(h.counts_[i]);
    total += count;
    if (count == 0) continue;
    const double lo =
        std::max(h.origin_ + h.width_ * static_cast<double>(i), static_cast<double>(h.range_.min));
    const double hi = std::min(h.origin_ + h.width_ * static_cast<double>(i + 1),
                               static_cast<double>(h.range_.max));
    for (int k = 0; k < 64; ++k) {
      const auto x = static_cast<float>(lo + (hi - lo) * (k + 0.5) / 64);
      sum += count / 64 * std::pow(std::fabs(static_cast<double>(x) - quantized<P>(x, a, n)), norm);
    }
  }
  return sum / total;
}

template <class P, class N = tq::numerics::onnx>
void check(double norm) {
  INFO(P::type::name << " " << P::symmetry_type::name << " norm " << norm << " "
                     << N::rounding_type::name);
  inputs::Random r(1);
  std::vector<std::uint64_t> counts(200);
  for (std::uint64_t& c : counts)
    c = r.chance(30) ? 0 : static_cast<std::uint64_t>(r.between(1, 100));
  distributions::Counts<> h{counts, -2.25, 0.03125};
  h.range_ = {-2.24f, 3.98f};
  const QuantizerGrid grid = quantizer_grid<P, N>();
  const Distribution d = Distribution::of(h);
  const LpError by_square(grid, d, norm, SquarePrimitive{});
  const LpError by_power(grid, d, norm, PowerPrimitive(norm));
  for (const tq::Range range : {tq::Range{-2.24f, 3.98f}, {-1, 1}, {-3, 0.5f}, {-0.1f, 7}}) {
    const Levels a = grid.fit(range);
    const double expected = summed<P>(h, a, norm, N{}), unit = std::pow(d.unit(), norm);
    INFO("scale " << a.scale << ", zero point " << a.zero_point << ", offset " << a.offset << ": "
                  << expected);
    CHECK(std::fabs(by_power.exact(a) * unit / expected - 1) < 0.01);
    CHECK(std::fabs(by_power.rough(a) * unit / expected - 1) < 0.1);
    if (norm == 2) CHECK(std::fabs(by_square.exact(a) * unit / expected - 1) < 0.01);
  }
}

}  // namespace

TEST_CASE("the error of a distribution is what summing over it gives", "[calibrate]") {
  for (const double norm : {0.5, 1.0, 2.0, 2.4, 7.0}) {
    check<Params<tq::int8, tq::Symmetric>>(norm);
    check<Params<tq::int4, tq::SymmetricNarrow>>(norm);
    check<Params<tq::uint4, tq::Symmetric>>(norm);
    check<Params<tq::uint8, tq::Asymmetric>>(norm);
    check<Params<tq::int2, tq::Asymmetric, tq::float8_e4m3fn>>(norm);
    check<Params<tq::uint4, tq::FloatOffset, tq::float16>>(norm);
    check<Params<tq::int4, tq::FloatOffset>, tq::Numerics<tq::TowardZero>>(norm);
    check<Params<tq::int4, tq::Symmetric>, tq::Numerics<tq::Floor>>(norm);
    check<Params<tq::int4, tq::Asymmetric>, tq::Numerics<tq::TowardZero>>(norm);
    check<Params<tq::float8_e4m3fn, tq::Symmetric>>(norm);
    check<Params<tq::float4_e2m1fn, tq::Symmetric>>(norm);
    check<Params<tq::float4_e2m1fn, tq::Symmetric>, tq::Numerics<tq::TowardZero>>(norm);
    check<Params<tq::nf4, tq::Symmetric>>(norm);
    check<Params<tq::iq4_nl, tq::Symmetric, tq::float16>>(norm);
    check<Params<tq::binary, tq::Symmetric>>(norm);
  }
}

TEST_CASE("the primitive of a power", "[calibrate]") {
  for (const double norm : {0.25, 1.0, 2.0, 2.4, 16.0}) {
    const PowerPrimitive p(norm);
    double worst = 0;
    for (double x = 1e-12; x < 1e12; x *= 1.0137) {
      const double exact = std::pow(x, norm + 1) / (norm + 1);
      worst = std::max(worst, std::fabs(p(x) / exact - 1));
      CHECK(p(-x) == -p(x));
    }
    INFO(norm);
    CHECK(worst < std::pow((norm + 1) / 64, 4) / 384 + 1e-15);
    CHECK(p(0.0) == 0.0);
  }
}

TEST_CASE("values on levels are known by it", "[calibrate]") {
  const auto on_levels = [](const std::vector<float>& x) {
    tq::Histogram h;
    h.add(x);
    const QuantizerGrid grid =
        quantizer_grid<Params<tq::uint8, tq::Asymmetric>, tq::numerics::onnx>();
    const LpError e(grid, Distribution::of(h), 2, SquarePrimitive{});
    return e.on_levels(grid.fit(h.range()));
  };
  std::vector<float> levels, even;
  for (int i = 0; i <= 255; ++i) levels.push_back(0.1f * static_cast<float>(i));
  for (int i = 0; i <= 100000; ++i) even.push_back(25.5f * static_cast<float>(i) / 100000);
  CHECK(on_levels(levels));
  CHECK(!on_levels(even));
}

TEST_CASE("scales that are none have an infinite error", "[calibrate]") {
  const distributions::Counts<> h{{1, 2, 3}, 0, 1};
  const QuantizerGrid grid = quantizer_grid<Params<tq::int8, tq::Symmetric>, tq::numerics::onnx>();
  const LpError e(grid, Distribution::of(h), 2, SquarePrimitive{});
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                  infinite = std::numeric_limits<float>::infinity();
  for (const float s : {0.0f, -1.0f, nan, infinite}) CHECK(std::isinf(e.exact(tq::Affine{s, 0})));
}
