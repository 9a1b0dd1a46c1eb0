// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/same_file.hpp.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/own_file.hpp>
#include <tq/store/same_file.hpp>

#include <system_error>

namespace tq::store {

TQ_API bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code code;
  if (std::filesystem::equivalent(a, b, code)) return true;
  std::error_code no_a, no_b;  // of names that are still free
  const std::filesystem::path x = std::filesystem::weakly_canonical(a, no_a),
                              y = std::filesystem::weakly_canonical(b, no_b);
  return !no_a && !no_b && x == y;
}

TQ_API void require_other_file(const std::string& option, const std::string& out,
                               const std::vector<std::filesystem::path>& files,
                               const std::string& than) {
  for (const std::filesystem::path& file : files)
    if (is_same_file(file, out))
      raise_option(option + ": expected another file than " + than + ", got \"" + out + "\"");
}

TQ_API void require_no_configuration(const std::string& option, const std::string& out,
                                     const ModelContents& model) {
  for (const char* const name : io::checkpoint_hint_files)
    if (const std::filesystem::path file = model.file().files().front().parent_path() / name;
        is_there(file) && !is_own(file))
      require_other_file(option, out, {file}, "the configuration of the model");
}

}  // namespace tq::store
