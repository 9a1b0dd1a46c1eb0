// SPDX-License-Identifier: MIT
#pragma once
// compressed_tensors: weights as vLLM, SGLang and transformers load them from compressed-tensors.

#include <tq/checkpoints/compressed_tensors.hpp>
#include <tq/checkpoints/detail/compressed_schemes.hpp>
#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/integer_scheme.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::format {

/// Schemes of compressed-tensors: "int4" and "int8" packed in groups (W4A16, W8A16), "w8a8" with
/// int8 activations, "fp8" with float8 activations, "fp8-weight-only", "fp8-block" in blocks of
/// 128 x 128, "nvfp4", "mxfp4", "mxfp8", and "mxfp4-dynamic", "mxfp8-dynamic" with activations of
/// the same type.
/// Source: compressed-tensors, quantization/quant_args.py and compressors/; llm-compressor.
struct compressed_tensors {
  static constexpr std::string_view name = "compressed-tensors", metadata = "pt";
  static constexpr bool takes_experts_whole = false;

  std::string scheme = "int4";
  std::size_t group_size = 128;  ///< of int4 and int8: inputs of a scale; 0: one for each output
  bool is_symmetric = true;      ///< of int4 and int8: without zero points

  /// Throws: `errc::unknown_name` for the scheme; `errc::unsupported` for options that no engine
  /// runs.
  void require_valid() const {
    const io::detail::CompressedScheme& s = io::detail::compressed_scheme(scheme);
    if (s.parts != io::detail::CompressedParts::packed) {
      if (!is_symmetric)
        raise(errc::unsupported, "compressed-tensors: expected " + scheme +
                                     " to be symmetric, as every engine has it, got zero points");
      return;
    }
    if (group_size != 0 && group_size != 32 && group_size != 64 && group_size != 128)
      raise(errc::unsupported,
            "compressed-tensors: expected groups of 32, 64 or 128 inputs, or 0 for one scale for "
            "each output, which the Marlin kernels of vLLM have, got " +
                std::to_string(group_size));
  }

  /// Empty where the layer fits, else the reason. Throws: as `require_valid`.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    require_valid();
    if (layer.experts != 0) return "expected a matrix for each expert, got one tensor of all";
    io::detail::Shard shard(layer, processors);
    shard.require_inputs(32, "whole words of codes");
    if (group_size != 0) shard.require_inputs(group_size, "its groups");
    shard.require_outputs(is_symmetric ? 16 : 32, "tiles of the kernels");
    return shard.problem;
  }

  [[nodiscard]] bool needs_set_abs_max() const { return false; }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    return checkpoints::CompressedTensors::declarations(layer, integers());
  }

  /// The parts of float32 values, rounded to the nearest codes of stored scales. Throws:
  /// `errc::not_finite`; `errc::shape_mismatch`; `errc::bad_scale`.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values) const {
    return save(layer, {detail::encode_stored<default_backend>(values, integers().spec(layer),
                                                               layer.dtype)});
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme and for
  /// scales that the format does not store exactly.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    return checkpoints::CompressedTensors::save<default_backend>(layer, integers(), weight);
  }

  /// The value of "quantization_config". Layers that stay floats are ignored by their names, which
  /// all engines match exactly.
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    const io::detail::CompressedScheme& s = io::detail::compressed_scheme(scheme);
    const std::size_t size =
        s.parts == io::detail::CompressedParts::packed ? group_size : s.group_size;
    return {{"config_groups", {{"group_0", io::detail::config_group(s, size, is_symmetric)}}},
            {"format", s.format},
            {"global_compression_ratio", nullptr},
            {"ignore", model.left},
            {"kv_cache_scheme", nullptr},
            {"quant_method", "compressed-tensors"},
            {"quantization_status", "compressed"},
            {"sparsity_config", io::Json::object()},
            {"transform_config", io::Json::object()},
            {"version", "0.17.0"}};
  }

  [[nodiscard]] std::vector<std::pair<std::string, io::Json>> more_config(
      const io::WrittenModel&) const {
    return {};
  }

  /// Engines that load the scheme only under conditions.
  [[nodiscard]] std::vector<std::string> notes() const {
    if (is_symmetric) return {};
    return {"asymmetric " + scheme + ": vLLM" + (scheme == "int8" ? " on Hopper (Machete)" : "") +
            "; transformers only with CompressedTensorsConfig(dequantize=True), and no "
            "mixtures of experts"};
  }

 private:
  [[nodiscard]] io::IntegerScheme integers() const {
    return {io::detail::compressed_scheme(scheme).bits, group_size, is_symmetric};
  }
};

}  // namespace tq::format
