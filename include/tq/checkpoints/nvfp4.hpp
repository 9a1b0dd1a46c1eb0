// SPDX-License-Identifier: MIT
#pragma once
// Nvfp4: weights of NVFP4, as ModelOpt and compressed-tensors store them.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/nvfp4_scales.hpp>
#include <tq/checkpoints/detail/saved_codes.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/detail/weight_packed.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/formats.hpp>
#include <tq/core/scales.hpp>
#include <tq/layouts/nvfp4.hpp>
#include <tq/scheme/encoded_conversion.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// W uint8, W_scale F8_E4M3, W_scale_2, which multiplies (ModelOpt); or layer.weight_packed uint8,
/// layer.weight_scale F8_E4M3, layer.weight_global_scale, which divides (compressed-tensors):
/// `tq::layouts::nvidia`.
struct Nvfp4 {
  static constexpr std::string_view name = "nvfp4";
  static constexpr std::array<std::string_view, 2> marks{"weight_packed", "_scale_2"};
  static constexpr std::array<std::string_view, 3> part_names{"weight_scale", "weight_scale_2",
                                                              "weight_global_scale"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    if (t.dtype != io::DType::u8) return false;
    if (io::detail::leaf(t.name) == "weight_packed") {
      io::detail::take_weight_packed(
          search, t, name, [](io::CheckpointCandidate& found) { fill(found, "divisor"); });
      return true;
    }
    if (!search.contains(t.name + "_scale_2")) return false;
    search.take(
        t.name, name,
        {{"weight", t.name}, {"scales", t.name + "_scale"}, {"tensor scale", t.name + "_scale_2"}},
        [](io::CheckpointCandidate& found) { fill(found, "tensor scale"); });
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    const Shape shape{std::span<const std::size_t>(parts.weight().shape)};
    const auto codes = parts.bytes("weight"), scales = parts.bytes("scales");
    if (parts.has("divisor")) return divided(shape, codes, scales, first(parts, "divisor"));
    return {to_encoded(load_tensor<layouts::nvidia::Multiplier>(shape, codes, scales,
                                                                first(parts, "tensor scale")))};
  }

  /// The parts of a weight: of compressed-tensors where the scale of the tensor divides, else of
  /// ModelOpt.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(
      const io::LinearWeight& layer, io::detail::Nvfp4Scales::Kind kind) {
    const std::size_t n = layer.outputs, k = layer.inputs;
    const io::TensorDecl scales{layer.module + ".weight_scale", io::DType::f8_e4m3, {n, k / 16}};
    if (kind == io::detail::Nvfp4Scales::Kind::divisor)
      return {{layer.module + ".weight_packed", io::DType::u8, {n, k / 2}},
              scales,
              {layer.module + ".weight_global_scale", io::DType::f32, {1}}};
    return {{layer.module + ".weight", io::DType::u8, {n, k / 2}},
            scales,
            {layer.module + ".weight_scale_2", io::DType::f32, {}}};
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for a weight of another scheme, and
  /// for scales that are not E4M3 under one scale of the tensor, which is that of
  /// `layer.set_abs_max` where it is not 0.
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    io::detail::Nvfp4Scales::Kind kind,
                                                    const CheckpointTensor& weight) {
    io::detail::require_codes_of(name, layer, weight, float4_e2m1fn::name, 1, 16);
    const auto scales = io::detail::Nvfp4Scales::of(kind, weight.tensor, layer.set_abs_max);
    if (!scales)
      io::detail::refuse_saving(name, "scales that are E4M3 under one scale of the tensor",
                                "other scales");
    return io::detail::saved_parts(
        declarations(layer, kind),
        {io::detail::copied(weight.tensor.codes.span()),
         io::detail::bytes_of_values(std::span<const std::uint8_t>(scales->blocks)),
         io::detail::bytes_of_values(std::span<const float>(&scales->tensor_scale, 1))});
  }

 private:
  template <layouts::nvidia::TensorScaleConvention C>
  [[nodiscard]] static QuantizedTensor<nvfp4> load_tensor(const Shape& shape,
                                                          std::span<const std::uint8_t> codes,
                                                          std::span<const std::uint8_t> scales,
                                                          float tensor_scale) {
    return layouts::nvidia::load_tensor<nvfp4, C>(shape, codes, scales, tensor_scale);
  }

  template <Backend B>
  [[nodiscard]] static float first(const io::CheckpointParts<B>& parts, const char* role) {
    const std::vector<float> all = parts.floats(role);
    detail::require_count("tq::io::load_checkpoint", role, 1, all.size());
    return all[0];
  }

  // A weight whose scale of the tensor has that role.
  static void fill(io::CheckpointCandidate& found, const char* role) {
    io::CheckpointWeight& w = found.weight;
    const io::TensorInfo &codes = found.part("weight"), &ts = found.part(role);
    if (codes.dtype != io::DType::u8 || codes.shape.empty())
      return void(found.misfit(codes, "U8 of packed codes"));
    w.shape = codes.shape;
    w.shape.back() = detail::product_or_most(w.shape.back(), 2);
    std::vector<std::size_t> grid = w.shape;
    grid.back() = detail::units_for(grid.back(), 16);
    if (found.require("scales", io::DType::f8_e4m3, grid))
      found.require_strategy(found.part("scales"));
    found.require_group_size(16);
    if (ts.dtype != io::DType::f32 || io::detail::count(ts) != 1) found.misfit(ts, "one F32");
    w.bits = 4;
    w.group_size = 16;
    w.scheme = "nvfp4";
  }

  // The scale of a block is its E4M3 over the divisor, rounded once, which no multiplier of the
  // tensor has: scales are these quotients. Source: compressed-tensors,
  // quantization/lifecycle/forward.py, _dequantize.
  [[nodiscard]] static CheckpointTensor divided(const Shape& shape,
                                                std::span<const std::uint8_t> codes,
                                                std::span<const std::uint8_t> scales,
                                                float divisor) {
    // All checks, and a tensor of zeros, are those of the format.
    auto stored = load_tensor<layouts::nvidia::Divisor>(shape, codes, scales, divisor);
    std::vector<float> quotients;
    for (const std::uint8_t block : stored.params().stored_scales().stored())
      quotients.push_back(block == 0 ? 0.0f : float8_e4m3fn::format::decode(block) / divisor);
    CheckpointTensor out{to_encoded(std::move(stored))};
    out.tensor.spec.scale_type = scale_type_name<float>;
    out.tensor.scales = Scales<float>(std::move(quotients));
    return out;
  }
};

}  // namespace tq::checkpoints
