// SPDX-License-Identifier: MIT
#include "output.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string_view>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#define TOOL_IS_TERMINAL(stream) (::isatty(::fileno(stream)) != 0)
#else
#define TOOL_IS_TERMINAL(stream) false
#endif

namespace tool {

std::vector<std::string> names_of(std::span<const tq::io::OtherMember> others) {
  std::vector<std::string> names;
  for (const tq::io::OtherMember& other : others) names.push_back(other.name);
  return names;
}

std::string printable_text(const std::string& sentence) {
  std::string out;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t end = std::min(sentence.find(' ', at), sentence.size());
    out += printable(sentence.substr(at, end - at));
    if (end < sentence.size()) out += ' ';
    at = end + 1;
  }
  return out;
}

void print_others(std::span<const tq::io::OtherMember> others) {
  for (const tq::io::OtherMember& other : others)
    std::cout << "left out: " << printable(other.name) << " (" << other.reason << ")\n";
}

void print_reused(std::size_t shards, std::optional<std::size_t> reused) {
  if (reused.value_or(0) != 0)
    std::cout << *reused << " of " << shards << " shards were finished by a run before this one.\n";
}

void print_left_behind(const std::vector<std::string>& names, const std::string& in) {
  constexpr std::size_t most = 6;
  if (names.empty()) return;
  std::cout << "Not copied from " << printable(in) << ": ";
  const std::size_t shown = names.size() <= most + 1 ? names.size() : most;
  for (std::size_t i = 0; i < shown; ++i) std::cout << (i == 0 ? "" : ", ") << printable(names[i]);
  if (shown < names.size()) std::cout << " and " << names.size() - shown << " more";
  std::cout << ".\n";
}

void print_copied(const tq::io::OtherMember& other) {
  std::cout << "copied byte for byte: " << printable(other.name) << " (" << other.reason << ")\n";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(tq::io::character_count(column.title));
}

void Table::add(const std::vector<std::string>& row) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths_[i] = std::max(widths_[i], tq::io::character_count(row[i]));
    text_ += row[i];
    ends_.push_back(text_.size());
  }
}

void Table::print() const { print_rows(ends_.size() / columns_.size()); }

void Table::print_first(std::size_t most) const {
  const std::size_t rows = ends_.size() / columns_.size();
  print_rows(std::min(rows, most));
  if (rows > most)
    std::cout << "... and " << grouped(rows - most) << " rows more, which --verbose prints\n";
}

void Table::print_rows(std::size_t rows) const {
  std::string out;
  const auto add_cell = [&](std::size_t column, std::string_view cell) {
    const std::size_t padding = widths_[column] - tq::io::character_count(cell);
    if (column != 0) out += "  ";
    if (columns_[column].right) out.append(padding, ' ');
    out += cell;
    if (!columns_[column].right) out.append(padding, ' ');
    if (column + 1 != columns_.size()) return;
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
    constexpr std::size_t most = std::size_t{1} << 16;
    if (out.size() < most) return;
    std::cout << out;
    out.clear();
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) add_cell(i, columns_[i].title);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < rows * columns_.size(); ++i) {
    add_cell(i % columns_.size(), std::string_view(text_).substr(begin, ends_[i] - begin));
    begin = ends_[i];
  }
  std::cout << out;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ' ');
  return digits;
}

std::string to_string(const tq::store::NonFiniteCounts& counts) {
  return grouped(counts.nan) + "/" + grouped(counts.infinite);
}

namespace {

// Numbers of many digits are shown with an exponent.
const char* fixed_format(double value) { return std::abs(value) < 1e16 ? "%.*f" : "%.*e"; }

}  // namespace

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char text[512];
  std::snprintf(text, sizeof text, fixed_format(value), digits, value);
  return text;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return fixed(value, 0);
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

namespace {

// The number as `format` has it, or, where that is on the wrong side of the value, the next one
// with as many digits. The right side is above for `direction` 1, below for -1.
std::string rounded(double value, const char* format, int digits, int direction) {
  char text[512];
  double nudge = 0;
  for (;;) {
    std::snprintf(text, sizeof text, format, digits, value + direction * nudge);
    const double read = std::strtod(text, nullptr);
    if (direction > 0 ? read >= value : read <= value) return text;
    nudge = std::max(2 * nudge, std::max(std::abs(value) * 1e-17, 5e-324));
  }
}

}  // namespace

std::string fixed_up(double value, int digits) {
  return std::isfinite(value) ? rounded(value, fixed_format(value), digits, 1)
                              : fixed(value, digits);
}
std::string fixed_down(double value, int digits) {
  return std::isfinite(value) ? rounded(value, fixed_format(value), digits, -1)
                              : fixed(value, digits);
}
std::string short_up(double value) {
  return std::isfinite(value) ? rounded(value, "%.*g", 4, 1) : fixed(value, 0);
}
std::string short_down(double value) {
  return std::isfinite(value) ? rounded(value, "%.*g", 4, -1) : fixed(value, 0);
}

std::string exact_number(double value) {
  if (!std::isfinite(value)) return fixed(value, 0);
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

double saved_percent(std::uint64_t before, std::uint64_t after) {
  return before == 0 ? 0.0
                     : 100.0 * (1.0 - static_cast<double>(after) / static_cast<double>(before));
}

void put_number(tq::io::Json& object, const char* key, double value) {
  const bool finite = std::isfinite(value);
  object[key] = finite ? tq::io::Json(value) : tq::io::Json();
  if (!finite) object["nonfinite"][key] = fixed(value, 0);
}

tq::io::Json to_json(const tq::ErrorMetrics& m) {
  tq::io::Json out;
  put_number(out, "mse", m.mse);
  put_number(out, "mae", m.mae);
  put_number(out, "max_abs", m.max_abs);
  put_number(out, "sqnr_db", m.sqnr_db);
  put_number(out, "cosine", m.cosine);
  return out;
}

void print_json(const tq::io::Json& json) {
  const bool escaped = TOOL_IS_TERMINAL(stdout);  // names come from files
  std::cout << json.dump(2, ' ', escaped, tq::io::Json::error_handler_t::replace) << '\n';
}

}  // namespace tool
