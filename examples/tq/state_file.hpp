// SPDX-License-Identifier: MIT
#pragma once
// Files of what observers saw, and files that are written together or not at all.
//
//   {"version": 1, "tensors": [
//   {"accumulator": "histogram", "name": "relu1", ...}
//   ]}
// a tensor a line, as tq::io::observer_to_json has them, by name.

#include "observers.hpp"

#include <tq/files/atomic_file.hpp>

#include <map>
#include <string>
#include <vector>

namespace tool {

// By tensor name.
using States = std::map<std::string, AnyObserver>;

[[nodiscard]] std::string states_text(const States& states);
// Throws: tq::error, naming the file and the tensor.
[[nodiscard]] States read_states(const std::string& path);

// Texts on their way to files.
class TextFiles {
 public:
  // Opens a file; until `commit` it has another name. Throws: as require_free_place; tq::error
  // where the folder cannot be written to.
  void open(const std::string& path, bool overwrite);
  // The text of the i-th file.
  void write(std::size_t i, std::string_view text);
  // Everything is on the disk before the first file gets its name; files are marked as tq's own.
  void commit();

 private:
  std::vector<tq::io::AtomicFile> files_;
};

}  // namespace tool
