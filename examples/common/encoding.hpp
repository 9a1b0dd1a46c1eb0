// SPDX-License-Identifier: MIT
#pragma once
// Quantizing by the name of a scheme: what tq instantiates for every type and every kind of scale
// is compiled once, in encoding.cpp, for all example programs.

#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/piece_coder.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <span>
#include <vector>

namespace examples {

/// The types and kinds of scales that a scheme may name here: all that tq has.
using Types = tq::all_elements;
using Scales = tq::all_scales;

/// As tq::encoded_layout.
[[nodiscard]] tq::EncodedLayout layout_of(const tq::QuantSpec& spec, const tq::Shape& shape);
/// As tq::encode.
[[nodiscard]] tq::EncodedTensor encoded(tq::ConstTensorView x, const tq::QuantSpec& spec,
                                        tq::NonFinite non_finite = tq::NonFinite::raise);
/// The parameters of the scheme for these ranges, one each: an encoded tensor without codes.
[[nodiscard]] tq::EncodedTensor fitted(const tq::QuantSpec& spec,
                                       std::span<const tq::Range> ranges);
/// As tq::stored_parameters.
[[nodiscard]] tq::StoredParameters stored(const tq::EncodedTensor& tensor);
/// As tq::decode.
void decode(const tq::EncodedTensor& tensor, std::span<float> out);

/// Encodes and decodes by pieces.
using PieceCoder = tq::PieceCoder<Types, Scales>;

}  // namespace examples

extern template class tq::PieceCoder<examples::Types, examples::Scales>;
extern template tq::EncodedLayout tq::encoded_layout<examples::Types, examples::Scales>(
    const tq::QuantSpec& spec, const tq::Shape& shape);
