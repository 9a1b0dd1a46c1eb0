// SPDX-License-Identifier: MIT
#pragma once
// A table that reads well as it is, and as Markdown.

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Rows of text; the first column is aligned to the left, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  friend std::ostream& operator<<(std::ostream& out, const Table& table) {
    std::vector<std::size_t> width(table.rows_[0].size());
    for (const auto& row : table.rows_)
      for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    for (std::size_t r = 0; r < table.rows_.size(); ++r) {
      for (std::size_t i = 0; i < width.size(); ++i)
        out << "| " << (i == 0 ? std::left : std::right) << std::setw(static_cast<int>(width[i]))
            << table.rows_[r][i] << ' ';
      out << "|\n";
      if (r > 0) continue;
      for (std::size_t i = 0; i < width.size(); ++i)
        out << '|' << std::string(width[i] + 1, '-') << (i == 0 ? '-' : ':');
      out << "|\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

inline std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}
