// SPDX-License-Identifier: MIT
#pragma once
// ScaledFloat8: weights of float8 with scales beside them, as DeepSeek, compressed-tensors,
// ModelOpt and ComfyUI store them.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/detail/block_scales.hpp>
#include <tq/checkpoints/detail/checkpoint_shapes.hpp>
#include <tq/checkpoints/detail/saved_codes.hpp>
#include <tq/checkpoints/detail/saved_parts.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/scales.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::checkpoints {

/// W float8; scales W_scale_inv (DeepSeek), W_scale (compressed-tensors, ModelOpt),
/// layer.scale_weight (ComfyUI) or layer.scale: one, one per row, or one per block;
/// real = W * scale. MXFP8 has scales of E8M0 for 32 inputs.
struct ScaledFloat8 {
  static constexpr std::string_view name = "scaled_float8";
  static constexpr std::array<std::string_view, 2> marks{"scale", "scale_weight"};
  static constexpr std::array<std::string_view, 3> part_names{"_scale_inv", "weight_scale",
                                                              ".scale_weight"};

  static bool find(io::CheckpointSearch& search, const io::TensorInfo& t) {
    const bool is_float8 = t.dtype == io::DType::f8_e4m3 || t.dtype == io::DType::f8_e5m2 ||
                           t.dtype == io::DType::f8_e4m3fnuz || t.dtype == io::DType::f8_e5m2fnuz;
    if (!is_float8) return false;
    const std::string base = io::detail::stem(t.name);
    std::vector<std::string> names{t.name + "_scale_inv", t.name + "_scale"}, scales;
    if (io::detail::leaf(t.name) == "weight")
      names.insert(names.end(), {base + "scale_weight", base + "scale"});
    for (const std::string& candidate : names)
      if (search.contains(candidate)) scales.push_back(candidate);
    if (scales.empty()) return false;  // a tensor of floats
    const bool is_comfy = scales.front() == base + "scale_weight";
    search.take(t.name, name,
                {{"weight", t.name},
                 {"scales", scales.front()},
                 {"other scales", scales.size() > 1 ? scales[1] : ""},
                 {"marker", is_comfy ? "scaled_fp8" : ""}},
                [&](io::CheckpointCandidate& found) {
                  if (scales.size() > 1)
                    found.problem("expected scales of one name, got " +
                                  io::detail::shown(scales[0]) + " and " +
                                  io::detail::shown(scales[1]));
                  fill(found, t);
                });
    return true;
  }

  template <Backend B>
  [[nodiscard]] static CheckpointTensor load(const io::CheckpointParts<B>& parts) {
    const io::CheckpointWeight& w = parts.weight();
    CheckpointTensor out;
    EncodedTensor& t = out.tensor;
    t.shape = Shape(std::span<const std::size_t>(w.shape));
    const io::Tensor weight = parts.tensor("weight");
    t.codes = parts.codes(weight);
    io::Tensor scales = parts.tensor("scales");
    if (scales.dtype == io::DType::u8) scales.dtype = io::DType::f8_e8m0;  // of MXFP8
    const std::vector<float> reals = io::to_float32<B>(scales);
    require_scales(reals);
    const bool is_empty = t.shape.size() == 0;
    detail::set_blocks(t.spec, t.shape, w.block, is_empty || reals.size() == 1);
    t.spec.type = io::detail::dtype_row(weight.dtype).element;
    if (is_empty) {
      t.scales = Scales<float>{1.0f};
      return out;
    }
    if (scales.dtype == io::DType::f8_e8m0) {
      std::vector<std::uint8_t> exponents;
      for (const std::byte b : scales.bytes) exponents.push_back(std::to_integer<std::uint8_t>(b));
      t.spec.scale_type = float8_e8m0fnu::name;
      t.scales = Scales<float8_e8m0fnu>(detail::scales_of_rows(t.shape, w.block, exponents));
    } else {
      t.scales = Scales<float>(detail::scales_of_rows(t.shape, w.block, reals));
    }
    return out;
  }

  /// How the scales of a weight are written: their name after the module, their type (U8: E8M0) and
  /// the outputs and inputs of a scale.
  struct Written {
    std::string_view scale_name;
    io::DType scale_type;
    std::size_t outputs, inputs;
    std::size_t rank = 2;  ///< axes of the scales, less than 2 for one scale of the weight
  };

  /// The parts of a weight of E4M3.
  [[nodiscard]] static std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer,
                                                                const Written& how) {
    std::vector<std::size_t> grid{detail::units_for(layer.outputs, how.outputs),
                                  detail::units_for(layer.inputs, how.inputs)};
    grid.resize(how.rank);
    return {{layer.module + ".weight", io::DType::f8_e4m3, {layer.outputs, layer.inputs}},
            {layer.module + std::string(how.scale_name), how.scale_type, std::move(grid)}};
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for a weight of another scheme, and
  /// for scales that their type does not hold.
  [[nodiscard]] static std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                                    const Written& how,
                                                    const CheckpointTensor& weight) {
    const EncodedTensor& t = weight.tensor;
    io::detail::require_codes_of(name, layer, weight, float8_e4m3fn::name, how.outputs, how.inputs);
    return io::detail::saved_parts(
        declarations(layer, how),
        {io::detail::copied(t.codes.span()),
         how.scale_type == io::DType::u8
             ? io::detail::exponent_bytes(name, t)
             : io::detail::exact_bytes(name, "scales", t.scales.values(), how.scale_type)});
  }

 private:
  static void require_scales(const std::vector<float>& scales) {
    for (std::size_t i = 0; i < scales.size(); ++i)
      if (!(scales[i] >= 0) || !detail::is_finite(scales[i]))
        tq::detail::raise_expected(errc::bad_scale, "tq::io::load_checkpoint",
                                   {"finite scales that are not negative"},
                                   {scales[i], " for block ", i});
  }

  static void fill(io::CheckpointCandidate& found, const io::TensorInfo& t) {
    io::CheckpointWeight& w = found.weight;
    w.shape = t.shape;
    const io::TensorInfo& s = found.part("scales");
    if (s.dtype == io::DType::u8) return fill_mxfp8(found, t, s);
    if (!found.require_scale_type(s)) return;
    if (!found.require_strategy(s)) return;
    std::vector<std::size_t> said = found.hints().block;
    if (const std::size_t size = found.hints().group_size; said.empty() && size != 0) said = {size};
    const auto block = io::detail::checkpoint_blocks(t.shape, s.shape, said);
    if (!block)
      return void(found.misfit(
          s, "scales of " + io::shape_text(t.shape) +
                 ": one, one per row, or one for each block of " +
                 (said.empty() ? "128 (or of another power of two that divides the extent)"
                               : io::shape_text(said) + ", as the configuration says")));
    w.block = *block;
    w.dtype = io::detail::float_type(s.dtype);
    w.scheme = std::string(io::detail::dtype_row(t.dtype).element) + " with scales, " +
               (io::detail::count(s) == 1 ? "per tensor" : "blocks of " + io::shape_text(w.block));
  }

  // MXFP8 as compressed-tensors and ModelOpt store it: the scales of 32 inputs are bytes of E8M0.
  static void fill_mxfp8(io::CheckpointCandidate& found, const io::TensorInfo& t,
                         const io::TensorInfo& s) {
    io::CheckpointWeight& w = found.weight;
    std::vector<std::size_t> grid = t.shape;
    if (!grid.empty()) grid.back() = detail::units_for(grid.back(), 32);
    if (grid.empty() || s.shape != grid)
      return void(found.misfit(
          s, "scales of F32, F16, BF16 or F8_E8M0, or U8 " + io::shape_text(grid) + " of MXFP8"));
    found.require_group_size(32);
    found.require_strategy(s);
    w.block.assign(t.shape.size(), 1);
    w.block.back() = 32;
    w.scheme = std::string(io::detail::dtype_row(t.dtype).element) + " with scales, MXFP8";
  }
};

}  // namespace tq::checkpoints
