// SPDX-License-Identifier: MIT
#pragma once
// CheckpointTensor: a weight of another program as tq holds it; and its values.

#include <tq/core/buffer.hpp>
#include <tq/core/element_lists.hpp>
#include <tq/core/scales.hpp>
#include <tq/error.hpp>
#include <tq/layouts/detail/coded_tensor.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/encoded_tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tq {

/// A weight of another program as tq holds it: an encoded tensor, and what its format has beside
/// one. Matrices are [outputs, inputs].
struct CheckpointTensor {
  EncodedTensor tensor;
  /// Column i of `tensor` is input `input_order[i]`; empty: columns are inputs. Formats whose
  /// groups are no neighbours have an order (GPTQ with desc_act).
  std::vector<std::size_t> input_order{};
  /// The values of the codes, where the file has its own; empty: those of the type.
  std::vector<float> codebook{};
  /// Values times scales, once rounded, are multiplied by these: none, one, or one for each scale.
  std::vector<float> factors{};
};

/// The elements and the scale types that weights of other programs are held in.
using checkpoint_elements = TypeList<int2, int3, int4, int5, int6, int7, int8, uint2, uint3, uint4,
                                     uint5, uint6, uint7, uint8, float8_e4m3fn, float8_e5m2,
                                     float8_e4m3fnuz, float8_e5m2fnuz, float4_e2m1fn, nf4, bnb_fp4>;
using checkpoint_scales = TypeList<float, float8_e8m0fnu, TwoLevel<float8_e4m3fn>>;

namespace detail {

[[nodiscard]] inline EncodedLayout checkpoint_layout(const EncodedTensor& tensor) {
  return encoded_layout<checkpoint_elements, checkpoint_scales>(tensor.spec, tensor.shape);
}

// Throws unless all parts of `weight` fit each other.
inline void require_checkpoint_tensor(const char* function, const CheckpointTensor& weight) {
  const EncodedTensor& t = weight.tensor;
  const EncodedLayout layout = checkpoint_layout(t);
  require_parts<checkpoint_elements, checkpoint_scales>(t, layout);
  if (weight.factors.size() > 1)
    require_size(function, "a number of factors", layout.scales.size(), weight.factors.size());
  if (!weight.codebook.empty())
    require_size(function, "a code book of every code", std::size_t{1} << layout.bits,
                 weight.codebook.size());
  const std::size_t inputs = t.shape.rank() == 0 ? 1 : t.shape[t.shape.rank() - 1];
  if (weight.input_order.empty()) return;
  require_size(function, "an input order", inputs, weight.input_order.size());
  std::vector<bool> is_there(inputs);
  for (const std::size_t i : weight.input_order) {
    if (i >= inputs || is_there[i])
      raise_expected(errc::bad_argument, function,
                     {"every input in [0, ", inputs, ") once in the input order"},
                     {i, i < inputs ? " twice" : ""});
    is_there[i] = true;
  }
}

// Calls f(parameter, first element, number of elements) for all elements that share a parameter.
// Throws: `errc::unsupported` unless they are neighbours along the last axis.
template <class F>
void for_each_parameter(const char* function, const EncodedTensor& t, F&& f) {
  const Shape block = AnyGranularity(t.spec).block(t.shape);
  if (t.shape.size() == 0) return;
  if (block.size() >= t.shape.size()) return f(std::size_t{0}, std::size_t{0}, t.shape.size());
  const std::size_t size = block[block.rank() - 1];
  if (block.size() != size)
    raise_expected(errc::unsupported, function, {"parameters of neighbours along the last axis"},
                   {to_string(t.spec)});
  for_each_block(Lines(t.shape, size), size, f);
}

// Values of the file's own code book times scales.
template <Backend B>
void decode_by_codebook(const char* function, const CheckpointTensor& weight,
                        std::span<float> out) {
  const EncodedLayout layout = checkpoint_layout(weight.tensor);
  Buffer<std::byte> codes(out.size());
  unpack_codes<B>(weight.tensor.codes.span(), codes.span(), layout);
  for_each_parameter(function, weight.tensor, [&](std::size_t p, std::size_t first, std::size_t n) {
    const float scale = weight.tensor.scales[p];
    for (std::size_t i = first; i < first + n; ++i)
      out[i] = weight.codebook[std::to_integer<std::size_t>(codes.data()[i])] * scale;
  });
}

// E5M2 has three codes of NaN for each sign, which become one value.
inline void unite_nans(std::span<float> values) {
  for (float& x : values)
    if (x != x) x = std::copysign(std::numeric_limits<float>::quiet_NaN(), x);
}

// Moves columns from their places in `order` to where the inputs are.
inline void restore_inputs(std::span<const std::size_t> order, std::span<float> values) {
  std::vector<float> row(order.size());
  for (std::size_t first = 0; first < values.size(); first += row.size()) {
    for (std::size_t i = 0; i < row.size(); ++i) row[order[i]] = values[first + i];
    std::ranges::copy(row, values.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace detail

/// The values that the format of the weight defines, row-major, with the inputs in their own order.
/// Throws: as `decode` of an encoded tensor; `errc::shape_mismatch` for a number of factors, an
/// input order or a code book that does not fit; `errc::bad_argument` for an order that is none;
/// `errc::unsupported` for a code book or factors with parameters across rows.
template <Backend B = default_backend>
[[nodiscard]] std::vector<float> decode(const CheckpointTensor& weight) {
  constexpr const char* function = "tq::decode";
  detail::require_checkpoint_tensor(function, weight);
  std::vector<float> out(weight.tensor.shape.size());
  if (!weight.codebook.empty()) detail::decode_by_codebook<B>(function, weight, out);
  else decode<checkpoint_elements, checkpoint_scales, B>(weight.tensor, std::span(out));
  if (weight.tensor.spec.type == float8_e5m2::name) detail::unite_nans(out);
  if (weight.factors.size() == 1)
    for (float& x : out) x *= weight.factors[0];
  else if (!weight.factors.empty())
    detail::for_each_parameter(function, weight.tensor,
                               [&](std::size_t p, std::size_t first, std::size_t n) {
                                 for (std::size_t i = first; i < first + n; ++i)
                                   out[i] *= weight.factors[p];
                               });
  if (!weight.input_order.empty()) detail::restore_inputs(weight.input_order, out);
  return out;
}

}  // namespace tq
