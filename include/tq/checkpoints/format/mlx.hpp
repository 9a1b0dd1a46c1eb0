// SPDX-License-Identifier: MIT
#pragma once
// mlx: weights as mlx-lm and LM Studio load them.

#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/detail/mlx_stacks.hpp>
#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_floats.hpp>
#include <tq/checkpoints/mlx.hpp>
#include <tq/checkpoints/scheme_layers.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::format {

/// "affine" codes with a scale and a bias for each group, or "mxfp4", "mxfp8", "nvfp4". A folder of
/// this format is for MLX only. Source: mlx, mlx/ops.cpp (quantize).
struct mlx {
  static constexpr std::string_view name = "mlx", metadata = "mlx";
  static constexpr bool takes_experts_whole = false, takes_head = true;

  std::string mode = "affine";
  int bits = 4;                 ///< of affine: 2, 3, 4, 5, 6 or 8
  std::size_t group_size = 64;  ///< of affine: 32, 64 or 128 inputs

  friend bool operator==(const mlx&, const mlx&) = default;

  /// Throws: `errc::unknown_name` for the mode; `errc::unsupported` for options without a kernel.
  void require_valid() const {
    if (mode != "affine" && mode != "mxfp4" && mode != "mxfp8" && mode != "nvfp4")
      tq::detail::raise_expected(errc::unknown_name, "mlx",
                                 {"a mode of affine, mxfp4, mxfp8 or nvfp4"},
                                 {tq::detail::in_quotes(mode)});
    if (mode != "affine") return;
    if ((bits < 2 || bits > 6) && bits != 8)
      tq::detail::raise_expected(errc::unsupported, "mlx",
                                 {"2, 3, 4, 5, 6 or 8 bits, which its kernels have"}, {bits});
    if (group_size != 32 && group_size != 64 && group_size != 128)
      tq::detail::raise_expected(errc::unsupported, "mlx",
                                 {"groups of 32, 64 or 128 inputs, which its kernels have"},
                                 {group_size});
  }

  /// Empty where the layer fits, else the reason. Throws: as `require_valid`.
  /// Source: mlx-lm 0.32, mlx_lm/models/deepseek_v3.py (sanitize).
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    require_valid();
    if (layer.experts != 0) return "expected a matrix for each expert, got one tensor of all";
    if (layer.module.ends_with(".kv_b_proj"))
      return "classes of mlx-lm for DeepSeek-V3 and others divide it and quantize the halves anew";
    io::detail::Shard shard(layer, processors);
    shard.require_inputs(scheme().group_size < 32 ? 32 : scheme().group_size, "its groups");
    return shard.problem;
  }

  [[nodiscard]] bool needs_set_abs_max() const { return false; }

  /// The module of the stack that has the weight of an expert, or empty.
  [[nodiscard]] static std::string stack_of(std::string_view module, std::string_view model_type) {
    return io::detail::mlx_stack(module, model_type);
  }

  /// The fewest outputs of a layer whose parts follow those of the outputs before.
  [[nodiscard]] std::size_t rows_at_once(const io::LinearWeight&) const { return 1; }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    return checkpoints::Mlx::declarations(layer, scheme());
  }

  /// The parts of float32 values. Throws: `errc::not_finite`; `errc::shape_mismatch`;
  /// `errc::bad_scale`.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    using B = default_backend;
    if (mode == "affine") return save(layer, affine(layer, values, coder));
    if (mode == "mxfp8")
      return save(layer, {detail::encode_microscaled<float8_e4m3fn, B>(values, coder)});
    if (mode == "mxfp4")
      return save(layer, {detail::encode_microscaled<float4_e2m1fn, B>(values, coder)});
    io::LinearWeight alone = layer;
    alone.set_abs_max = io::detail::Nvfp4Scales::reach;  // scales of blocks under 1
    return save(layer, {detail::encode_nvfp4<B>(values, alone,
                                                io::detail::Nvfp4Scales::Kind::multiplier, coder)});
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme, and
  /// for scales or biases that their type does not hold.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    return checkpoints::Mlx::save<default_backend>(layer, scheme(), weight);
  }

  /// The value of "quantization_config". A layer is quantized where it has scales, so layers that
  /// stay floats are not listed. Throws: `errc::unsupported` for experts of a model whose class in
  /// mlx-lm does not load their stacks.
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    io::detail::require_mlx_stacks(model);
    const io::detail::MlxScheme s = scheme();
    return {{"group_size", s.group_size}, {"bits", s.bits}, {"mode", mode}};
  }

  /// Whether layers of one model can have these schemes. Throws: `errc::unsupported` for groups of
  /// several sizes beside affine codes, whose bits the readers of tq find from the one size.
  static void require_mixable(std::span<const mlx> schemes) {
    std::set<std::size_t> sizes;
    for (const mlx& s : schemes) sizes.insert(s.scheme().group_size);
    const auto is_affine = [](const mlx& s) { return s.mode == "affine"; };
    if (sizes.size() > 1 && std::ranges::any_of(schemes, is_affine))
      tq::detail::raise_expected(errc::unsupported, "mlx",
                                 {"groups of one size beside affine codes"},
                                 {*sizes.begin(), " and ", *sizes.rbegin()});
  }

  /// The same of several schemes: that of the most layers, and the others by the names that modules
  /// have in mlx-lm. Throws: as `require_mixable`.
  [[nodiscard]] static io::Json mixed_config(std::span<const io::SchemeLayers<mlx>> parts,
                                             const io::WrittenModel& model) {
    const auto most = std::ranges::max_element(
        parts, {}, [](const io::SchemeLayers<mlx>& part) { return part.modules.size(); });
    if (most == parts.end()) return io::Json::object();
    io::Json out = most->format.quantization_config(model);
    std::vector<mlx> schemes;
    for (const auto& [own, modules] : parts) {
      schemes.push_back(own);
      if (own == most->format) continue;
      for (const std::string& module : modules)
        out[io::detail::mlx_module(module, model.model_type)] = own.quantization_config(model);
    }
    require_mixable(schemes);
    return out;
  }

  /// The key that mlx-lm reads.
  [[nodiscard]] static std::vector<std::pair<std::string, io::Json>> more_config(
      const io::Json& config) {
    return {{"quantization", config}};
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    return {"mlx: mlx-lm and LM Studio only; transformers refuses a folder without quant_method"};
  }

 private:
  [[nodiscard]] io::detail::MlxScheme scheme() const {
    if (mode == "affine") return {"affine", bits, group_size};
    if (mode == "nvfp4") return {"nvfp4", 4, 16};
    return {mode, mode == "mxfp8" ? 8 : 4, 32};
  }

  [[nodiscard]] CheckpointTensor affine(const io::LinearWeight& layer,
                                        const ConstTensorView& values,
                                        const io::WeightCoder* coder) const {
    QuantSpec spec;
    spec.type = "uint" + std::to_string(bits);
    spec.granularity = PerGroup<>::name;
    spec.group_size = static_cast<int>(group_size);
    spec.symmetry = FloatOffset::name;
    const auto store = [&](StoredParameters& p, std::span<const Range>) {
      detail::round_scales(p.scales.factors, layer.dtype);
      io::round_to(p.offsets.factors, layer.dtype);
    };
    return {detail::encode_stored<default_backend>(values, spec, coder, store,
                                                   [](std::span<Range>) {})};
  }
};

}  // namespace tq::format
