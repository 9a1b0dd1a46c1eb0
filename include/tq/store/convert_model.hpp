// SPDX-License-Identifier: MIT
#pragma once
// convert_model: a whole model with its weights in fewer bits.

#include <tq/bodies.hpp>
#include <tq/model/quant_config.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/store/conversion_report.hpp>
#include <tq/store/convert_options.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/stored_model_fwd.hpp>

#include <filesystem>

namespace tq {

/// Quantizes the weights of a model, tensor by tensor, as `tq quantize` does, byte for byte.
/// `in` is a .safetensors, .npz or .npy file, an .index.json, or a folder with a model. `out` is a
/// .safetensors file; or an .index.json or a folder, for a shard for each file of `in`. All shards
/// appear together: shards that an ended run has finished wait in the folder "tq-unfinished", and
/// the same call continues the run. Memory is that of the largest tensor and 64 MiB.
///
///     tq::convert_model("model/", "model-int4/", tq::QuantSpec{.type = "int4"}, {.jobs = 4});
///
/// `Model` is a `BasicStoredModel`: kernels are compiled for its types only, and a tensor of
/// another scheme is an error. `options.algorithm` chooses the codes of matrices
/// [outputs, inputs], with the Hessian of the name of the tensor or its module. Throws:
/// `store::OptionError` for patterns that are no regular expressions, and for an `out` of another
/// kind of name or that would replace an input; `errc::no_data` for a weight without a Hessian,
/// unless a fallback is named; `errc::bad_argument` for a model that tq quantized already, patterns
/// that match nothing, and an existing output, unless `overwrite`; `errc::unsupported` and
/// `errc::not_finite`, naming the tensor; `errc::malformed`; `errc::io_failure`.
template <class Model = StoredModel>
TQ_API ConversionReport convert_model(const std::filesystem::path& in,
                                      const std::filesystem::path& out, const QuantSpec& spec,
                                      const ConvertOptions& options = {});

/// The same with a scheme for each tensor. Throws: also `errc::bad_argument` for a name or a
/// pattern of the configuration that no tensor has.
template <class Model = StoredModel>
TQ_API ConversionReport convert_model(const std::filesystem::path& in,
                                      const std::filesystem::path& out, const QuantConfig& config,
                                      const ConvertOptions& options = {});

/// The same with a configuration that is read from a JSON file. Throws: also as
/// `io::read_quant_config`.
template <class Model = StoredModel>
TQ_API ConversionReport convert_model(const std::filesystem::path& in,
                                      const std::filesystem::path& out,
                                      const std::filesystem::path& config_file,
                                      const ConvertOptions& options = {});

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/convert_model.ipp>
#endif
