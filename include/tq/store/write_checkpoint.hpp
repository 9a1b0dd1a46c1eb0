// SPDX-License-Identifier: MIT
#pragma once
// write_checkpoint: a whole model in the format of another program, as engines load it.

#include <tq/bodies.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/checkpoint_report.hpp>
#include <tq/store/detail/erased_format.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/stored_model_fwd.hpp>

#include <filesystem>
#include <memory>

namespace tq {

namespace store::detail {

template <class Model>
[[nodiscard]] TQ_API CheckpointReport
write_checkpoint(const std::filesystem::path& out, const std::filesystem::path& in,
                 const std::shared_ptr<const AnyFormat>& format, const CheckpointOptions& options);

}  // namespace store::detail

/// Writes a folder that vLLM, SGLang, transformers or MLX load, as `tq quantize --format` does.
/// `in` is the folder of a model of Hugging Face: a config.json, a .safetensors file or an index
/// with shards, tokenizers and the rest. The weights of linear layers are quantized in `format`;
/// embeddings, heads, norms, routers and towers that see or hear stay as they are, and so do layers
/// that do not fit the format, with all that engines fuse them with. config.json gets the keys of
/// the format and keeps all other text; the other files are copied byte for byte, but for weights
/// and configurations of quantization. Weights that another program quantized are decoded one by
/// one, and quantized anew.
///
///     tq::write_checkpoint("llama-int4/", "llama/", tq::format::compressed_tensors{.scheme =
///     "int4"});
///
/// The folder appears as a whole: shards that an ended run has finished wait in "tq-unfinished",
/// and the same call continues the run. At the end the readers of tq read it back. Memory is that
/// of the largest tensor and 64 MiB, where the format allows it.
///
/// Throws: `store::OptionError` for patterns that are no regular expressions and for an `out` that
/// is no folder or that of `in`; `errc::unsupported` for options that no engine runs, for a model
/// without a layer that fits, and for weights that cannot be read; `errc::bad_argument` for a
/// folder without config.json, for a model that tq quantized, and for files in the place of the
/// output, unless `overwrite`; `errc::not_finite`, naming the tensor; `errc::no_data` for a layer
/// without a Hessian or activations that the options ask for, and `errc::shape_mismatch` for
/// activations of another width; `errc::malformed`; `errc::io_failure`.
template <class Model = StoredModel, io::WritableFormat F>
CheckpointReport write_checkpoint(const std::filesystem::path& out, const std::filesystem::path& in,
                                  const F& format, const CheckpointOptions& options = {}) {
  return store::detail::write_checkpoint<Model>(out, in, store::detail::erased(format), options);
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/write_checkpoint.ipp>
#endif
