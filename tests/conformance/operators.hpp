// SPDX-License-Identifier: MIT
#pragma once
// The operators that can be run. A new one is a function declared here and a line in registry.cpp.

#include "case.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace conformance {

/// Thrown where tq has not what a case needs yet: the case counts as skipped.
struct Skip {
  std::string reason;
};

/// Thrown for a result outside its tolerance: the case fails. Any other exception fails it too.
struct Failure {
  std::string output;
  Difference difference;
};

/// Fails the case when `verdict` holds a difference of `output`.
inline void require(const std::string& output, Verdict verdict) {
  if (verdict) throw Failure{output, *std::move(verdict)};
}

/// Runs a case and returns; or throws `Skip` or `Failure`.
using Operator = void (*)(const Case&);

/// The function of an operator, null when it is not built yet.
[[nodiscard]] Operator find_operator(std::string_view op);

void quantize_linear(const Case& c);
void dequantize_linear(const Case& c);
void dynamic_quantize_linear(const Case& c);

void torch_quantize_per_tensor(const Case& c);
void torch_quantize_per_channel(const Case& c);
void torch_fake_quantize_per_tensor(const Case& c);
void torch_fake_quantize_per_channel(const Case& c);
void torch_fake_quantize_learnable_per_tensor(const Case& c);
void torch_fake_quantize_learnable_per_channel(const Case& c);

void torch_observer(const Case& c);
void torch_to(const Case& c);

void decode(const Case& c);
void encode(const Case& c);
void cast(const Case& c);
void mx_quantize(const Case& c);
void nvfp4_quantize(const Case& c);
void codebook(const Case& c);
void bnb_quantize_4bit(const Case& c);
void bnb_quantize_blockwise8(const Case& c);
void bnb_double_quant(const Case& c);

void npy_read(const Case& c);
void npz_read(const Case& c);
void safetensors_read(const Case& c);
void safetensors_sharded_read(const Case& c);
void fuzz_read(const Case& c);

void gguf_read(const Case& c);
void gguf_dequantize(const Case& c);
void gguf_quantize(const Case& c);
void gguf_quantize_imatrix(const Case& c);

void gptq_unpack(const Case& c);
void awq_unpack(const Case& c);
void compressed_tensors_pack(const Case& c);
void matmul_nbits(const Case& c);

void matmul_integer(const Case& c);
void qlinear_matmul(const Case& c);
void conv_integer(const Case& c);
void qlinear_conv(const Case& c);

void hessian(const Case& c);
void column_order(const Case& c);
void rtn(const Case& c);
void gptq(const Case& c);
void coordinate_descent(const Case& c);
void refit_scales(const Case& c);
void asymmetric_target(const Case& c);
void hqq(const Case& c);
void bias_correction(const Case& c);
void awq_scale(const Case& c);
void smoothquant(const Case& c);
void cle(const Case& c);
void hadamard(const Case& c);
void adaround(const Case& c);

}  // namespace conformance
