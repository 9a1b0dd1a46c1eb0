// SPDX-License-Identifier: MIT
#pragma once
// Formats of other programs, made of the options of tq quantize.

#include "commands.hpp"

#include <tq/checkpoints/format/awq.hpp>
#include <tq/checkpoints/format/bitsandbytes.hpp>
#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/fp8.hpp>
#include <tq/checkpoints/format/gptq.hpp>
#include <tq/checkpoints/format/mlx.hpp>
#include <tq/checkpoints/format/modelopt.hpp>
#include <tq/checkpoints/format/mxfp4.hpp>

#include <cstddef>
#include <string>

namespace tool {

// The number in the name of a type: 4 of "int4".
[[nodiscard]] inline int bits_of(const std::string& type) { return std::stoi(type.substr(3)); }

// Calls f(format) with the format of a choice that is resolved.
template <class F>
auto with_format(const CheckpointChoice& choice, F&& f) {
  const std::string& type = choice.type;
  const std::size_t groups = choice.group_size.value_or(128);
  const bool is_integer = type.starts_with("int");
  const bool is_symmetric = choice.is_symmetric.value_or(true);
  if (choice.format == "gptq") return f(tq::format::gptq{bits_of(type), groups, is_symmetric});
  if (choice.format == "awq")
    return f(tq::format::awq{groups, choice.is_symmetric.value_or(false)});
  if (choice.format == "bitsandbytes")
    return f(tq::format::bitsandbytes{type.substr(0, type.find('-')), type.ends_with("-double")});
  if (choice.format == "fp8") return f(tq::format::fp8{});
  if (choice.format == "mxfp4") return f(tq::format::mxfp4{});
  if (choice.format == "modelopt") return f(tq::format::modelopt{});
  if (choice.format == "mlx")
    return is_integer ? f(tq::format::mlx{"affine", bits_of(type), choice.group_size.value_or(64)})
                      : f(tq::format::mlx{.mode = type});
  return f(tq::format::compressed_tensors{type, groups, is_symmetric});
}

}  // namespace tool
