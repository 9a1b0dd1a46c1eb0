// SPDX-License-Identifier: MIT
#include "output.hpp"

#include <tq/files/utf8.hpp>

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

namespace {

// Characters on the terminal, not bytes: continuation bytes of UTF-8 do not count.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

// At most `widest` characters: of more, the first and the last with an ellipsis between them.
std::string shortened(const std::string& text) {
  constexpr std::size_t widest = 80, kept = (widest - 1) / 2;
  if (width(text) <= widest) return text;
  const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; };
  const auto first_of = [&](std::size_t character) {  // its place in bytes
    std::size_t at = 0;
    for (std::size_t seen = 0; at < text.size(); ++at)
      if (is_first(text[at]) && seen++ == character) break;
    return at;
  };
  return text.substr(0, first_of(kept)) + "\u2026" + text.substr(first_of(width(text) - kept));
}

// Of one well-formed character of UTF-8.
char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  const std::size_t length = character.size();
  char32_t code = length == 1 ? first : first & (0xffu >> (length + 1));
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

// What a terminal obeys in place of showing it.
bool is_hidden(char32_t c) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},      // control characters, soft hyphen
      {0x61c, 0x61c},   {0x200b, 0x200f}, {0x2028, 0x202e},  // directions, lines, no width
      {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
  };
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const auto& r) { return r.first <= c && c <= r.second; });
}

}  // namespace

std::vector<std::string> names_of(std::span<const tq::io::OtherMember> others) {
  std::vector<std::string> names;
  for (const tq::io::OtherMember& other : others) names.push_back(other.name);
  return names;
}

void print_others(std::span<const tq::io::OtherMember> others) {
  for (const tq::io::OtherMember& other : others)
    std::cout << "left out: " << printable(other.name) << " (" << other.reason << ")\n";
}

void print_reused(std::size_t shards, std::optional<std::size_t> reused) {
  if (reused.value_or(0) != 0)
    std::cout << *reused << " of " << shards << " shards were finished by a run before this one.\n";
}

void print_copied(const tq::io::OtherMember& other) {
  std::cout << "copied byte for byte: " << printable(other.name) << " (" << other.reason << ")\n";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(width(column.title));
}

void Table::add(const std::vector<std::string>& row) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths_[i] = std::max(widths_[i], width(row[i]));
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
    const std::size_t padding = widths_[column] - width(cell);
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

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char text[512];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
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
  return std::isfinite(value) ? rounded(value, "%.*f", digits, 1) : fixed(value, digits);
}
std::string fixed_down(double value, int digits) {
  return std::isfinite(value) ? rounded(value, "%.*f", digits, -1) : fixed(value, digits);
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

std::string printable(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const auto first = static_cast<unsigned char>(name[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const std::string_view character = std::string_view(name).substr(i, length);
    const bool shown = tq::io::is_utf8(character) && !is_hidden(code_point(character));
    if (shown) out += character;
    else out += '?';
    i += tq::io::is_utf8(character) ? length : 1;
  }
  return shortened(out);
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
