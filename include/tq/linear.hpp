// SPDX-License-Identifier: MIT
#pragma once
// Layers that multiply integers or weights of few bits, and the products below them.

#include <tq/core/as_tensor.hpp>
#include <tq/linear/activation.hpp>
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/conv2d.hpp>
#include <tq/linear/conv_geometry.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/grouped_weights.hpp>
#include <tq/linear/grouped_weights_bytes.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/matmul_int16.hpp>
#include <tq/linear/matmul_requantized.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/linear/output/clamp.hpp>
#include <tq/linear/output/code_output.hpp>
#include <tq/linear/output/fixed_multiplier.hpp>
#include <tq/linear/output/float_output.hpp>
#include <tq/linear/output/float_product.hpp>
#include <tq/linear/output/output_stage.hpp>
#include <tq/linear/output/requantize_double.hpp>
#include <tq/linear/output/requantize_float.hpp>
#include <tq/linear/output/requantize_single.hpp>
#include <tq/linear/output/requantize_torch.hpp>
#include <tq/linear/output/requantize_up.hpp>
#include <tq/linear/output/requantizer.hpp>
#include <tq/linear/output_stage.hpp>
#include <tq/linear/packed_int16_weights.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/linear/packed_weights_bytes.hpp>
#include <tq/linear/quantized_conv1d.hpp>
#include <tq/linear/quantized_conv2d.hpp>
#include <tq/linear/quantized_embedding.hpp>
#include <tq/linear/quantized_linear.hpp>
