// SPDX-License-Identifier: MIT
#include "output_files.hpp"

#include "commands.hpp"

#include <tq/files/atomic_file.hpp>
#include <tq/files/temporary_file.hpp>
#include <tq/store/own_file.hpp>

namespace tool {

void remove_leftovers(const std::filesystem::path& out) {
  static_cast<void>(tq::io::remove_abandoned_files(out.parent_path()));
}

void require_place(const std::filesystem::path& out, bool overwrite) {
  remove_leftovers(out);
  tq::store::require_free_place(out, overwrite);
  const tq::io::AtomicFile probe(out, tq::io::Links::replaced);  // never committed
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

}  // namespace tool
