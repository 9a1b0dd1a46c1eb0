// SPDX-License-Identifier: MIT
#pragma once
// What the tool prints: aligned tables, numbers, JSON, and a progress bar where somebody watches.

#include <tq/containers/other_member.hpp>
#include <tq/json/json.hpp>
#include <tq/ops/compare.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tool {

// The names of what a file holds beside tensors; and a line for each that is left out, with what it
// is.
[[nodiscard]] std::vector<std::string> names_of(std::span<const tq::io::OtherMember> others);
void print_others(std::span<const tq::io::OtherMember> others);
// That a tensor was copied although its type is not read.
void print_copied(const tq::io::OtherMember& other);
// How many of the shards were there already, if any.
void print_reused(std::size_t shards, std::optional<std::size_t> reused);

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

 private:
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
// Names come from files: control characters, and those that change the direction of text or have
// no width, would reach the terminal; what is longer than a line is shortened in the middle.
[[nodiscard]] std::string printable(const std::string& name);

// 1 - after / before, in percent; nothing saved where there was nothing.
[[nodiscard]] double saved_percent(std::uint64_t before, std::uint64_t after);

// Sets a member of an object. What JSON has no number for becomes null, and a member of the object
// "nonfinite" beside it says what it is: "inf", "-inf" or "nan".
void put_number(tq::io::Json& object, const char* key, double value);
[[nodiscard]] tq::io::Json to_json(const tq::ErrorMetrics& metrics);
void print_json(const tq::io::Json& json);

// A bar on standard error, if that is a terminal; otherwise nothing.
class Progress {
 public:
  Progress(const char* what, std::uint64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void advance(std::uint64_t amount);

 private:
  void draw() const;
  const char* what_;
  std::uint64_t total_, done_ = 0;
  int drawn_ = -1;
  bool visible_;
};

}  // namespace tool
