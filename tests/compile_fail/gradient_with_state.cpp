// expect: GradientPolicy|is_empty
// SPDX-License-Identifier: MIT
#include <tq/train/fake_quantize.hpp>

#include <string_view>

struct Scaled {
  static constexpr std::string_view name = "scaled";
  static constexpr int learned = 0;
  float factor = 0.5f;
  template <class Point>
  static auto input(const Point& p) {
    return p.upstream;
  }
};
tq::FakeQuantize<tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>, tq::MinMax, Scaled> layer;
