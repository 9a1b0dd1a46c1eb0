// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/write_gguf.hpp.

#include <tq/store/detail/write_gguf.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/write_gguf.hpp>

namespace tq {

template <class Model>
TQ_API GgufReport write_gguf(const std::filesystem::path& out, const std::filesystem::path& in,
                             const GgufOptions& options) {
  return store::detail::write_gguf<Model>(out, in, options);
}

#ifdef TQ_FILE_BODIES
template GgufReport write_gguf<StoredModel>(const std::filesystem::path&,
                                            const std::filesystem::path&, const GgufOptions&);
#endif

}  // namespace tq
