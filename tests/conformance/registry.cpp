// SPDX-License-Identifier: MIT
#include "operators.hpp"

#include <array>

namespace conformance {

namespace {
struct Entry {
  std::string_view op;
  Operator run;
};
constexpr std::array entries{
    Entry{"QuantizeLinear", quantize_linear},
    Entry{"DequantizeLinear", dequantize_linear},
    Entry{"DynamicQuantizeLinear", dynamic_quantize_linear},
    Entry{"quantize_per_tensor", torch_quantize_per_tensor},
    Entry{"quantize_per_channel", torch_quantize_per_channel},
    Entry{"fake_quantize_per_tensor", torch_fake_quantize_per_tensor},
    Entry{"fake_quantize_learnable_per_channel", torch_fake_quantize_learnable_per_channel},
    Entry{"fake_quantize_learnable_per_tensor", torch_fake_quantize_learnable_per_tensor},
    Entry{"fake_quantize_per_channel", torch_fake_quantize_per_channel},
    Entry{"observer", torch_observer},
    Entry{"to", torch_to},
    Entry{"decode", decode},
    Entry{"encode", encode},
    Entry{"Cast", cast},
    Entry{"mx_quantize", mx_quantize},
    Entry{"nvfp4_quantize", nvfp4_quantize},
    Entry{"codebook", codebook},
    Entry{"bnb_quantize_4bit", bnb_quantize_4bit},
    Entry{"bnb_quantize_blockwise8", bnb_quantize_blockwise8},
    Entry{"bnb_double_quant", bnb_double_quant},
    Entry{"npy_read", npy_read},
    Entry{"npz_read", npz_read},
    Entry{"safetensors_read", safetensors_read},
    Entry{"safetensors_sharded_read", safetensors_sharded_read},
    Entry{"fuzz_read", fuzz_read},
    Entry{"gguf_read", gguf_read},
    Entry{"gguf_dequantize", gguf_dequantize},
    Entry{"gguf_quantize", gguf_quantize},
    Entry{"gguf_quantize_imatrix", gguf_quantize_imatrix},
    Entry{"gptq_unpack", gptq_unpack},
    Entry{"awq_unpack", awq_unpack},
    Entry{"compressed_tensors_pack", compressed_tensors_pack},
    Entry{"MatMulNBits", matmul_nbits},
    Entry{"MatMulInteger", matmul_integer},
    Entry{"QLinearMatMul", qlinear_matmul},
    Entry{"ConvInteger", conv_integer},
    Entry{"QLinearConv", qlinear_conv},
    Entry{"hessian", hessian},
    Entry{"column_order", column_order},
    Entry{"rtn", rtn},
    Entry{"gptq", gptq},
    Entry{"coordinate_descent", coordinate_descent},
    Entry{"refit_scales", refit_scales},
    Entry{"asymmetric_target", asymmetric_target},
    Entry{"hqq", hqq},
    Entry{"bias_correction", bias_correction},
    Entry{"awq_scale", awq_scale},
    Entry{"smoothquant", smoothquant},
    Entry{"cle", cle},
    Entry{"hadamard", hadamard},
    Entry{"adaround", adaround},
};
}  // namespace

Operator find_operator(std::string_view op) {
  for (const Entry& e : entries)
    if (e.op == op) return e.run;
  return nullptr;
}

}  // namespace conformance
