// SPDX-License-Identifier: MIT
#pragma once
// --include and --exclude: which tensors, by regular expressions over their names.

#include <tq/model/node_kind.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace tool {

struct NamePatterns {
  std::vector<std::string> include, exclude;  // repeatable options
};

// The patterns of ECMAScript without back references, matched in time and memory that no pattern
// and no name can blow up.
class NameFilter {
 public:
  // Throws: UsageError where a pattern is none.
  explicit NameFilter(const NamePatterns& patterns);
  NameFilter(const NameFilter&) = delete;
  NameFilter& operator=(const NameFilter&) = delete;
  ~NameFilter();

  // Why a tensor is left out, or empty. Throws: errc::unsupported for a name that is too long to
  // match.
  [[nodiscard]] const std::string& left_out(const std::string& name);
  // Whether an --include is the exact name of a tensor, or of its module: it is then quantized even
  // if it is of a kind that stays in float.
  [[nodiscard]] bool asks_for(const std::string& name) const;
  // Takes a name into account that is no tensor's but may be excluded.
  void note(const std::string& name);
  // Throws: errc::bad_argument for an option that matched none of the names so far.
  void require_matches() const;

 private:
  struct Pattern;
  [[nodiscard]] std::string judged(const std::string& name);

  std::vector<Pattern> include_, exclude_;
  std::vector<std::string> names_;                     // the patterns of --include that are names
  std::unordered_map<std::string, std::string> seen_;  // what `left_out` said
};

// Whether one of the names of kinds is that of `kind`.
[[nodiscard]] bool asks_for(const std::vector<std::string>& kinds, tq::NodeKind kind);

}  // namespace tool
