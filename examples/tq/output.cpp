// SPDX-License-Identifier: MIT
#include "output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#define TOOL_IS_TERMINAL(stream) (::isatty(::fileno(stream)) != 0)
#else
#define TOOL_IS_TERMINAL(stream) false
#endif

namespace tool {

namespace {

// Characters on the terminal, not bytes: continuation bytes of UTF-8 do not count.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

}  // namespace

void Table::print() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(width(columns_[i].title));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], width(row[i]));
  }
  const auto line = [&](const auto& cell) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& value = cell(i);
      const std::string padding(widths[i] - width(value), ' ');
      text += (i == 0 ? "" : "  ") + (columns_[i].right ? padding + value : value + padding);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    std::cout << text << '\n';
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
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

std::string printable(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    out += u < 0x20 || u == 0x7f ? '?' : c;
  }
  return out;
}

double saved_percent(std::uint64_t before, std::uint64_t after) {
  return before == 0 ? 0.0
                     : 100.0 * (1.0 - static_cast<double>(after) / static_cast<double>(before));
}

tq::io::Json number_or_null(double value) {
  return std::isfinite(value) ? tq::io::Json(value) : tq::io::Json();
}

tq::io::Json to_json(const tq::ErrorMetrics& m) {
  return {{"mse", number_or_null(m.mse)},
          {"mae", number_or_null(m.mae)},
          {"max_abs", number_or_null(m.max_abs)},
          {"sqnr_db", number_or_null(m.sqnr_db)},
          {"cosine", number_or_null(m.cosine)}};
}

void print_json(const tq::io::Json& json) {
  std::cout << json.dump(2, ' ', false, tq::io::Json::error_handler_t::replace) << '\n';
}

Progress::Progress(const char* what, std::uint64_t total)
    : what_(what), total_(total), visible_(TOOL_IS_TERMINAL(stderr)) {}

Progress::~Progress() {
  if (visible_ && drawn_ >= 0) std::fprintf(stderr, "\r\x1b[K");
}

void Progress::advance(std::uint64_t amount) {
  done_ += amount;
  if (!visible_ || total_ == 0) return;
  const int percent =
      static_cast<int>(100.0 * static_cast<double>(done_) / static_cast<double>(total_));
  if (percent == drawn_) return;
  drawn_ = percent;
  draw();
}

void Progress::draw() const {
  const auto filled = static_cast<std::size_t>(std::clamp(drawn_ * 30 / 100, 0, 30));
  const std::string bar = std::string(filled, '#') + std::string(30 - filled, '.');
  std::fprintf(stderr, "\r%s [%s] %3d %%", what_, bar.c_str(), drawn_);
  std::fflush(stderr);
}

}  // namespace tool
