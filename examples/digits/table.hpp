// SPDX-License-Identifier: MIT
#pragma once
// Text in aligned columns.

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Rows of text; the first `left` columns are aligned to the left, the others to the right.
class Table {
 public:
  Table(std::vector<std::string> header, std::size_t left)
      : rows_{std::move(header)}, left_(left) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// A line between rows.
  void rule() { rows_.emplace_back(); }

  friend std::ostream& operator<<(std::ostream& out, const Table& table) {
    std::vector<std::size_t> width(table.rows_[0].size());
    for (const auto& row : table.rows_)
      for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    std::size_t total = 2 * (width.size() - 1);
    for (const std::size_t w : width) total += w;
    for (const auto& row : table.rows_) {
      if (row.empty()) out << std::string(total, '-');
      for (std::size_t i = 0; i < row.size(); ++i)
        out << (i == 0 ? "" : "  ") << (i < table.left_ ? std::left : std::right)
            << std::setw(static_cast<int>(width[i])) << row[i];
      out << '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t left_;
};

inline std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}
