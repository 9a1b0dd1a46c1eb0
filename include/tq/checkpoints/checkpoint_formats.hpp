// SPDX-License-Identifier: MIT
#pragma once
// all_checkpoint_formats: the formats of other programs that tq reads.

#include <tq/checkpoints/awq.hpp>
#include <tq/checkpoints/bitsandbytes_4bit.hpp>
#include <tq/checkpoints/bitsandbytes_8bit.hpp>
#include <tq/checkpoints/checkpoint_format.hpp>
#include <tq/checkpoints/compressed_tensors.hpp>
#include <tq/checkpoints/gptq.hpp>
#include <tq/checkpoints/int8_scaled.hpp>
#include <tq/checkpoints/mlx.hpp>
#include <tq/checkpoints/mxfp4.hpp>
#include <tq/checkpoints/nvfp4.hpp>
#include <tq/checkpoints/scaled_float8.hpp>
#include <tq/core/element_lists.hpp>

namespace tq::io {

/// Every `CheckpointFormat` of tq. Where a tensor may be part of weights of several, the first one
/// of the list has it.
using all_checkpoint_formats =
    TypeList<checkpoints::Awq, checkpoints::Gptq, checkpoints::CompressedTensors,
             checkpoints::Bitsandbytes4Bit, checkpoints::Bitsandbytes8Bit, checkpoints::Mxfp4,
             checkpoints::Nvfp4, checkpoints::Int8Scaled, checkpoints::ScaledFloat8,
             checkpoints::Mlx>;

}  // namespace tq::io
