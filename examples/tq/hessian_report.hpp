// SPDX-License-Identifier: MIT
#pragma once
// The Hessians of a file, as a table or a document.

#include "commands.hpp"
#include "output.hpp"

#include <tq/json/json.hpp>
#include <tq/ptq/hessian.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tool {

class HessianReport {
 public:
  HessianReport();

  void add(const std::string& name, const tq::Hessian& hessian);
  // `in` and `out` are the names of files.
  void print(const std::vector<std::string>& in, const std::string& out, bool json,
             const Talk& talk) const;

 private:
  Table table_;
  tq::io::Json list_ = tq::io::Json::array();
};

}  // namespace tool
