// SPDX-License-Identifier: MIT
#pragma once
// encode and decode: tensors to and from schemes that are values.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/driver/tuning.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/sweep.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/detail/code_kernels.hpp>
#include <tq/scheme/detail/encoded_codes.hpp>
#include <tq/scheme/detail/encoded_parameters.hpp>
#include <tq/scheme/detail/params_fit.hpp>
#include <tq/scheme/detail/piece_values.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/non_finite.hpp>
#include <tq/scheme/piece_coder.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tq {

/// Quantizes `x` as `spec` says, each parameter block by its smallest and largest finite value (or
/// the mean magnitude of its finite values, see `QuantSpec::calibrator`); a block without one gets
/// the parameters of a block of zeros. The same bits as `calibrate` and `quantize` of the static
/// types. Halves and float64 are taken as float32, without a copy of them. Throws: as
/// `encoded_layout`; `errc::not_finite` for NaN or infinity under `NonFinite::raise`;
/// `errc::bad_scale` where a scale, as it would be stored, is none that the type can have.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial, Readable X = ConstTensorView>
[[nodiscard]] EncodedTensor encode(const X& x, const QuantSpec& spec,
                                   NonFinite non_finite = NonFinite::raise,
                                   const E& executor = {}) {
  const auto in = detail::read(x);
  const auto& view = in.view();
  PieceCoder<Types, ScaleTypes, B> coder;
  coder.start(spec, view.shape());
  coder.observe(view, executor);
  coder.fit(non_finite);
  Buffer<std::byte> codes(coder.layout().code_bytes);
  coder.encode(view, codes.span(), executor);
  EncodedTensor out = std::move(coder).parameters();
  out.codes = std::move(codes);
  return out;
}

/// Writes the real values to `out`, row-major. Every part is checked first, so that a damaged file
/// cannot do harm. Throws: as `encoded_layout`; `errc::shape_mismatch` for a part of the wrong
/// size; `errc::bad_scale`; `errc::bad_zero_point`; `errc::not_finite` for an offset;
/// `errc::bad_argument` for a code the symmetry does not use, and for parameters that are not
/// stored as the scheme says.
template <class Types = all_integers, class ScaleTypes = TypeList<float>,
          Backend B = default_backend, Executor E = Serial>
void decode(const EncodedTensor& tensor, std::span<float> out, const E& executor = {}) {
  const Shape& shape = tensor.shape;
  const EncodedLayout layout = encoded_layout<Types, ScaleTypes>(tensor.spec, shape);
  const AnyGranularity granularity(tensor.spec);
  detail::require_parts<Types, ScaleTypes>(tensor, layout);
  detail::require_size("tq::decode", "an output", shape.size(), out.size());

  const auto dequantize = detail::dequantize_kernel_of<Types, B>(tensor.spec);
  const auto params = detail::driver_parameters<Types, ScaleTypes, B>(tensor);
  const Shape block = granularity.block(shape);
  if (layout.bits < 8) {
    const bool streams = shape.size() * (1 + sizeof(float)) > driver::this_machine().stream_from;
    return detail::packed_to_values<B>(tensor, layout, {shape, block, params, streams},
                                       dequantize.get(), out, executor);
  }
  detail::require_codes(tensor.codes.span(), tensor, layout);
  const Strides strides = row_major_strides(shape);
  detail::sweep_tensor(dequantize.get(), {tensor.codes.data(), strides, out.data(), strides}, shape,
                       block, params, executor);
}

/// The real values, row-major. Throws: as above.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
[[nodiscard]] std::vector<float> decode(const EncodedTensor& tensor) {
  // Checked before memory is asked for: a damaged shape could want any amount of it.
  detail::require_parts<Types, ScaleTypes>(
      tensor, encoded_layout<Types, ScaleTypes>(tensor.spec, tensor.shape));
  std::vector<float> out(tensor.shape.size());
  decode<Types, ScaleTypes>(tensor, std::span(out));
  return out;
}

/// The parameters of the scheme for these ranges, one for each parameter block: an encoded tensor
/// without a shape and without codes. Throws: as `visit`.
template <class Types = all_integers, class ScaleTypes = TypeList<float>>
[[nodiscard]] EncodedTensor fitted_parameters(const QuantSpec& spec,
                                              std::span<const Range> ranges) {
  EncodedTensor out;
  out.spec = spec;
  detail::fit_parameters<Types, ScaleTypes>(out, ranges);
  return out;
}

}  // namespace tq
