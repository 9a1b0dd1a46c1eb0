// SPDX-License-Identifier: MIT
#pragma once
// encode_stored: quantizes a weight by scales that its format can store.

#include <tq/checkpoints/weight_coder.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/element_lists.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/encoded_parameters.hpp>
#include <tq/scheme/detail/params_fit.hpp>
#include <tq/scheme/detail/seen_ranges.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/piece_coder.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tq::detail {

/// The elements and the scale types that weights are written in.
using written_elements = TypeList<uint2, uint3, uint4, uint5, uint6, uint8, int8, float8_e4m3fn,
                                  float4_e2m1fn, nf4, bnb_fp4>;
using written_scales = TypeList<float, float8_e8m0fnu, DoubleQuantized>;

// Rounds scales to those that `dtype` stores, none of them 0. Throws: `errc::bad_scale` for a scale
// that is too large.
inline void round_scales(std::span<float> scales, io::DType dtype) {
  const float least = dtype == io::DType::f16 ? 0x1p-24f : 0x1p-126f;
  if (dtype == io::DType::f16)
    for (std::size_t i = 0; i < scales.size(); ++i)
      if (scales[i] > float16::format::max_finite)
        raise_expected(errc::bad_scale, "tq::format", {"scales of at most 65504, which F16 holds"},
                       {scales[i], " for parameter ", i});
  io::round_to(scales, dtype);
  for (float& s : scales) s = std::max(s, least);
}

// The parameters of those ranges, of one block or of all, that store(parameters, ranges) has
// changed: a tensor without codes. Zero points are those of the changed scales.
template <class Store>
[[nodiscard]] EncodedTensor stored_fit(const QuantSpec& spec, std::span<const Range> ranges,
                                       Store&& store) {
  EncodedTensor out;
  out.spec = spec;
  fit_parameters<written_elements, written_scales>(out, ranges);
  StoredParameters parameters = stored_parameters<written_scales>(out);
  store(parameters, ranges);
  if (const auto zero_points = params_fit<written_elements>(spec).zero_points)
    parameters.zero_points = zero_points(ranges, Scales<float>(parameters.scales.factors)).values();
  set_parameters<written_elements, written_scales>(out, std::move(parameters));
  return out;
}

// Quantizes `x` as `spec` says, by scales that store(parameters, ranges) has changed; zero points
// are those of the changed scales. prepare(ranges) may widen the ranges before. `coder` chooses
// ranges and codes, unless it is null. Throws: as `encode`; as the coder.
template <Backend B, class Store, class Prepare>
[[nodiscard]] EncodedTensor encode_stored(const ConstTensorView& x, const QuantSpec& spec,
                                          const io::WeightCoder* coder, Store&& store,
                                          Prepare&& prepare) {
  PieceCoder<written_elements, written_scales, B> pieces;
  pieces.start(spec, x.shape());
  SeenRanges seen;
  seen.start(pieces.layout().scales.size());
  if (x.size() != 0) seen.template add<B>(x, AnyGranularity(spec).block(x.shape()), Serial{});
  require_all_finite(seen.not_finite(), x.size());
  const std::span<Range> ranges = seen.finish();
  const auto parameters = [&](std::span<const Range> some) {
    std::vector<Range> prepared(some.begin(), some.end());
    prepare(std::span<Range>(prepared));
    return stored_fit(spec, prepared, store);
  };
  if (coder != nullptr) return coder->encode(x, spec, ranges, parameters);
  pieces.restore(stored_parameters<written_scales>(parameters(ranges)));
  Buffer<std::byte> codes(pieces.layout().code_bytes);
  pieces.encode(x, codes.span());
  EncodedTensor out = std::move(pieces).parameters();
  out.codes = std::move(codes);
  return out;
}

// The same with scales of that type.
template <Backend B>
[[nodiscard]] EncodedTensor encode_stored(const ConstTensorView& x, const QuantSpec& spec,
                                          io::DType scales,
                                          const io::WeightCoder* coder = nullptr) {
  return encode_stored<B>(
      x, spec, coder,
      [&](StoredParameters& p, std::span<const Range>) { round_scales(p.scales.factors, scales); },
      [](std::span<Range>) {});
}

}  // namespace tq::detail
