// SPDX-License-Identifier: MIT
#pragma once
// Weights for formats that write them, and an independent view of the parts that they make.

#include <tq/checkpoints/writable_format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "unit/checkpoints/checkpoint_test.hpp"

namespace written_test {

using checkpoint_test::Extents;
using checkpoint_test::File;
using tq::io::DType;
using tq::io::LinearWeight;
using tq::io::Tensor;

/// A layer of that shape and normal weights, with a row of large ones, a row whose first 32 inputs
/// are zeros, a row of zeros, one of the same value everywhere and one that is next to nothing.
struct Layer {
  LinearWeight weight;
  std::vector<float> values;

  Layer(std::size_t outputs, std::size_t inputs, DType dtype, std::uint64_t seed = 7)
      : weight{"model.layers.0.mlp.up_proj", outputs, inputs, dtype}, values(outputs * inputs) {
    inputs::Random r(seed);
    for (float& v : values) v = static_cast<float>(r.normal()) * 0.02f;
    for (std::size_t k = 0; k < inputs; ++k) {
      at(1, k) *= 300;
      if (k < 32) at(2, k) = 0;
      at(3, k) = 0;
      at(4, k) = 0.013f;
      at(5, k) *= 1e-9f;
      at(6, k) = std::abs(at(6, k));
    }
  }
  float& at(std::size_t n, std::size_t k) { return values[n * weight.inputs + k]; }
  [[nodiscard]] tq::ConstTensorView view() const {
    return {values.data(), {weight.outputs, weight.inputs}};
  }
};

/// The nearest number with so many bits of significand and that least exponent, in double.
inline double rounded(double x, int digits, int least_exponent) {
  if (x == 0) return 0;
  int e = 0;
  (void)std::frexp(x, &e);
  const int unit = std::max(e - digits, least_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);  // ties to even
}
/// A positive scale as a model of that type stores it.
inline double stored_scale(double scale, DType dtype) {
  if (dtype == DType::f16) return std::max(rounded(scale, 11, -24), 0x1p-24);
  return std::max(rounded(scale, dtype == DType::bf16 ? 8 : 24, -149), 0x1p-126);
}

/// Field `i` of a little-endian stream of fields of so many bits.
inline unsigned field(const std::byte* bytes, std::size_t i, unsigned bits) {
  unsigned out = 0;
  for (unsigned b = 0; b < bits; ++b) {
    const std::size_t at = i * bits + b;
    out |= (std::to_integer<unsigned>(bytes[at / 8]) >> at % 8 & 1u) << b;
  }
  return out;
}

/// The value of a code of E4M3 or E2M1, with a sign, by the definition of the formats.
inline double float_value(unsigned code, bool is_fp4) {
  const int significand = is_fp4 ? 1 : 3, bias = is_fp4 ? 1 : 7;
  const unsigned sign = code >> (is_fp4 ? 3 : 7), rest = code & (is_fp4 ? 7u : 127u);
  const int e = static_cast<int>(rest >> significand);
  const double m = rest & ((1u << significand) - 1u);
  const double one = std::ldexp(1.0, significand);
  const double magnitude = std::ldexp(e == 0 ? m : one + m, (e == 0 ? 1 : e) - bias - significand);
  return sign != 0 ? -magnitude : magnitude;
}
/// The nearest value of E4M3 or E2M1, what is larger than all saturates.
inline double nearest_float(double x, bool is_fp4) {
  const double most = is_fp4 ? 6 : 448;
  return std::clamp(is_fp4 ? rounded(x, 2, -1) : rounded(x, 4, -9), -most, most);
}

/// Integers in groups, by the definition of the formats in double: the values, after a check of the
/// unsigned codes, zero points and scales of the parts, which `code(n, k)`, `zero(n, g)` and
/// `scale(n, g)` find. `lowest_zero`: 1 where 0 is not stored.
template <class Code, class Zero, class Scale>
std::vector<float> integer_oracle(const Layer& layer, int bits, std::size_t group,
                                  bool is_symmetric, DType dtype, int lowest_zero, Code&& code,
                                  Zero&& zero, Scale&& scale) {
  const std::size_t n = layer.weight.outputs, k = layer.weight.inputs;
  const double half = std::ldexp(1.0, bits - 1), levels = 2 * half - 1;
  std::vector<float> out(n * k);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t g = 0; g < k / group; ++g) {
      const float* const x = layer.values.data() + i * k + g * group;
      float low = std::min(0.0f, *std::min_element(x, x + group));
      const float high = std::max(0.0f, *std::max_element(x, x + group));
      if (lowest_zero == 1)
        low = std::min(low, -std::max(high / static_cast<float>(levels - 1), 0x1p-24f));
      const double range = is_symmetric ? 2 * double{std::max(-low, high)} : double{high - low};
      const auto exact = static_cast<float>(range / levels);
      const double s = exact == 0 ? 1.0 : stored_scale(double{exact}, dtype);
      CHECK(double{scale(i, g)} == s);
      const double z =
          is_symmetric
              ? half
              : std::clamp(std::nearbyint(double{-low / static_cast<float>(s)}), 0.0, levels);
      CHECK(z >= lowest_zero);
      CHECK(zero(i, g) == z);
      for (std::size_t j = 0; j < group; ++j) {
        const std::size_t at = g * group + j;
        const double q =
            std::clamp(std::nearbyint(double{x[j] / static_cast<float>(s)}) + z, 0.0, levels);
        if (code(i, at) != q) FAIL("another code at " << i << ", " << at);
        out[i * k + at] = static_cast<float>((q - z) * s);
      }
    }
  return out;
}

/// Int8 or E4M3 with a scale for every block: max|x| / reach, stored as `dtype`. The values, whose
/// scales and codes are those of the parts.
inline std::vector<float> scaled_oracle(const Layer& layer, const Tensor& codes,
                                        const Tensor& scales, std::size_t rows, std::size_t columns,
                                        double reach, DType dtype) {
  const std::size_t n = layer.weight.outputs, k = layer.weight.inputs,
                    across = (k + columns - 1) / columns;
  const std::vector<float> stored = tq::io::to_float32(scales);
  std::vector<double> most(stored.size());
  for (std::size_t i = 0; i < n * k; ++i) {
    double& m = most.at(i / k / rows * across + i % k / columns);
    m = std::max(m, std::abs(double{layer.values[i]}));
  }
  for (std::size_t b = 0; b < most.size(); ++b) {
    const float exact = static_cast<float>(most[b] / reach);
    CHECK(double{stored[b]} == (exact == 0 ? 1.0 : stored_scale(double{exact}, dtype)));
  }
  std::vector<float> out(n * k);
  for (std::size_t i = 0; i < n * k; ++i) {
    const float scale = stored.at(i / k / rows * across + i % k / columns);
    const double v = double{layer.values[i] / scale};
    const unsigned code = std::to_integer<unsigned>(codes.bytes[i]);
    const bool is_int = codes.dtype == DType::i8;
    const double q =
        is_int ? std::clamp(std::nearbyint(v), -128.0, 127.0) : nearest_float(v, false);
    if ((is_int ? static_cast<double>(static_cast<std::int8_t>(code)) : float_value(code, false)) !=
        q)
      FAIL("another code at " << i);
    out[i] = static_cast<float>(q * double{scale});
  }
  return out;
}

/// E2M1 or E4M3 in blocks of 32 under 2^(floor(log2 m) - the exponent of the largest code), where m
/// is max|x| rounded to one bit after the point of its significand, ties up.
inline std::vector<float> mx_oracle(const Layer& layer, const Tensor& codes, const Tensor& scales,
                                    bool is_fp4) {
  std::vector<float> out(layer.values.size());
  for (std::size_t b = 0; b < out.size() / 32; ++b) {
    float most = 0;
    for (std::size_t i = 32 * b; i < 32 * b + 32; ++i)
      most = std::max(most, std::abs(layer.values[i]));
    const int byte = std::to_integer<int>(scales.bytes.at(b));
    if (most > 0) {
      const double up = double{most} + std::ldexp(1.0, std::ilogb(most) - 2);
      CHECK(byte - 127 == std::ilogb(up) - (is_fp4 ? 2 : 8));
    }
    CHECK(byte != 255);
    for (std::size_t i = 32 * b; i < 32 * b + 32; ++i) {
      const double q = nearest_float(std::ldexp(double{layer.values[i]}, 127 - byte), is_fp4);
      if (float_value(field(codes.bytes.data(), i, is_fp4 ? 4 : 8), is_fp4) != q)
        FAIL("another code at " << i);
      out[i] = static_cast<float>(std::ldexp(q, byte - 127));
    }
  }
  return out;
}

/// E2M1 in blocks of 16; `scale_of` is the scale of a block under that of the tensor. Scales of
/// blocks are the nearest E4M3, and codes the nearest under these.
template <class ScaleOf>
std::vector<float> nvfp4_oracle(const Layer& layer, const Tensor& codes, const Tensor& scales,
                                ScaleOf&& scale_of) {
  std::vector<float> out(layer.values.size());
  for (std::size_t b = 0; b < out.size() / 16; ++b) {
    double most = 0;
    for (std::size_t i = 16 * b; i < 16 * b + 16; ++i)
      most = std::max(most, std::abs(double{layer.values[i]}));
    const double unit = double{scale_of(1.0)}, e = most / 6 / unit;
    const unsigned byte = std::to_integer<unsigned>(scales.bytes.at(b));
    CHECK(byte - 1 < 0x7eu);  // from the smallest to 448: neither 0 nor NaN nor negative
    const double stored = float_value(byte, false);
    CHECK(std::abs(stored - std::clamp(e, 0x1p-9, 448.0)) <=
          1.0001 * std::abs(nearest_float(std::max(e, 0x1p-9), false) -
                            std::clamp(e, 0x1p-9, 448.0)) +
              1e-6);
    for (std::size_t i = 16 * b; i < 16 * b + 16; ++i) {
      const double q = nearest_float(double{layer.values[i] / scale_of(stored)}, true);
      if (float_value(field(codes.bytes.data(), i, 4), true) != q) FAIL("another code at " << i);
      out[i] = static_cast<float>(q * double{scale_of(stored)});
    }
  }
  return out;
}

/// The parts that a format makes, after a check that they are those that it declares.
template <class Format>
File written(const Format& format, const Layer& layer, const tq::io::CheckpointHints& hints = {}) {
  const std::vector<tq::io::TensorDecl> declared = format.declarations(layer.weight);
  const std::vector<Tensor> parts = format.quantize(layer.weight, layer.view());
  REQUIRE(parts.size() == declared.size());
  File out;
  out.hints = hints;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CHECK(parts[i].name == declared[i].name);
    CHECK(parts[i].dtype == declared[i].dtype);
    CHECK(parts[i].shape == declared[i].shape);
    CHECK(parts[i].bytes.size() == declared[i].bytes());
    out.add(parts[i]);
  }
  return out;
}

/// Checks that saving the codes as they are read gives the bytes of the file again.
template <class Format>
void check_saved(const Format& format, const LinearWeight& layer, const File& file) {
  const std::vector<Tensor> saved = format.save(layer, file.load());
  REQUIRE(saved.size() == file.tensors.size());
  for (const Tensor& t : saved) {
    INFO(t.name);
    const Tensor& expected = file.tensors.at(t.name);
    CHECK(t.dtype == expected.dtype);
    CHECK(t.shape == expected.shape);
    CHECK((t.bytes == expected.bytes));
  }
}

/// Checks values that are equal, but for the sign of zeros.
inline void check_equal(const std::vector<float>& got, const std::vector<float>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i]) {
      INFO("element " << i);
      REQUIRE(got[i] == expected[i]);
    }
}

}  // namespace written_test
