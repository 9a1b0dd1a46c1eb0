// SPDX-License-Identifier: MIT
#pragma once
// A table of many tensors: a row for all that are stored in one way, with the worst of them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// One tensor of such a table.
struct KindRow {
  std::string kind;  // how it is stored
  std::string name;
  std::uint64_t elements = 0, bytes = 0;
  std::optional<double> sqnr_db{};  // nothing where nothing was lost
  std::optional<double> max_error{};
};

// Sums tensors up by kind, and prints the sums in the order in which kinds come.
class KindTable {
 public:
  // `kind`: the title of the first column.
  explicit KindTable(std::string kind) : kind_(std::move(kind)) {}
  void add(const KindRow& row);
  // With a note that --verbose prints every tensor.
  void print() const;

 private:
  struct Sum {
    KindRow all;  // its name is that of the tensor of the lowest SQNR
    std::size_t tensors = 0;
  };
  std::string kind_;
  std::vector<Sum> sums_;
  std::size_t tensors_ = 0;
};

}  // namespace tool
