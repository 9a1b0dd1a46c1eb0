// SPDX-License-Identifier: MIT
#pragma once
// Files: tensor containers, JSON documents and checkpoints of other programs. Needs nlohmann_json
// and zlib.

#include <tq/checkpoints/bitsandbytes.hpp>
#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/compressed_tensors.hpp>
#include <tq/checkpoints/decode_checkpoint.hpp>
#include <tq/checkpoints/gptq.hpp>
#include <tq/checkpoints/nvfp4.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>
#include <tq/checkpoints/scaled.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/npz.hpp>
#include <tq/containers/npz_writer.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/containers/raw_tensor.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/containers/safetensors_header.hpp>
#include <tq/containers/safetensors_index.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/shard.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/little_endian.hpp>
#include <tq/files/name_index.hpp>
#include <tq/files/read_ahead.hpp>
#include <tq/files/temporary_file.hpp>
#include <tq/files/text_file.hpp>
#include <tq/files/utf8.hpp>
#include <tq/files/write_gather.hpp>
#include <tq/files/zip.hpp>
#include <tq/files/zip_member.hpp>
#include <tq/json/any_observer_json.hpp>
#include <tq/json/fake_quantize_json.hpp>
#include <tq/json/json.hpp>
#include <tq/json/json_text.hpp>
#include <tq/json/observer_json.hpp>
#include <tq/json/precision_json.hpp>
#include <tq/json/quant_config_json.hpp>
#include <tq/json/quantizer_json.hpp>
#include <tq/json/summary_json.hpp>
