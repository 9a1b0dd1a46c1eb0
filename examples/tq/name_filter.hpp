// SPDX-License-Identifier: MIT
#pragma once
// --include and --exclude: which tensors, by regular expressions over their names.

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
  // Whether tensors are chosen by --include: those of kinds that stay in float are then meant, too.
  [[nodiscard]] bool chooses() const { return !include_.empty(); }
  // Throws: errc::bad_argument for an --include that matched none of the names so far.
  void require_matches() const;

 private:
  struct Pattern;
  [[nodiscard]] std::string judged(const std::string& name);

  std::vector<Pattern> include_, exclude_;
  std::unordered_map<std::string, std::string> seen_;  // what `left_out` said
};

}  // namespace tool
