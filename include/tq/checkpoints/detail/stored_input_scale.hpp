// SPDX-License-Identifier: MIT
#pragma once
// StoredInputScale: the scale of activations that a format stores beside a weight.

#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io::detail {

/// A scale for activations whose largest magnitude m becomes `most`: m / most, which multiplies
/// codes, or most / m, which divides them. Source: compressed-tensors,
/// quantization/utils/helpers.py (calculate_qparams, generate_gparam); TensorRT Model Optimizer,
/// modelopt/torch/quantization/qtensor/nvfp4_tensor.py (get_activation_scaling_factor).
struct StoredInputScale {
  std::string_view name{};  // after the module; empty: engines find the scale as they run
  float most = 0.0f;
  bool divides = false;
  int rank = 1;  // axes of the tensor of one element

  [[nodiscard]] bool is_stored() const noexcept { return !name.empty(); }

  /// The scale of a magnitude above 0, within normal numbers of float32.
  [[nodiscard]] float of(float magnitude) const noexcept {
    return std::clamp(divides ? most / magnitude : magnitude / most, 0x1p-118f, 0x1p118f);
  }
  [[nodiscard]] TensorDecl declaration(const LinearWeight& layer) const {
    return {layer.module + std::string(name), DType::f32,
            std::vector<std::size_t>(static_cast<std::size_t>(rank), 1)};
  }
  /// Adds the tensor of the scale, if one is stored. Throws: `errc::bad_argument` for a layer whose
  /// inputs are not known.
  void append_to(std::vector<Tensor>& parts, const LinearWeight& layer) const {
    if (!is_stored()) return;
    if (!(layer.inputs_abs_max > 0))
      tq::detail::raise_text(errc::bad_argument,
                             {"tq::format: ", layer.module,
                              ": expected the largest magnitude of its inputs above 0 for ", name,
                              ", got ", layer.inputs_abs_max});
    const float scale = of(layer.inputs_abs_max);
    const TensorDecl declared = declaration(layer);
    parts.push_back(
        from_values<float>(declared.name, declared.shape, std::span<const float>(&scale, 1)));
  }
};

}  // namespace tq::io::detail
