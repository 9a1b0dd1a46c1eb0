// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/dequantize_model.hpp.

#include <tq/store/dequantize_model.hpp>
#include <tq/store/detail/convert.hpp>
#include <tq/store/stored_model.hpp>

namespace tq {

template <class Model>
TQ_API ConversionReport dequantize_model(const std::filesystem::path& in,
                                         const std::filesystem::path& out,
                                         const ConvertOptions& options) {
  return store::detail::deconvert<Model>(in.string(), out.string(), options);
}

#ifdef TQ_FILE_BODIES
template ConversionReport dequantize_model<StoredModel>(const std::filesystem::path&,
                                                        const std::filesystem::path&,
                                                        const ConvertOptions&);
#endif

}  // namespace tq
