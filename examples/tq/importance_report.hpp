// SPDX-License-Identifier: MIT
#pragma once
// Files of importance: how they are named, and told of.

#include "commands.hpp"

#include <tq/store/importance_sums.hpp>
#include <tq/store/write_importance.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tool {

// True for the name of a file of importance.
[[nodiscard]] bool is_importance_name(const std::string& name);
// The form that the extension asks for. Throws: UsageError for another one.
[[nodiscard]] tq::ImportanceForm importance_form(const std::string& option, const std::string& out);

// The importance that was made of DATA, or of files that were merged.
struct ImportanceReport {
  std::vector<std::string> in;
  std::string out;
  const tq::ImportanceSums& sums;
  std::map<std::string, std::vector<std::string>> from{};  // names of activations, by weight
  std::map<std::string, std::uint64_t> left_out{};         // tokens, by weight
  std::vector<std::string> notes{};

  void print(bool json, const Talk& talk) const;
};

}  // namespace tool
