// SPDX-License-Identifier: MIT
#pragma once
// Tensors of 16 and 64 bits in many layouts, beside those of float32 with the same values in the
// same places.

#include <tq/core/float_elements.hpp>
#include <tq/core/real.hpp>
#include <tq/core/tensor_view.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/inputs.hpp"

namespace real_tensors {

/// The value as float32, from the definitions of the formats.
inline float widened(float v) { return v; }
inline float widened(double v) { return static_cast<float>(v); }
inline float widened(tq::bfloat16 v) { return std::bit_cast<float>(std::uint32_t{v.code} << 16); }
inline float widened(tq::float16 v) {
  const unsigned exponent = v.code >> 10 & 31u, fraction = v.code & 1023u;
  const float sign = v.code >> 15 != 0 ? -1.0f : 1.0f;
  if (exponent == 31)
    return std::copysign(fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                                       : std::numeric_limits<float>::infinity(),
                         sign);
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                               : std::ldexp(static_cast<float>(1024 + fraction),
                                            static_cast<int>(exponent) - 25));
}

/// A T near v: halves toward zero, float64 with bits that float32 has no room for.
template <class T>
T near(double v, inputs::Random& r) {
  if constexpr (std::same_as<T, float>) {
    return static_cast<float>(v);
  } else if constexpr (std::same_as<T, double>) {
    return v * (1 + 0x1p-24 * r.unit());
  } else if constexpr (std::same_as<T, tq::bfloat16>) {
    T t;
    t.code = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >> 16);
    return t;
  } else {
    int exponent = 0;
    const double m = std::frexp(std::fabs(v), &exponent);  // in [0.5, 1)
    T t;
    t.code = static_cast<std::uint16_t>((v < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                                        (static_cast<int>(m * 2048) & 1023));
    if (exponent < -13) t.code &= 0x8000;
    return t;
  }
}

/// Normally distributed, with some that repeat and some far out; a few of any bits unless `tame`.
template <class T>
T drawn(inputs::Random& r, bool tame) {
  if (!tame && r.chance(2)) {
    if constexpr (std::same_as<T, float>) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(r.bits()));
    } else if constexpr (std::same_as<T, double>) {
      return std::bit_cast<double>(r.bits());  // mostly beyond float32, or nothing to it
    } else {
      T t;
      t.code = static_cast<std::uint16_t>(r.bits());
      return t;
    }
  }
  switch (r.below(30)) {
    case 0: return near<T>(0.0, r);
    case 1: return near<T>(r.normal() * 1000, r);
    case 2: return near<T>(-3.5, r);
    default: return near<T>(r.normal(), r);
  }
}

struct Layout {
  std::string name;
  tq::Shape shape;
  tq::Strides strides;
  std::ptrdiff_t first;  ///< where element (0, 0, ...) is
  std::size_t extent;    ///< of the memory
};

/// Rows, columns, slices, reversed and repeated ones; rows of more elements than are widened at
/// once.
inline std::vector<Layout> layouts() {
  const tq::Shape cube{6, 7, 37}, wide{2, 9001}, tall{9001, 2}, square{70, 300};
  return {
      {"rows", cube, {259, 37, 1}, 0, 1554},
      {"transposed", cube, {1, 6, 42}, 0, 1554},
      {"rows apart", cube, {300, 40, 1}, 5, 2000},
      {"every other one", cube, {518, 74, 2}, 1, 3200},
      {"reversed", cube, {-259, -37, -1}, 1553, 1554},
      {"rows reversed", cube, {-259, 37, 1}, 5 * 259, 1554},
      {"axes exchanged", cube, {37, 222, 1}, 0, 1554},
      {"rows repeated", cube, {0, 37, 1}, 0, 259},
      {"elements repeated", cube, {7, 1, 0}, 0, 42},
      {"wide", wide, {9001, 1}, 0, 18002},
      {"wide, apart", wide, {9100, 1}, 3, 18200},
      {"wide, transposed", wide, {1, 2}, 0, 18002},
      {"tall", tall, {2, 1}, 0, 18002},
      {"tall, apart", tall, {5, 1}, 2, 45010},
      {"square", square, {300, 1}, 0, 21000},
      {"square, transposed", square, {1, 70}, 0, 21000},
      {"square, a corner", square, {400, 1}, 77, 28100},
      {"empty", tq::Shape{3, 0, 2}, {0, 2, 1}, 0, 1},
  };
}

/// A tensor and the same of float32.
template <class T>
struct Pair {
  Layout layout;
  std::vector<T> memory;
  std::vector<float> floats;

  Pair(const Layout& l, std::uint64_t seed, bool tame = false)
      : layout(l), memory(l.extent), floats(l.extent) {
    inputs::Random r(seed);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      memory[i] = drawn<T>(r, tame);
      floats[i] = widened(memory[i]);
    }
  }
  [[nodiscard]] tq::TensorView<const T> view() const {
    return {memory.data() + layout.first, layout.shape, layout.strides};
  }
  [[nodiscard]] tq::ConstTensorView float_view() const {
    return {floats.data() + layout.first, layout.shape, layout.strides};
  }
};

template <class T>
std::string name_of() {
  if constexpr (std::same_as<T, float>) return "float32";
  else if constexpr (std::same_as<T, double>) return "float64";
  else return std::string(T::name);
}

}  // namespace real_tensors
