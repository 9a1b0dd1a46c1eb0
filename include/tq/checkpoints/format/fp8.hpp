// SPDX-License-Identifier: MIT
#pragma once
// fp8: fine-grained float8 weights of DeepSeek, Qwen and others, as vLLM, SGLang and transformers
// load them.

#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_floats.hpp>
#include <tq/checkpoints/detail/written_names.hpp>
#include <tq/checkpoints/scaled_float8.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq::format {

/// E4M3 with an F32 scale, weight_scale_inv, for every block of 128 outputs and 128 inputs; it
/// multiplies in spite of its name. Source: DeepSeek-V3, inference/fp8_cast_bf16.py.
struct fp8 {
  static constexpr std::string_view name = "fp8", metadata = "pt";
  static constexpr bool takes_experts_whole = false;

  void require_valid() const {}

  /// Empty where the layer fits, else the reason.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    if (layer.experts != 0) return "expected a matrix for each expert, got one tensor of all";
    io::detail::Shard shard(layer, processors);
    shard.require_inputs(128, "its blocks");
    if (io::detail::is_before_another(layer.module) || processors > 1)
      shard.require_outputs(128, "its blocks, which begin anew in a fused set");
    return shard.problem;
  }

  [[nodiscard]] bool needs_set_abs_max() const { return false; }

  /// The fewest outputs of a layer whose parts follow those of the outputs before.
  [[nodiscard]] std::size_t rows_at_once(const io::LinearWeight&) const { return 128; }

  /// Names, types and shapes of the parts.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    return checkpoints::ScaledFloat8::declarations(layer, written);
  }

  /// The parts of float32 values. Throws: `errc::not_finite`; `errc::shape_mismatch`.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    return save(layer, {detail::encode_stored<default_backend>(values, detail::float8_blocks(),
                                                               io::DType::f32, coder)});
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    return checkpoints::ScaledFloat8::save(layer, written, weight);
  }

  /// The value of "quantization_config". Engines know the layers that stay floats by their names.
  /// Throws: `errc::unsupported` for names that engines do not tell apart.
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    io::detail::require_distinct_names("fp8", model);
    return {{"activation_scheme", "dynamic"},
            {"fmt", "e4m3"},
            {"quant_method", "fp8"},
            {"weight_block_size", io::Json::array({128, 128})},
            {"modules_to_not_convert", model.left}};
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    return {
        "fp8: native from compute capability 8.9 on, weight-only (Marlin) from 7.5 on; "
        "transformers on a CPU decodes it to bfloat16"};
  }

 private:
  static constexpr checkpoints::ScaledFloat8::Written written{".weight_scale_inv", io::DType::f32,
                                                              128, 128};
};

}  // namespace tq::format
