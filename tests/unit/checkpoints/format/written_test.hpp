// SPDX-License-Identifier: MIT
#pragma once
// Weights for formats that write them, and an independent view of the parts that they make.

#include <tq/checkpoints/writable_format.hpp>

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
    CHECK(t.bytes == expected.bytes);
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
