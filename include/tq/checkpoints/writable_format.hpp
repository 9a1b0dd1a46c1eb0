// SPDX-License-Identifier: MIT
#pragma once
// WritableFormat: how weights are written for another program, as one struct of options.

#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/linear_weight.hpp>
#include <tq/checkpoints/written_model.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/json/json_text.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// A format of another program that weights can be written in: an aggregate of its options. Models:
/// those of namespace `tq::format`. Members:
///     static name, metadata        "gptq"; the "format" of a safetensors file ("pt" or "mlx")
///     static takes_experts_whole   whether a weight may have `experts`
///     static takes_head            optional: whether engines load a head (lm_head) in it
///     require_valid()              throws for options that no engine runs, with the engine's limit
///     problem(layer, shards)       empty where the layer fits an engine with so many shards of
///                                  tensor parallelism; else the reason, and its fused set stays
///                                  float
///     needs_set_abs_max()          whether a fused set has one scale
///     needs_inputs_abs_max(layer)  optional: whether a part holds a scale of activations
///     declarations(layer)          names, types and shapes of the parts, in their order
///     quantize(layer, values)      the parts of float32 values [outputs, inputs]
///                                  with an optional last argument, a WeightCoder* that chooses
///                                  the codes unless it is null, in formats that take algorithms
///     rows_at_once(layer)          optional: the fewest outputs that `quantize` takes as a band of
///                                  rows, a layer with `band_of`, whose parts follow one another
///     stack_of(module, type)       optional: the module under which engines take the weights of
///                                  all experts as one, in a model of that type, or empty; the
///                                  parts of experts then follow one another in tensors
///                                  [experts, ...]
///     save(layer, weight)          the parts of codes that exist, as `load` of the reader has them
///     quantization_config(model)   the value of that key of config.json
///     more_config(config)          optional: other keys of config.json, from the value of the
///                                  first; names that end in ".json" are files
///     modules()                    optional: the modules that options name, each a layer of the
///                                  model
///     notes()                      sentences for people about engines with limits
template <class F>
concept WritableFormat = requires(const F& f, const LinearWeight& layer, ConstTensorView values,
                                  const CheckpointTensor& weight, const WrittenModel& model) {
  { F::name } -> std::convertible_to<std::string_view>;
  { F::metadata } -> std::convertible_to<std::string_view>;
  { F::takes_experts_whole } -> std::convertible_to<bool>;
  f.require_valid();
  { f.problem(layer, std::size_t{1}) } -> std::same_as<std::string>;
  { f.needs_set_abs_max() } -> std::same_as<bool>;
  { f.declarations(layer) } -> std::same_as<std::vector<TensorDecl>>;
  { f.quantize(layer, values) } -> std::same_as<std::vector<Tensor>>;
  { f.save(layer, weight) } -> std::same_as<std::vector<Tensor>>;
  { f.quantization_config(model) } -> std::same_as<Json>;
  { f.notes() } -> std::same_as<std::vector<std::string>>;
};

}  // namespace tq::io
