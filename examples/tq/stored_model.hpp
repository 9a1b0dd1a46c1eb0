// SPDX-License-Identifier: MIT
#pragma once
// Reading of models (tq/store), compiled once for all commands.

#include "common/encoding.hpp"
#include "schemes.hpp"

#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/in_memory.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/part_bytes.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_tensor.hpp>

namespace tool {

using tq::StoredModel;
using tq::StoredTensor;
using tq::store::Encoding;
using tq::store::for_each_piece;
using tq::store::grown;
using tq::store::in_memory;
using tq::store::is_quantizable;
using tq::store::naming;
using tq::store::part_bytes;
using tq::store::PartKind;
using tq::store::piece_size;
using tq::store::require_unquantized;
using tq::store::StoredPart;
using tq::store::to_extents;
using tq::store::to_shape;

// The scheme of a tensor where `spec` names no axis, by what the tensor is; a scalar is quantized
// per tensor.
[[nodiscard]] inline tq::QuantSpec spec_for(const tq::QuantSpec& spec, const StoredTensor& tensor) {
  return tq::spec_for(spec, tensor.shape, tensor.axes);
}

}  // namespace tool

// Compiled once, in stored_model.cpp.
extern template class tq::BasicStoredModel<>;
