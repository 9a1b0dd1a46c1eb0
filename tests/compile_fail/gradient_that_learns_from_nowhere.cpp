// expect: one error: tq::FakeQuantize: the scheme has no such gradient
// SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>

#include <string_view>

// Says what y changes by with the scale, but not where the scale starts.
struct Gain {
  static constexpr std::string_view name = "gain";
  static constexpr int learned = 1;
  template <class Point>
  static auto input(const Point& p) {
    return p.upstream;
  }
  template <class Point>
  static auto scale(const Point& p) {
    return p.code;
  }
};
tq::FakeQuantize<tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>, tq::MinMax, Gain> layer;
