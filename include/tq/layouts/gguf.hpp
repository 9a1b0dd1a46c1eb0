// SPDX-License-Identifier: MIT
#pragma once
// Blocks of GGUF files: types, decoders, quantizers, and quantized tensors.

#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/pack.hpp>
#include <tq/layouts/gguf/params_of.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/layouts/gguf/unpack.hpp>
