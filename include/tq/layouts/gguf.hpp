// SPDX-License-Identifier: MIT
#pragma once
// Blocks of GGUF files: types, decoders and quantizers.

#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/layouts/gguf/type.hpp>
