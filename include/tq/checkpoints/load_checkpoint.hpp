// SPDX-License-Identifier: MIT
#pragma once
// load_checkpoint: a weight that another program quantized, as tq holds it.

#include <tq/checkpoints/checkpoint_formats.hpp>
#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/checkpoints/checkpoint_weight.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/visit.hpp>

#include <type_traits>

namespace tq::io {

/// A weight that `find_quantized` found, with its codes as they are: what `decode`,
/// `grouped_weights_of` and `byte_weights_of` take. Matrices of GPTQ and AWQ, which files hold
/// transposed, are [outputs, inputs]. `Formats`: as of `find_quantized`.
/// Throws: what `read` and the readers of the format (`tq::layouts::gptq`, ...) throw:
/// `errc::bad_scale` for scales that cannot be meant; `errc::unsupported` for symmetric GPTQ
/// weights that are plainly of the other version; `errc::unknown_name` for a format that is not
/// listed.
template <Backend B = default_backend, class Formats = all_checkpoint_formats>
[[nodiscard]] CheckpointTensor load_checkpoint(const CheckpointWeight& weight,
                                               const ReadTensor& read) {
  tq::detail::require_known("tq::io::load_checkpoint", "format", Formats{}, weight.format);
  return tq::detail::with_name<CheckpointTensor>(weight.format, Formats{},
                                                 [&]<CheckpointFormat F>(std::type_identity<F>) {
                                                   return F::load(CheckpointParts<B>(weight, read));
                                                 });
}

}  // namespace tq::io
