// SPDX-License-Identifier: MIT
#pragma once
// The parts of pages for a web browser: text, numbers, lines, and the look that all of them
// share.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tool::html {

// Text from a file, as printable() shows it.
[[nodiscard]] std::string escaped(const std::string& text);

// A number whose groups stay together at the end of a line.
[[nodiscard]] std::string spaced(std::string number);
[[nodiscard]] std::string grouped(std::uint64_t n);
// "0.02 %".
[[nodiscard]] std::string percent(double share);
// "21.86"; a sign where it is infinite, a dash where there is none.
[[nodiscard]] std::string decibel(double db);
// The same of bounds, which are rounded to their side.
[[nodiscard]] std::string decibel_up(double db);
[[nodiscard]] std::string decibel_down(double db);
// "1 value", "1 234 values".
[[nodiscard]] std::string plural(std::uint64_t n, const char* one, const char* more);

// For attributes of SVG: pixels, and shares of the width from 0 to 1.
[[nodiscard]] std::string px(double x);
[[nodiscard]] std::string share_of_width(double x);
// Colors that can be told apart, on light and on dark paper; after the last comes the first.
[[nodiscard]] const char* color(std::size_t i);

// From and to shares of the width, and pixels from above; `look` are more attributes.
[[nodiscard]] std::string line(double x1, double y1, double x2, double y2, const std::string& look);
[[nodiscard]] std::string text(double x, double y, const char* anchor, const std::string& content,
                               const std::string& look = "");
// The outline of columns, each one wide and as high as `up` says, in a picture of that height.
[[nodiscard]] std::string bars(std::span<const double> up, double height);

// A document that needs nothing else. `title` is text; style, body and script are what they say.
struct Document {
  std::string title, style, body;
  std::string script = "";  // empty: none
  std::string data = "";    // JSON for the script, in an element of the id "data"; empty: none
};
[[nodiscard]] std::string to_string(const Document& document);

}  // namespace tool::html
