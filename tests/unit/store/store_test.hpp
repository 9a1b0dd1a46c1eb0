// SPDX-License-Identifier: MIT
#pragma once
// Tensors of many schemes, and the files that the tests of tq/store write.

#include <tq/calibrate/calibrate.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/formats.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/store/save.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_model.ipp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "unit/files/io_test.hpp"

namespace store_test {

using tq::ConstTensorView;
using tq::Shape;

using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
using Schemes =
    tq::TypeList<W4, tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::Asymmetric, tq::float16>,
                 tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>,
                 tq::QuantParams<tq::uint3, tq::PerGroup<32>, tq::FloatOffset>,
                 tq::QuantParams<tq::int16, tq::PerChannel<0>, tq::SymmetricNarrow>,
                 tq::QuantParams<tq::float8_e4m3fn, tq::PerTensor, tq::Symmetric, tq::Unscaled>,
                 tq::mxfp4, tq::nvfp4, tq::nf4_64_double>;

// A model that decodes some of them: kernels for all types take long to compile.
using Model =
    tq::BasicStoredModel<tq::TypeList<tq::int4, tq::uint3, tq::nf4, tq::float4_e2m1fn>,
                         tq::TypeList<float, tq::DoubleQuantized, tq::TwoLevel<tq::float8_e4m3fn>>>;
template <class P>
inline constexpr bool is_decoded =
    std::is_same_v<P, W4> || std::is_same_v<P, tq::nvfp4> || std::is_same_v<P, tq::nf4_64_double> ||
    std::is_same_v<typename P::type, tq::uint3>;

[[nodiscard]] inline std::vector<float> floats(const std::filesystem::path& path,
                                               const std::string& name) {
  return Model(path).load<float>(name);
}

template <class F, class... Ps>
void for_each_scheme(tq::TypeList<Ps...>, F&& f) {
  (f(std::type_identity<Ps>{}), ...);
}
template <class F>
void for_each_scheme(F&& f) {
  for_each_scheme(Schemes{}, f);
}

[[nodiscard]] inline std::vector<float> noise(std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random()) * 0x1p-31f - 1.0f;
  return x;
}

/// A tensor of a file with these values.
template <class T>
[[nodiscard]] tq::io::Tensor file_tensor(const std::string& name, std::vector<std::size_t> shape,
                                         const std::vector<T>& values) {
  return tq::io::from_values<T>(name, std::move(shape), std::span<const T>(values));
}

template <class Params>
[[nodiscard]] tq::QuantizedTensor<Params> quantized(const Shape& shape, unsigned seed = 1) {
  const std::vector<float> x = noise(shape.size(), seed);
  const ConstTensorView view(x.data(), shape);
  return tq::quantize(view, tq::calibrate<Params>(view));
}

[[nodiscard]] inline bool is_same(const tq::EncodedTensor& a, const tq::EncodedTensor& b) {
  return a.spec == b.spec && a.shape == b.shape && a.scales == b.scales &&
         a.zero_points == b.zero_points && a.offsets == b.offsets &&
         std::ranges::equal(a.codes.span(), b.codes.span());
}

template <class Params>
[[nodiscard]] std::string name_of_scheme() {
  return to_string(tq::spec_of<Params>());
}

}  // namespace store_test
