// SPDX-License-Identifier: MIT
#pragma once
// Layers that read the same inputs: what searches of scales for inputs take.

#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ptq/detail/require_weights.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tq::detail {

/// Throws: `errc::no_data` for no layers; as `require_weights` for each of them.
inline void require_layers(const char* function, const std::vector<ConstTensorView>& layers,
                           std::size_t inputs) {
  if (layers.empty())
    raise_expected(errc::no_data, function, {"layers that read the inputs"}, {"none"});
  for (const ConstTensorView& w : layers) require_weights(function, w, inputs);
}

/// The largest magnitude of the weights of each input. Precondition: matrices of `inputs` columns.
[[nodiscard]] inline std::vector<float> column_magnitudes(
    const std::vector<ConstTensorView>& layers, std::size_t inputs) {
  std::vector<float> out(inputs);
  for (const ConstTensorView& w : layers)
    for (std::size_t r = 0; r < w.shape()[0]; ++r)
      for (std::size_t c = 0; c < inputs; ++c)
        out[c] =
            std::max(out[c], std::fabs(w.data()[static_cast<std::ptrdiff_t>(r) * w.stride(0) +
                                                static_cast<std::ptrdiff_t>(c) * w.stride(1)]));
  return out;
}

/// Throws: `errc::not_finite` unless magnitudes are numbers of at least 0.
template <class Magnitudes>
void require_magnitudes(const char* function, const Magnitudes& magnitudes) {
  for (std::size_t i = 0; i < magnitudes.size(); ++i)
    if (!(magnitudes[i] >= 0 && std::isfinite(magnitudes[i])))
      raise_expected(errc::not_finite, function, {"finite magnitudes of at least 0"},
                     {static_cast<float>(magnitudes[i]), " for input ", i});
}

/// A quotient as a scale; 1 where float32 cannot hold it as one.
[[nodiscard]] inline float scale_or_one(double quotient) noexcept {
  const auto s = static_cast<float>(quotient);
  return s > 0 && std::isfinite(s) ? s : 1.0f;
}

}  // namespace tq::detail
