// SPDX-License-Identifier: MIT
#pragma once
// Formats of other programs, made of the options of tq quantize.

#include "checkpoint_choice.hpp"
#include "commands.hpp"

#include <tq/checkpoints/format/awq.hpp>
#include <tq/checkpoints/format/bitsandbytes.hpp>
#include <tq/checkpoints/format/compressed_tensors.hpp>
#include <tq/checkpoints/format/fp8.hpp>
#include <tq/checkpoints/format/gptq.hpp>
#include <tq/checkpoints/format/mixture.hpp>
#include <tq/checkpoints/format/mlx.hpp>
#include <tq/checkpoints/format/modelopt.hpp>
#include <tq/checkpoints/format/mxfp4.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace tool {

// The number in the name of a type: 4 of "int4".
[[nodiscard]] inline int bits_of(const std::string& type) { return std::stoi(type.substr(3)); }

// The schemes of compressed-tensors and of MLX, of a choice that is resolved.
inline void set_scheme(tq::format::compressed_tensors& to, const CheckpointChoice& choice) {
  to = {choice.type, choice.group_size.value_or(128), choice.is_symmetric.value_or(true)};
}
inline void set_scheme(tq::format::mlx& to, const CheckpointChoice& choice) {
  if (!choice.type.starts_with("int")) to = {.mode = choice.type};
  else to = {"affine", bits_of(choice.type), choice.group_size.value_or(64)};
}

// Named schemes of a format, as F.
template <class F>
std::map<std::string, F> schemes_as(const std::string& format,
                                    const std::map<std::string, std::string>& names) {
  std::map<std::string, F> out;
  for (const auto& [key, name] : names)
    set_scheme(out[key], scheme_choice(format, name, "--types"));
  return out;
}

// Calls f(format) with the format of a choice that is resolved.
template <class F>
auto with_format(const CheckpointChoice& choice, F&& f) {
  using tq::format::compressed_tensors, tq::format::mlx, tq::format::mixture;
  if (!choice.schemes.empty()) {
    if (choice.format == "mlx")
      return f(mixture<mlx>{schemes_as<mlx>(choice.format, choice.schemes)});
    return f(
        mixture<compressed_tensors>{schemes_as<compressed_tensors>(choice.format, choice.schemes)});
  }
  const std::string& type = choice.type;
  const std::size_t groups = choice.group_size.value_or(128);
  const bool is_symmetric = choice.is_symmetric.value_or(true);
  if (choice.format == "gptq") return f(tq::format::gptq{bits_of(type), groups, is_symmetric});
  if (choice.format == "awq")
    return f(tq::format::awq{groups, choice.is_symmetric.value_or(false)});
  if (choice.format == "bitsandbytes")
    return f(tq::format::bitsandbytes{type.substr(0, type.find('-')), type.ends_with("-double")});
  if (choice.format == "fp8") return f(tq::format::fp8{});
  if (choice.format == "mxfp4") return f(tq::format::mxfp4{});
  if (choice.format == "modelopt") return f(tq::format::modelopt{type});
  if (choice.format == "mlx") {
    mlx format;
    set_scheme(format, choice);
    return f(format);
  }
  compressed_tensors format;
  set_scheme(format, choice);
  return f(format);
}

}  // namespace tool
