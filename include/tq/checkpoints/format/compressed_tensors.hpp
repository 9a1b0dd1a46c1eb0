// SPDX-License-Identifier: MIT
#pragma once
// compressed_tensors: weights as vLLM, SGLang and transformers load them from compressed-tensors.

#include <tq/checkpoints/compressed_tensors.hpp>
#include <tq/checkpoints/detail/compressed_schemes.hpp>
#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/detail/module_aliases.hpp>
#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_floats.hpp>
#include <tq/checkpoints/int8_scaled.hpp>
#include <tq/checkpoints/integer_scheme.hpp>
#include <tq/checkpoints/mxfp4.hpp>
#include <tq/checkpoints/nvfp4.hpp>
#include <tq/checkpoints/scaled_float8.hpp>
#include <tq/checkpoints/scheme_layers.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::format {

/// Schemes of compressed-tensors: "int4" and "int8" packed in groups (W4A16, W8A16), "int2", "int3",
/// "int5" and "int6" for transformers and for vLLM with Humming, "w4a8" and
/// "w4afp8" with the weights of "int4" and activations in int8 and float8, "w8a8" with int8
/// activations, "fp8" with float8 activations, "fp8-weight-only", "fp8-block" in blocks of
/// 128 x 128, "nvfp4", "mxfp4", "mxfp8", and "mxfp4-dynamic", "mxfp8-dynamic" with activations of
/// the same type. "fp8-static", with one scale for a fused set and one for its inputs, and
/// "nvfp4-w4a4", NVFP4 with activations in NVFP4, store scales of activations: they need
/// `CheckpointOptions::inputs`.
/// Source: compressed-tensors, quantization/quant_args.py and compressors/; llm-compressor.
struct compressed_tensors {
  static constexpr std::string_view name = "compressed-tensors", metadata = "pt";
  static constexpr bool takes_experts_whole = false, takes_head = true;

  std::string scheme = "int4";
  /// Inputs of a scale in int2 to int8 and w4a8; 0: one for each output. w4afp8 has 128.
  std::size_t group_size = 128;
  bool is_symmetric = true;  ///< without zero points, in int4 and int8

  friend bool operator==(const compressed_tensors&, const compressed_tensors&) = default;

  /// Throws: `errc::unknown_name` for the scheme; `errc::unsupported` for options that no engine
  /// runs.
  void require_valid() const {
    const io::detail::CompressedScheme& s = io::detail::compressed_scheme(scheme);
    const bool has_zero_points =
        s.parts == Parts::packed && s.activations.empty() && (s.bits == 4 || s.bits == 8);
    if (!is_symmetric && !has_zero_points)
      tq::detail::raise_expected(errc::unsupported, "compressed-tensors",
                                 {scheme, " to be symmetric, as every engine has it"},
                                 {"zero points"});
    if (s.parts != Parts::packed) return;
    if (is_for_hopper() && group_size != 128)
      tq::detail::raise_expected(
          errc::unsupported, "compressed-tensors",
          {"groups of 128 inputs for w4afp8, which the kernels of vLLM have"}, {group_size});
    if (group_size != 0 && group_size != 32 && group_size != 64 && group_size != 128)
      tq::detail::raise_expected(errc::unsupported, "compressed-tensors",
                                 {"groups of 32, 64 or 128 inputs, or 0 for one scale for each "
                                  "output, which the Marlin kernels of vLLM have"},
                                 {group_size});
  }

  /// Empty where the layer fits, else the reason. Throws: as `require_valid`.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    require_valid();
    if (layer.experts != 0) return "expected a matrix for each expert, got one tensor of all";
    io::detail::Shard shard(layer, processors);
    switch (parts()) {
      case Parts::packed:
        if (is_for_hopper() && layer.dtype != io::DType::bf16)
          return "expected a model in bfloat16 for w4afp8, got " +
                 std::string(to_string(layer.dtype));
        shard.require_inputs(group_size != 0 ? group_size : 32, "its groups, in whole words");
        shard.require_outputs(is_for_hopper() ? 128 : is_symmetric ? 16 : 32, "tiles of kernels");
        break;
      case Parts::block8:
        shard.require_inputs(128, "its blocks");
        if (io::detail::is_before_another(layer.module) || processors > 1)
          shard.require_outputs(128, "its blocks, which begin anew in a fused set");
        break;
      case Parts::mxfp4:
      case Parts::mxfp8: shard.require_inputs(32, "its blocks"); [[fallthrough]];
      default:
        shard.require_inputs(16, "tiles of kernels");
        shard.require_outputs(16, "tiles of kernels");
    }
    return shard.problem;
  }

  /// Whether the largest magnitude of a fused set has to be known: NVFP4 and static float8 have one
  /// scale for it.
  [[nodiscard]] bool needs_set_abs_max() const {
    return parts() == Parts::nvfp4 || parts() == Parts::tensor8;
  }

  /// Whether a part holds a scale of activations.
  [[nodiscard]] bool needs_inputs_abs_max(const io::LinearWeight&) const {
    return input_scale().is_stored();
  }

  /// The fewest outputs of a layer whose parts follow those of the outputs before.
  [[nodiscard]] std::size_t rows_at_once(const io::LinearWeight&) const {
    if (parts() == Parts::block8) return 128;
    return parts() == Parts::packed && !is_symmetric ? 8 : 1;  // words of zero points
  }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    std::vector<io::TensorDecl> out = weight_declarations(layer);
    if (input_scale().is_stored()) out.push_back(input_scale().declaration(layer));
    return out;
  }

  /// The parts of float32 values, rounded to the nearest codes of stored scales. Throws:
  /// `errc::not_finite`; `errc::shape_mismatch`; `errc::bad_scale`.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    using B = default_backend;
    switch (parts()) {
      case Parts::packed:
        return save(layer,
                    {detail::encode_stored<B>(values, integers().spec(layer), layer.dtype, coder)});
      case Parts::int8: {
        QuantSpec spec;  // of int8 per output
        spec.symmetry = SymmetricHalf::name;
        return save(layer, {detail::encode_stored<B>(values, spec, layer.dtype, coder)});
      }
      case Parts::float8:
        return save(layer,
                    {detail::encode_stored<B>(values, detail::float8_rows(), layer.dtype, coder)});
      case Parts::tensor8: {
        io::LinearWeight of_set = layer;
        CheckpointTensor weight{detail::encode_float8<B>(values, of_set, layer.dtype, coder)};
        return save(of_set, weight);
      }
      case Parts::block8:
        return save(layer, {detail::encode_stored<B>(values, detail::float8_blocks(),
                                                     io::DType::f32, coder)});
      case Parts::nvfp4: {
        io::LinearWeight of_set = layer;
        CheckpointTensor weight{detail::encode_nvfp4<B>(values, of_set, divisor, coder)};
        return save(of_set, weight);
      }
      case Parts::mxfp4:
        return save(layer, {detail::encode_microscaled<float4_e2m1fn, B>(values, coder)});
      case Parts::mxfp8:
        return save(layer, {detail::encode_microscaled<float8_e4m3fn, B>(values, coder)});
    }
    return {};
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme and for
  /// scales that the format does not store exactly; `errc::bad_argument` for a layer whose inputs
  /// are not known, where the scheme stores a scale of these.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    std::vector<io::Tensor> out = saved_weight(layer, weight);
    input_scale().append_to(out, layer);
    return out;
  }

  /// The value of "quantization_config". Layers that stay floats are ignored by their names, which
  /// all engines match exactly, and by the names that classes of models give to them.
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    const io::SchemeLayers<compressed_tensors> all{*this, {"Linear"}};
    return mixed_config({&all, 1}, model);
  }

  /// The same of several schemes, whose layers are named.
  [[nodiscard]] static io::Json mixed_config(
      std::span<const io::SchemeLayers<compressed_tensors>> parts, const io::WrittenModel& model) {
    const bool is_multimodal = io::detail::has_tower(model);
    io::Json groups = io::Json::object();
    for (const auto& [own, modules] : parts) {
      const io::detail::CompressedScheme& s = io::detail::compressed_scheme(own.scheme);
      const std::size_t size = s.parts == Parts::packed ? own.group_size : s.group_size;
      groups["group_" + std::to_string(groups.size())] = io::detail::config_group(
          s, size, own.is_symmetric, io::detail::with_aliases(modules, is_multimodal));
    }
    const bool is_one = groups.size() == 1;
    return {{"config_groups", groups},
            {"format", is_one ? groups["group_0"]["format"] : io::Json("mixed-precision")},
            {"global_compression_ratio", nullptr},
            {"ignore", io::detail::left_names(model)},
            {"kv_cache_scheme", nullptr},
            {"quant_method", "compressed-tensors"},
            {"quantization_status", "compressed"},
            {"sparsity_config", io::Json::object()},
            {"transform_config", io::Json::object()},
            {"version", "0.17.0"}};
  }

  /// Engines that load the scheme only under conditions.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> out;
    const std::string_view note = io::detail::compressed_scheme(scheme).note;
    if (!note.empty()) out.push_back(scheme + ": " + std::string(note));
    if (!is_symmetric)
      out.push_back("asymmetric " + scheme + ": vLLM" +
                    (scheme == "int8" ? " on Hopper (Machete)" : "") +
                    "; transformers only with CompressedTensorsConfig(dequantize=True), and no "
                    "mixtures of experts");
    return out;
  }

 private:
  using Parts = io::detail::CompressedParts;
  static constexpr auto divisor = io::detail::Nvfp4Scales::Kind::divisor;

  [[nodiscard]] Parts parts() const { return io::detail::compressed_scheme(scheme).parts; }
  [[nodiscard]] const io::detail::StoredInputScale& input_scale() const {
    return io::detail::compressed_scheme(scheme).input_scale;
  }
  [[nodiscard]] std::vector<io::TensorDecl> weight_declarations(
      const io::LinearWeight& layer) const {
    switch (parts()) {
      case Parts::packed: return checkpoints::CompressedTensors::declarations(layer, integers());
      case Parts::int8: return checkpoints::Int8Scaled::declarations(layer);
      case Parts::mxfp4: return checkpoints::Mxfp4::declarations(layer);
      case Parts::nvfp4: return checkpoints::Nvfp4::declarations(layer, divisor);
      default: return checkpoints::ScaledFloat8::declarations(layer, float8(layer));
    }
  }
  [[nodiscard]] std::vector<io::Tensor> saved_weight(const io::LinearWeight& layer,
                                                     const CheckpointTensor& weight) const {
    switch (parts()) {
      case Parts::packed:
        return checkpoints::CompressedTensors::save<default_backend>(layer, integers(), weight);
      case Parts::int8: return checkpoints::Int8Scaled::save(layer, weight);
      case Parts::mxfp4: return checkpoints::Mxfp4::save(layer, weight);
      case Parts::nvfp4: return checkpoints::Nvfp4::save(layer, divisor, weight);
      case Parts::tensor8: return detail::save_float8(layer, float8(layer), weight);
      default: return checkpoints::ScaledFloat8::save(layer, float8(layer), weight);
    }
  }
  // Whether the scheme runs on Hopper alone.
  [[nodiscard]] bool is_for_hopper() const { return scheme == "w4afp8"; }
  [[nodiscard]] io::IntegerScheme integers() const {
    return {io::detail::compressed_scheme(scheme).bits, group_size, is_symmetric};
  }
  // The scales of E4M3: one for each output or for all, or F32 for a block, or E8M0.
  [[nodiscard]] checkpoints::ScaledFloat8::Written float8(const io::LinearWeight& layer) const {
    if (parts() == Parts::block8) return {".weight_scale", io::DType::f32, 128, 128};
    if (parts() == Parts::mxfp8) return {".weight_scale", io::DType::u8, 1, 32};
    if (parts() == Parts::tensor8)
      return {".weight_scale", layer.dtype, layer.outputs, layer.inputs, 1};
    return {".weight_scale", layer.dtype, 1, layer.inputs};
  }
};

}  // namespace tq::format
