// SPDX-License-Identifier: MIT
#pragma once
// NamePatterns: regular expressions that select tensors by their names.

#include <tq/config.hpp>

#include <string>
#include <vector>

namespace tq::store {

/// Regular expressions of ECMAScript without back references: a tensor is selected if its name has
/// a match of one of `include`, or `include` is empty, and has no match of `exclude`.
struct NamePatterns {
  std::vector<std::string> include, exclude;
};

}  // namespace tq::store
