// SPDX-License-Identifier: MIT
#pragma once
// FloatProduct: a rule whose factor has a product of scales that is rounded to float32.

#include <tq/linear/output/requantizer.hpp>

namespace tq {

/// R with the product of scales rounded to float32 before it is divided: what TensorFlow Lite does
/// in layers with one scale for all weights, as FloatProduct<RequantizeDouble>. Source:
/// tflite-micro, `GetQuantizedConvolutionMultipler`.
template <Requantizer R>
struct FloatProduct : R {
  [[nodiscard]] static double factor(float x, float w, float y) noexcept {
    return static_cast<double>(x * w) / static_cast<double>(y);
  }
};

}  // namespace tq
