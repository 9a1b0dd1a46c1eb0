// SPDX-License-Identifier: MIT
#pragma once
// Helpers of the operators of weight algorithms.

#include "elements.hpp"

#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ptq/float_hessian.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace conformance {

/// Symmetric matrices as they come in files, [n, n].
inline tq::FloatHessian hessian_of(const TensorFile& file) {
  const std::vector<float> h = file.floats();
  const auto n = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(h.size()))));
  constexpr double tokens = 4096;  // a power of two, so that nothing is rounded
  std::vector<double> sums;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) sums.push_back(tokens * static_cast<double>(h[i * n + j]));
  return tq::FloatHessian::from_state({n, 4096, 0, std::move(sums)});
}

inline void require_near(const char* what, double expected, double got, double relative) {
  if (!(std::fabs(got - expected) <= relative * std::fabs(expected)))
    throw Failure{what, {"", {}, std::to_string(expected), std::to_string(got)}};
}

/// (q - z) * s in float64, as the oracle has it.
template <tq::IntegerParams Params>
std::vector<double> wide_values(const tq::QuantizedTensor<Params>& q) {
  std::vector<typename Params::code_type> codes(q.size());
  tq::unpack<typename Params::type>(q.bytes(), codes);
  const tq::Shape block = q.params().granularity().block(q.shape());
  std::vector<double> out;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const tq::Affine a = q.params().affine(slot_of(q.shape(), block, i));
    out.push_back((static_cast<double>(codes[i]) - a.zero_point) * static_cast<double>(a.scale));
  }
  return out;
}

/// The sum over rows of (w - v) H (w - v)^T, in float64.
template <class Value>
double loss_of(const std::vector<float>& w, const std::vector<Value>& v,
               const std::vector<float>& h, std::size_t n) {
  double loss = 0;
  std::vector<double> e(n);
  for (std::size_t r = 0; r < w.size() / n; ++r) {
    for (std::size_t i = 0; i < n; ++i)
      e[i] = static_cast<double>(w[r * n + i]) - static_cast<double>(v[r * n + i]);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(h[i * n + j]) * e[j];
      loss += e[i] * sum;
    }
  }
  return loss;
}

template <class Params>
std::vector<float> values_of(const Tensor& codes, const Params& params) {
  const auto stored = codes_of<typename Params::type>(codes);
  std::vector<float> values(stored.size());
  tq::dequantize(stored, params, tq::TensorView<float>(values.data(), shape_of(codes)));
  return values;
}

using Groups = tq::PerGroup<tq::dynamic>;
template <tq::Element T, class Symmetry>
using Grouped = tq::QuantParams<T, Groups, Symmetry>;

/// Groups of the case; of whole rows where it names no size.
inline Groups groups_of(const Case& c, const Tensor& w) {
  const int size = c.attributes.at("group_size").get<int>();
  return Groups(size != 0 ? size : static_cast<int>(w.shape.at(1)));
}

/// The parameters that a case gives.
template <class Params>
Params given_params(const Case& c, const Tensor& w) {
  using Scales = tq::Scales<typename Params::scale_type>;
  if constexpr (std::is_same_v<Params, tq::nvfp4>) {
    const Tensor codes = c.input("block_scales").load();
    return Params(
        {}, Scales(codes_of<tq::float8_e4m3fn>(codes), c.input("tensor_scale").floats().at(0)));
  } else if constexpr (std::is_same_v<Params, tq::mxfp4>) {
    return Params({}, Scales::nearest(c.input("scales").floats()));
  } else if constexpr (Params::has_zero_point) {
    return Params(groups_of(c, w), Scales(c.input("scales").floats()),
                  zero_points_of(c.input("zero_points")));
  } else {
    return Params(groups_of(c, w), Scales(c.input("scales").floats()));
  }
}

}  // namespace conformance
