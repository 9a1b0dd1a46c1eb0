// SPDX-License-Identifier: MIT
#pragma once
// find_quantized: which tensors of a file are the parts of weights that another program quantized.

#include <tq/checkpoints/bitsandbytes.hpp>
#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/compressed_tensors.hpp>
#include <tq/checkpoints/detail/search.hpp>
#include <tq/checkpoints/gptq.hpp>
#include <tq/checkpoints/nvfp4.hpp>
#include <tq/checkpoints/scaled.hpp>
#include <tq/containers/tensor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace tq::io {

namespace detail {

// Takes the weight that a tensor is part of; false where it is part of none of the format.
using TakeWeight = bool (*)(CheckpointSearch&, const TensorInfo&);

// All formats; of a tensor that may be part of several the first counts.
inline constexpr std::array<TakeWeight, 7> checkpoint_formats{
    take_gptq_or_awq,    take_compressed_tensors, take_bitsandbytes_4bit, take_bitsandbytes_8bit,
    take_modelopt_nvfp4, take_int8_scaled,        take_scaled_float8,
};

template <std::size_t N>
[[nodiscard]] bool ends_in_one_of(const std::array<std::string_view, N>& endings,
                                  std::string_view name) {
  return std::ranges::any_of(endings, [&](std::string_view e) { return name.ends_with(e); });
}

// Whether only parts of quantized weights have such a name.
[[nodiscard]] inline bool is_named_as_part(std::string_view name) {
  constexpr std::array<std::string_view, 16> endings{
      "_scale_inv",        ".qzeros",       ".absmax",      ".nested_absmax",
      ".quant_map",        ".SCB",          "weight_scale", ".nested_quant_map",
      "weight_scale_2",    "weight_shape",  "weight_g_idx", "weight_global_scale",
      "weight_zero_point", ".scale_weight", ".scale_input", ".input_scale"};
  return ends_in_one_of(endings, name);
}

// Whether a part may have such a name that every weight of a format has one of.
[[nodiscard]] inline bool may_be_mark(std::string_view name) {
  constexpr std::array<std::string_view, 6> endings{"qweight",  "weight_packed", "SCB",
                                                    "_scale_2", "scale",         "scale_weight"};
  return ends_in_one_of(endings, name) || is_named_as_part(name);
}

}  // namespace detail

/// Finds the weights of a file that other programs quantized (`CheckpointFormat`). Only what says a
/// weight's shape is read (weight_shape, weight_format, quant_state). A weight of which something
/// is missing or does not fit is no weight: its parts are in `left_alone`, with what was expected.
/// Throws: what `read` throws.
[[nodiscard]] inline QuantizedCheckpoint find_quantized(std::span<const TensorInfo> tensors,
                                                        const ReadTensor& read,
                                                        const CheckpointHints& hints = {}) {
  const auto is_mark = [](const TensorInfo& t) { return detail::may_be_mark(t.name); };
  if (std::ranges::none_of(tensors, is_mark)) return {};  // most models, without an index of names
  const detail::CheckpointTensors known(tensors, read, hints);
  detail::CheckpointSearch search(known);
  for (const TensorInfo& t : tensors)
    for (const detail::TakeWeight take : detail::checkpoint_formats)
      if (search.is_taken(t) || take(search, t)) break;
  search.leave_rest(detail::is_named_as_part);
  return std::move(search).result();
}

}  // namespace tq::io
