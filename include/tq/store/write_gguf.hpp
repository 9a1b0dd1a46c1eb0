// SPDX-License-Identifier: MIT
#pragma once
// write_gguf: a whole model as a GGUF file, as llama.cpp loads it.

#include <tq/bodies.hpp>
#include <tq/store/gguf_options.hpp>
#include <tq/store/gguf_report.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/stored_model_fwd.hpp>

#include <filesystem>

namespace tq {

/// Writes a GGUF file with weights in blocks, as `tq quantize IN OUT.gguf` does. `in` is a .gguf
/// file, whose keys and tensors keep their order; or a folder or file of a model of Hugging Face
/// with a config.json beside it, whose names a mapping turns into those of GGUF. A mix says which
/// weight gets which type; rows that are no whole blocks of it get a type with smaller blocks, or
/// float16. Norms, biases and routers stay as they are (of a model: in float32).
///
///     tq::write_gguf("llama-q4_k_m.gguf", "llama/", {.type = "q4_k_m"});
///
/// The file appears at the end, under its name. With a `shard_size` it becomes parts, which ranks
/// share, and of which a run that was ended leaves those that are finished to the next with the
/// same options; all appear at the end, the first of them last. Memory is a band of rows for each
/// of `options.jobs`. `Model` is as that of `convert_model`. Throws: `store::OptionError` for an
/// `out` of another name or that is `in`, for patterns that are no regular expressions, for more
/// than 65535 parts, and for several ranks without a `shard_size`;
/// `errc::unknown_name` for a type that no mix has; `errc::unsupported` for models and tensors that
/// the mapping does not know, and for types whose blocks are not understood; `errc::bad_argument`
/// for weights that are quantized, unless `requantize`, for patterns that match nothing, for
/// magnitudes above those of the type, and, unless `overwrite`, for a file in the place of the
/// output and for parts of an unfinished run with other options; `errc::not_finite`, naming the tensor; `errc::shape_mismatch`; `errc::malformed`;
/// `errc::io_failure`.
template <class Model = StoredModel>
TQ_API GgufReport write_gguf(const std::filesystem::path& out, const std::filesystem::path& in,
                             const GgufOptions& options = {});

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/write_gguf.ipp>
#endif
