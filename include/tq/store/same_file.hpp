// SPDX-License-Identifier: MIT
#pragma once
// Outputs that would replace an input.

#include <tq/bodies.hpp>
#include <tq/store/model_contents.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace tq::store {

/// True if two names are those of one file, which need not exist.
[[nodiscard]] TQ_API bool is_same_file(const std::filesystem::path& a,
                                       const std::filesystem::path& b);

/// Throws: `OptionError`, naming the option, where `out` is one of `files`. `than` is a word for
/// them.
TQ_API void require_other_file(const std::string& option, const std::string& out,
                               const std::vector<std::filesystem::path>& files,
                               const std::string& than);

/// Throws: `OptionError`, naming the option, where `out` is the configuration of the model: a
/// config.json or quantize_config.json beside it that tq did not write.
TQ_API void require_no_configuration(const std::string& option, const std::string& out,
                                     const ModelContents& model);

}  // namespace tq::store

#ifndef TQ_FILE_LIBRARY
#include <tq/store/same_file.ipp>
#endif
