// SPDX-License-Identifier: MIT
#pragma once
// WeightAxes: which axes of a weight are outputs and inputs, and the granularity that follows.

#include <tq/bodies.hpp>
#include <tq/model/detail/name_parts.hpp>
#include <tq/model/model_sizes.hpp>
#include <tq/model/node_kind.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tq {

/// The order of the axes of a weight.
enum class WeightAxes : std::uint8_t {
  outputs_first,  ///< [outputs, inputs] of products, [outputs, inputs, ...] of filters, tables
  inputs_first,   ///< [inputs, outputs, ...] of transposed convolutions
  stacked,        ///< [..., outputs, inputs], a stack of matrices such as fused experts
  stacked_inputs_first,  ///< [..., inputs, outputs]
};

namespace detail {

enum class StackOrder { open, outputs_first, inputs_first };

// The order of a stack's axes by the width of the model: an expert has as many inputs, or outputs.
[[nodiscard]] TQ_API StackOrder stack_order(const NameParts& name,
                                            std::span<const std::size_t> extents,
                                            const ModelSizes& sizes);

}  // namespace detail

/// The axes of a tensor of that name, kind and shape. Experts that are stacked with their inputs
/// first are told by the width of the model or, where that leaves it open, by what the sizes say.
[[nodiscard]] TQ_API WeightAxes weight_axes(std::string_view name, NodeKind kind,
                                            std::span<const std::size_t> extents,
                                            const ModelSizes& sizes = {});

/// `spec` for a tensor of that shape and those axes. Where it names no axis, a parameter belongs to
/// an output of every matrix of a stack, and groups lie along inputs. A scalar gets one parameter.
/// Every default of a granularity comes from here.
[[nodiscard]] TQ_API QuantSpec spec_for(QuantSpec spec, std::span<const std::size_t> extents,
                                        WeightAxes axes);

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/weight_axes.ipp>
#endif
