// SPDX-License-Identifier: MIT
#pragma once
// Outputs that would replace an input.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/own_file.hpp>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace tq::store {

/// True if two names are those of one file, which need not exist.
[[nodiscard]] inline bool is_same_file(const std::filesystem::path& a,
                                       const std::filesystem::path& b) {
  std::error_code code;
  if (std::filesystem::equivalent(a, b, code)) return true;
  std::error_code no_a, no_b;  // of names that are still free
  const std::filesystem::path x = std::filesystem::weakly_canonical(a, no_a),
                              y = std::filesystem::weakly_canonical(b, no_b);
  return !no_a && !no_b && x == y;
}

/// Throws: `OptionError`, naming the option, where `out` is one of `files`. `than` is a word for
/// them.
inline void require_other_file(const std::string& option, const std::string& out,
                               const std::vector<std::filesystem::path>& files,
                               const std::string& than) {
  for (const std::filesystem::path& file : files)
    if (is_same_file(file, out))
      raise_option(option + ": expected another file than " + than + ", got \"" + out + "\"");
}

/// Throws: `OptionError`, naming the option, where `out` is the configuration of the model: a
/// config.json or quantize_config.json beside it that tq did not write.
inline void require_no_configuration(const std::string& option, const std::string& out,
                                     const ModelContents& model) {
  for (const char* const name : io::checkpoint_hint_files)
    if (const std::filesystem::path file = model.file().files().front().parent_path() / name;
        is_there(file) && !is_own(file))
      require_other_file(option, out, {file}, "the configuration of the model");
}

}  // namespace tq::store
