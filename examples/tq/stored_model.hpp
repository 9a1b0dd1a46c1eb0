// SPDX-License-Identifier: MIT
#pragma once
// What the tool adds to the reading of models (tq/store): its options in messages, and its rules
// for what is quantized.

#include "common/encoding.hpp"
#include "schemes.hpp"

#include <tq/store/error_context.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/pieces.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_tensor.hpp>

#include <new>
#include <stdexcept>
#include <string>

namespace tool {

using tq::StoredModel;
using tq::StoredTensor;
using tq::store::Described;
using tq::store::Encoding;
using tq::store::encoding_of;
using tq::store::for_each_piece;
using tq::store::for_each_raw_piece;
using tq::store::grown;
using tq::store::is_quantizable;
using tq::store::metadata_key;
using tq::store::metadata_text;
using tq::store::model_file;
using tq::store::naming;
using tq::store::part_bytes;
using tq::store::PartKind;
using tq::store::PartPlace;
using tq::store::piece_size;
using tq::store::raw_declaration;
using tq::store::StoredPart;
using tq::store::to_extents;
using tq::store::to_shape;

// What to do about weights that cannot be read.
inline constexpr const char* skip_hint = "; --skip-unreadable copies its parts as they are";

// Why a tensor is not to be quantized, or empty; weights that another program quantized are only
// with `requantize`.
[[nodiscard]] std::string no_weight(const StoredTensor& tensor, bool requantize);

// Why a tensor is left as it is unless it is asked for, or empty: "1-D" of one that is less than a
// matrix, "kind head" of a kind that configurations leave in float.
[[nodiscard]] std::string too_few_axes(const StoredTensor& tensor);
[[nodiscard]] std::string kept_kind(const StoredTensor& tensor);
// Why a tensor is not quantized in a scheme that takes more bits than it has, or empty.
[[nodiscard]] std::string growth(const StoredTensor& tensor, const tq::EncodedLayout& layout);

// The scheme of a tensor where `spec` names no axis, by what the tensor is; a scalar is quantized
// per tensor.
[[nodiscard]] tq::QuantSpec spec_for(const tq::QuantSpec& spec, const StoredTensor& tensor);

// Calls f(), which decodes; an error that is not the disk's says what goes on without the values.
template <class F>
decltype(auto) hinting_skip(F&& f) {
  try {
    return f();
  } catch (const tq::error& e) {
    if (e.code() == tq::errc::io_failure) throw;
    throw tq::error(e.code(), std::string(e.what()) + skip_hint);
  }
}

// Throws: errc::bad_argument where tq quantized a tensor of the file.
void require_unquantized(const StoredModel& model, const std::string& file);

// Throws: errc::unsupported, that memory does not suffice for the tensor.
[[noreturn]] void out_of_memory(const StoredTensor& tensor);

// Calls f(); where memory runs out, the error says for which tensor.
template <class F>
decltype(auto) in_memory(const StoredTensor& tensor, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    out_of_memory(tensor);
  } catch (const std::length_error&) {
    out_of_memory(tensor);
  }
}

}  // namespace tool

// Compiled once, in stored_model.cpp.
extern template class tq::BasicStoredModel<>;
