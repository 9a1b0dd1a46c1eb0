// SPDX-License-Identifier: MIT
#pragma once
// dequantize_model: a quantized model in the types that it had.

#include <tq/bodies.hpp>
#include <tq/store/conversion_report.hpp>
#include <tq/store/convert_options.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/stored_model_fwd.hpp>

#include <filesystem>

namespace tq {

/// Writes a model that tq or another program quantized back in the types it had, as `tq dequantize`
/// does. `in`, `out` and `Model` are as those of `convert_model`; of a model of one tensor, `out`
/// can be a .npy file. Tensors of a GGUF file that are in no blocks are copied, all of them where
/// it has no others. Throws: as `convert_model`; `errc::bad_argument` for another model that nobody
/// quantized; `errc::unsupported` for weights that cannot be read, unless `skip_unreadable`.
template <class Model = StoredModel>
TQ_API ConversionReport dequantize_model(const std::filesystem::path& in,
                                         const std::filesystem::path& out,
                                         const ConvertOptions& options = {});

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/dequantize_model.ipp>
#endif
