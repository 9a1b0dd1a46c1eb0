// SPDX-License-Identifier: MIT
#pragma once
// awq: weights in the layout of AutoAWQ ("gemm"), as vLLM, SGLang, transformers and mlx-lm load
// them.

#include <tq/checkpoints/awq.hpp>
#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_names.hpp>
#include <tq/checkpoints/integer_scheme.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq::format {

/// AWQ's layout of 4-bit codes with zero points. Weights are those of the model: scales of inputs,
/// which the algorithm of AWQ folds into the layers before, are not searched.
/// Source: AutoAWQ, awq/modules/linear/gemm.py.
struct awq {
  static constexpr std::string_view name = "awq", metadata = "pt";
  static constexpr bool takes_experts_whole = false;

  std::size_t group_size = 128;  ///< inputs of a scale
  bool is_symmetric = false;     ///< every zero point is 8

  /// Throws: `errc::unsupported` for options that no engine runs.
  void require_valid() const {
    if (group_size != 32 && group_size != 64 && group_size != 128)
      tq::detail::raise_expected(
          errc::unsupported, "awq",
          {"groups of 32, 64 or 128 inputs, which vLLM (Marlin) and mlx-lm have"}, {group_size});
  }

  /// Empty where the layer fits, else the reason. Throws: as `require_valid`.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    require_valid();
    if (layer.experts != 0) return "expected a matrix for each expert, got one tensor of all";
    io::detail::Shard shard(layer, processors);
    shard.require_inputs(group_size, "its groups");
    shard.require_outputs(32, "whole words of codes, and tiles of kernels");
    return shard.problem;
  }

  [[nodiscard]] bool needs_set_abs_max() const { return false; }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    return checkpoints::Awq::declarations(layer, integers());
  }

  /// The parts of float32 values. Throws: `errc::not_finite`; `errc::shape_mismatch`;
  /// `errc::bad_scale` for scales beyond F16.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    return save(layer, {detail::encode_stored<default_backend>(values, integers().spec(layer),
                                                               io::DType::f16, coder)});
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme and for
  /// scales that F16 does not hold.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    return checkpoints::Awq::save<default_backend>(layer, integers(), weight);
  }

  /// The value of "quantization_config". Names of layers that stay floats match as parts of names,
  /// so they are written whole; vLLM finds "lm_head" itself.
  /// Throws: `errc::unsupported` for names that engines do not tell apart.
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    io::detail::require_distinct_names("awq", model);
    return {{"quant_method", "awq"},
            {"bits", 4},
            {"group_size", group_size},
            {"zero_point", true},  // false has no kernel: symmetric weights have zero points of 8
            {"version", "gemm"},
            {"modules_to_not_convert", model.left}};
  }

  /// Engines that load the scheme only under conditions.
  [[nodiscard]] std::vector<std::string> notes() const {
    return {
        "awq: vLLM and SGLang; transformers with GPTQModel; mlx-lm without mixtures of experts; "
        "float16 is the safest type"};
  }

 private:
  [[nodiscard]] io::IntegerScheme integers() const { return {4, group_size, is_symmetric}; }
};

}  // namespace tq::format
