// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/measure_gguf.hpp.

#include <tq/store/detail/measure_gguf.hpp>
#include <tq/store/measure_gguf.hpp>
#include <tq/store/stored_model.hpp>

namespace tq {

template <class Model>
TQ_API GgufMeasurement measure_gguf(const std::filesystem::path& in,
                                    const std::vector<layouts::gguf::Type>& types,
                                    const GgufOptions& options) {
  return store::detail::measure_gguf<Model>(in, types, options,
                                            store::detail::GgufErrors::measured);
}

template <class Model>
TQ_API GgufMeasurement gguf_candidates(const std::filesystem::path& in,
                                       const std::vector<layouts::gguf::Type>& types,
                                       const GgufOptions& options) {
  return store::detail::measure_gguf<Model>(in, types, options, store::detail::GgufErrors::none);
}

#ifdef TQ_FILE_BODIES
template GgufMeasurement measure_gguf<StoredModel>(const std::filesystem::path&,
                                                   const std::vector<layouts::gguf::Type>&,
                                                   const GgufOptions&);
template GgufMeasurement gguf_candidates<StoredModel>(const std::filesystem::path&,
                                                      const std::vector<layouts::gguf::Type>&,
                                                      const GgufOptions&);
#endif

}  // namespace tq
