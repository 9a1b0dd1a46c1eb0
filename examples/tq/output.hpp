// SPDX-License-Identifier: MIT
#pragma once
// Aligned tables, numbers and JSON for the terminal.

#include <tq/containers/other_member.hpp>
#include <tq/files/printable.hpp>
#include <tq/json/json.hpp>
#include <tq/ops/compare.hpp>
#include <tq/store/nonfinite_counts.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tool {

using tq::io::printable;  // every name from a file reaches the terminal through it

// A sentence with names from files for a terminal: its words as `printable` shows them.
[[nodiscard]] std::string printable_text(const std::string& sentence);

// The names of what a file holds beside tensors; and a line for each that is left out, with what it
// is.
[[nodiscard]] std::vector<std::string> names_of(std::span<const tq::io::OtherMember> others);
void print_others(std::span<const tq::io::OtherMember> others);
// That a tensor was copied although its type is not read.
void print_copied(const tq::io::OtherMember& other);
// Files of the folder of the input that are not copied, in one line, if there are any.
void print_left_behind(const std::vector<std::string>& names, const std::string& in);
// How many of the shards were there already, if any.
void print_reused(std::size_t shards, std::optional<std::size_t> reused);

// Rows of a table on the terminal; more than that are summed up, or left out, without --verbose.
inline constexpr std::size_t most_rows = 50;

// Rows of text, columns aligned; columns that hold numbers to the right.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;
  };
  explicit Table(std::vector<Column> columns);
  // Precondition: a cell for every column.
  void add(const std::vector<std::string>& row);
  void print() const;
  // At most so many rows, and below them how many are left out.
  void print_first(std::size_t most) const;

 private:
  void print_rows(std::size_t rows) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;  // of the columns so far
  // Text of all cells, row by row, and where each ends: a table may have millions of cells.
  std::string text_;
  std::vector<std::size_t> ends_;
};

// "1 234 567".
[[nodiscard]] std::string grouped(std::uint64_t number);
[[nodiscard]] std::string fixed(double value, int digits);
// Four significant digits.
[[nodiscard]] std::string short_number(double value);
// Bounds, rounded so that what the text says is true: `_up` is never below
// the value, `_down` never above. With so many digits behind the point, or with four significant
// digits.
[[nodiscard]] std::string fixed_up(double value, int digits);
[[nodiscard]] std::string fixed_down(double value, int digits);
[[nodiscard]] std::string short_up(double value);
[[nodiscard]] std::string short_down(double value);
// In the fewest digits that are read back as this number: what somebody has typed.
[[nodiscard]] std::string exact_number(double value);
// "2/1", as the tables have it under "NaN/Inf".
[[nodiscard]] std::string to_string(const tq::store::NonFiniteCounts& counts);

// 1 - after / before, in percent; nothing saved where there was nothing.
[[nodiscard]] double saved_percent(std::uint64_t before, std::uint64_t after);

// Sets a member of an object. What JSON has no number for becomes null, and a member of the object
// "nonfinite" beside it says what it is: "inf", "-inf" or "nan".
void put_number(tq::io::Json& object, const char* key, double value);
[[nodiscard]] tq::io::Json to_json(const tq::ErrorMetrics& metrics);
void print_json(const tq::io::Json& json);

}  // namespace tool
