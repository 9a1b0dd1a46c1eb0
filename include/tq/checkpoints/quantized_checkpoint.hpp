// SPDX-License-Identifier: MIT
#pragma once
// find_quantized: which tensors of a file are the parts of weights that another program quantized.

#include <tq/checkpoints/checkpoint_format.hpp>
#include <tq/checkpoints/checkpoint_formats.hpp>
#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/checkpoints/detail/file_tensors.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/element_lists.hpp>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace tq::io {

namespace detail {

[[nodiscard]] inline bool ends_in_one_of(std::span<const std::string_view> endings,
                                         std::string_view name) {
  return std::ranges::any_of(endings, [&](std::string_view e) { return name.ends_with(e); });
}

// The rules of a list of formats.
template <class Formats>
struct FormatRules;
template <CheckpointFormat... Fs>
struct FormatRules<TypeList<Fs...>> {
  // Tensors of activations beside weights of several formats.
  static constexpr std::string_view activations[]{".scale_input", ".input_scale"};

  // Whether only parts of quantized weights have such a name.
  [[nodiscard]] static bool is_named_as_part(std::string_view name) {
    return ends_in_one_of(activations, name) || (ends_in_one_of(Fs::part_names, name) || ...);
  }
  // Whether a weight may be found by such a name.
  [[nodiscard]] static bool may_be_mark(std::string_view name) {
    return (ends_in_one_of(Fs::marks, name) || ...) || is_named_as_part(name);
  }
  // Takes the weight that a tensor is part of, of the first format that has it.
  static void find(CheckpointSearch& search, const TensorInfo& t) {
    (void)(search.is_taken(t) || ... || Fs::find(search, t));
  }
};

}  // namespace detail

/// Finds the weights of a file that other programs quantized, in `Formats`, a `TypeList` of
/// `CheckpointFormat`. Only what says a weight's shape is read (weight_shape, weight_format,
/// quant_state). A weight of which something is missing or does not fit is no weight: its parts are
/// in `left_alone`, with what was expected. Throws: what `read` throws; `errc::malformed` for
/// weights beside a configuration that is no JSON, as it says how they are stored.
template <class Formats = all_checkpoint_formats>
[[nodiscard]] QuantizedCheckpoint find_quantized(std::span<const TensorInfo> tensors,
                                                 const ReadTensor& read,
                                                 const CheckpointHints& hints = {}) {
  using Rules = detail::FormatRules<Formats>;
  const auto is_mark = [](const TensorInfo& t) { return Rules::may_be_mark(t.name); };
  if (std::ranges::none_of(tensors, is_mark)) return {};  // most models, without an index of names
  const detail::FileTensors known(tensors, read, hints);
  CheckpointSearch search(known);
  for (const TensorInfo& t : tensors) Rules::find(search, t);
  search.leave_rest(&Rules::is_named_as_part);
  QuantizedCheckpoint found = std::move(search).result();
  if (!found.weights.empty() && !hints.unreadable.empty())
    tq::detail::raise_text(errc::malformed,
                           {hints.unreadable, "; it says how quantized weights are stored"});
  return found;
}

}  // namespace tq::io
