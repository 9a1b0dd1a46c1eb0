// SPDX-License-Identifier: MIT
#pragma once
// The bytes of a weight of MLX.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/nvfp4_scales.hpp>
#include <tq/checkpoints/detail/saved_codes.hpp>
#include <tq/checkpoints/detail/saved_integers.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/ops/backend/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io::detail {

/// A mode of MLX: "affine", "mxfp4", "mxfp8" or "nvfp4".
struct MlxScheme {
  std::string_view mode;
  int bits;
  std::size_t group_size;

  [[nodiscard]] bool is_affine() const noexcept { return mode == "affine"; }
};

/// Scales and biases with their signs.
struct MlxAffine {
  Bytes codes;
  std::vector<float> scales, biases;
};

// Codes with offsets, as they are read from MLX.
[[nodiscard]] inline MlxAffine mlx_offsets(const LinearWeight& layer, const MlxScheme& scheme,
                                           const CheckpointTensor& weight) {
  const EncodedTensor& t = weight.tensor;
  require_plain("mlx", layer, {t, weight.input_order, weight.codebook});
  const std::string type = "uint" + std::to_string(scheme.bits);
  if (t.spec.type != type || !has_blocks(t, 1, scheme.group_size))
    refuse_saving("mlx", type + " in groups of " + std::to_string(scheme.group_size),
                  to_string(t.spec));
  MlxAffine out{copied(t.codes.span()), t.scales.values(), t.offsets.values()};
  for (std::size_t i = 0; i < out.scales.size(); ++i) {
    const std::vector<float>& factors = weight.factors;
    const float sign = factors.empty() ? 1.0f : factors[factors.size() == 1 ? 0 : i];
    if (sign != 1 && sign != -1)
      refuse_saving("mlx", "factors of 1 or -1", tq::detail::number_text(sign));
    out.scales[i] *= sign;
    out.biases[i] *= sign;
  }
  return out;
}

// Integers with zero points: the bias of a group is -zero point * scale.
template <Backend B>
[[nodiscard]] MlxAffine mlx_zero_points(const LinearWeight& layer, const MlxScheme& scheme,
                                        const CheckpointTensor& weight) {
  SavedIntegers parts =
      saved_integers<B>("mlx", layer, {scheme.bits, scheme.group_size, false}, weight);
  MlxAffine out{std::move(parts.codes), std::move(parts.scales), {}};
  for (std::size_t i = 0; i < out.scales.size(); ++i)
    out.biases.push_back(static_cast<float>(-parts.zero_points[i]) * out.scales[i]);
  return out;
}

// The bytes of all parts. Throws: `errc::unsupported` for a weight of another scheme, and for
// numbers that their type does not hold.
template <Backend B>
[[nodiscard]] std::vector<Bytes> mlx_bytes(const LinearWeight& layer, const MlxScheme& scheme,
                                           const CheckpointTensor& weight) {
  const EncodedTensor& t = weight.tensor;
  if (scheme.is_affine()) {
    MlxAffine parts = t.offsets.empty() ? mlx_zero_points<B>(layer, scheme, weight)
                                        : mlx_offsets(layer, scheme, weight);
    Bytes scales = exact_bytes("mlx", "scales", parts.scales, layer.dtype),
          biases = exact_bytes("mlx", "biases", parts.biases, layer.dtype);
    return {std::move(parts.codes), std::move(scales), std::move(biases)};
  }
  require_codes_of("mlx", layer, weight,
                   scheme.bits == 8 ? float8_e4m3fn::name : float4_e2m1fn::name, 1,
                   scheme.group_size);
  if (scheme.mode != "nvfp4") return {copied(t.codes.span()), exponent_bytes("mlx", t)};
  const auto scales =
      Nvfp4Scales::of(Nvfp4Scales::Kind::multiplier, t, Nvfp4Scales::reach);  // under 1
  if (!scales) refuse_saving("mlx", "scales that are E4M3", "other scales");
  return {copied(t.codes.span()), bytes_of_values(std::span<const std::uint8_t>(scales->blocks))};
}

}  // namespace tq::io::detail
