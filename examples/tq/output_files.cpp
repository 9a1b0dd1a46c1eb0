// SPDX-License-Identifier: MIT
#include "output_files.hpp"

#include "commands.hpp"
#include "own_file.hpp"

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/files/temporary_file.hpp>

#include <system_error>

namespace tool {

namespace fs = std::filesystem;

void remove_leftovers(const fs::path& out) {
  static_cast<void>(tq::io::remove_abandoned_files(out.parent_path()));
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code code;
  if (fs::equivalent(a, b, code)) return true;
  std::error_code no_a, no_b;  // of names that are still free
  const fs::path x = fs::weakly_canonical(a, no_a), y = fs::weakly_canonical(b, no_b);
  return !no_a && !no_b && x == y;
}

void require_extension(const std::string& option, const std::string& out,
                       const std::vector<std::string>& extensions) {
  std::string known;
  for (const std::string& e : extensions) {
    if (out.ends_with(e)) return;
    known += (known.empty() ? "" : " or ") + e;
  }
  throw UsageError(option + ": expected a name ending in " + known + ", got \"" + out + "\"");
}

void require_other_file(const std::string& option, const std::string& out,
                        const std::vector<fs::path>& files, const std::string& than) {
  for (const fs::path& file : files)
    if (is_same_file(file, out))
      throw UsageError(option + ": expected another file than " + than + ", got \"" + out + "\"");
}

void require_no_configuration(const std::string& option, const std::string& out,
                              const StoredModel& model) {
  for (const char* const name : tq::io::checkpoint_hint_files)
    if (const fs::path file = model.files().front().parent_path() / name;
        is_there(file) && !is_own(file))
      require_other_file(option, out, {file}, "the configuration of the model");
}

}  // namespace tool
