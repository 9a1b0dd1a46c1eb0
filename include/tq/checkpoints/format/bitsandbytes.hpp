// SPDX-License-Identifier: MIT
#pragma once
// bitsandbytes: weights as transformers, PEFT and SGLang load them from bitsandbytes.

#include <tq/checkpoints/bitsandbytes_4bit.hpp>
#include <tq/checkpoints/bitsandbytes_8bit.hpp>
#include <tq/checkpoints/detail/encode_stored.hpp>
#include <tq/checkpoints/detail/tensor_parallel.hpp>
#include <tq/checkpoints/detail/written_names.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/error.hpp>
#include <tq/ops/copy.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::format {

/// "nf4" or "fp4" in blocks of 64, or "int8" with a scale for each output.
/// Source: bitsandbytes, bitsandbytes/functional.py (QuantState) and nn/modules.py.
struct bitsandbytes {
  static constexpr std::string_view name = "bitsandbytes", metadata = "pt";
  static constexpr bool takes_experts_whole = false, takes_head = true;

  std::string type = "nf4";
  bool is_double = false;  ///< of 4 bits: the scales are quantized too

  /// Throws: `errc::unknown_name` for the type; `errc::unsupported` for double quantization of
  /// int8.
  void require_valid() const {
    if (type != "nf4" && type != "fp4" && type != "int8")
      tq::detail::raise_expected(errc::unknown_name, "bitsandbytes", {"a type of nf4, fp4 or int8"},
                                 {tq::detail::in_quotes(type)});
    if (type == "int8" && is_double)
      raise(errc::unsupported,
            "bitsandbytes: expected nf4 or fp4 for double quantization, got int8");
  }

  /// Empty where the layer fits, else the reason. Throws: as `require_valid`.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    require_valid();
    if (layer.experts != 0 || layer.module.find(".experts.") != std::string::npos)
      return "transformers does not load mixtures of experts from bitsandbytes "
             "(bitsandbytes#1849)";
    if (processors > 1)
      return "blocks of bitsandbytes run over rows, and are not divided among processors";
    return {};
  }

  [[nodiscard]] bool needs_set_abs_max() const { return false; }

  /// Names, types and shapes of the parts.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    if (type == "int8") return checkpoints::Bitsandbytes8Bit::declarations(layer);
    return checkpoints::Bitsandbytes4Bit::declarations(layer, element(), is_double);
  }

  /// The parts of float32 values. Throws: `errc::not_finite`; `errc::shape_mismatch`.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    return save(layer, type == "int8" ? rows(values, coder) : blocks(values, coder));
  }

  /// The parts of codes that exist. Throws: `errc::unsupported` for codes of another scheme.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    if (type == "int8") return checkpoints::Bitsandbytes8Bit::save(layer, weight);
    return checkpoints::Bitsandbytes4Bit::save(layer, element(), is_double, weight);
  }

  /// The value of "quantization_config", with the keys that transformers writes. Throws:
  /// `errc::unsupported` for names that engines do not tell apart.
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    io::detail::require_distinct_names("bitsandbytes", model);
    const bool is_8bit = type == "int8";
    return {{"_load_in_4bit", !is_8bit},
            {"_load_in_8bit", is_8bit},
            {"bnb_4bit_compute_dtype", io::detail::torch_name(model.dtype)},
            {"bnb_4bit_quant_storage", "uint8"},
            {"bnb_4bit_quant_type", is_8bit ? "fp4" : type},
            {"bnb_4bit_use_double_quant", is_double},
            {"llm_int8_enable_fp32_cpu_offload", false},
            {"llm_int8_has_fp16_weight", false},
            {"llm_int8_skip_modules", model.left},
            {"llm_int8_threshold", 6.0},
            {"load_in_4bit", !is_8bit},
            {"load_in_8bit", is_8bit},
            {"quant_method", "bitsandbytes"}};
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    return {"bitsandbytes: transformers, PEFT and SGLang; vLLM from 0.33 on needs a plugin"};
  }

 private:
  [[nodiscard]] std::string_view element() const {
    return type == "fp4" ? std::string_view(bnb_fp4::name) : std::string_view(nf4::name);
  }

  // Blocks of the flattened tensor, which are those of rows where 64 divides these.
  [[nodiscard]] CheckpointTensor blocks(const ConstTensorView& values,
                                        const io::WeightCoder* coder) const {
    QuantSpec spec;
    spec.type = element();
    spec.granularity = PerGroup<>::name;
    spec.group_size = 64;
    spec.numerics = "bitsandbytes";
    if (is_double) spec.scale_type = DoubleQuantized::name;
    const auto encode = [&](const ConstTensorView& x) {
      return CheckpointTensor{detail::encode_stored<default_backend>(
          x, spec, coder, [](StoredParameters&, std::span<const Range>) {},
          [](std::span<Range>) {})};
    };
    if (values.shape()[values.shape().rank() - 1] % 64 == 0) return encode(values);
    std::vector<float> flat(values.size());
    copy(values, TensorView<float>(flat.data(), values.shape()));
    return encode({flat.data(), {flat.size()}});
  }

  // Codes of max|x| / 127, with magnitudes in place of these scales.
  [[nodiscard]] static CheckpointTensor rows(const ConstTensorView& values,
                                             const io::WeightCoder* coder) {
    CheckpointTensor out;
    std::vector<float> scb;
    const QuantSpec spec;  // of int8 per output
    out.tensor = detail::encode_stored<default_backend>(
        values, spec, coder,
        [&](StoredParameters&, std::span<const Range> ranges) {
          scb.clear();
          for (const Range& r : ranges) scb.push_back(std::max({0.0f, -r.min, r.max}));
        },
        [](std::span<Range>) {});
    for (float& s : scb) {
      out.factors.push_back(s == 0 ? 0.0f : checkpoints::Bitsandbytes8Bit::reciprocal);
      if (s == 0) s = 1;
    }
    out.tensor.scales = Scales<float>(std::move(scb));
    return out;
  }
};

}  // namespace tq::format
