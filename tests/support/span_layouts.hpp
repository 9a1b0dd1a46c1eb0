// SPDX-License-Identifier: MIT
#pragma once
// Spans of any layout, drawn: rows and neighbours that lie turned, reversed, apart or on one
// another, and parameters in groups of any size.

#include <tq/driver/span.hpp>
#include <tq/driver/table.hpp>
#include <tq/driver/tuning.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "support/inputs.hpp"

namespace layouts {

using Arch = tq::arch::native;
using tq::driver::Tuning, tq::driver::whole_row;
inline constexpr std::size_t block = tq::driver::block<Arch>;

// A span, its parameters, and memory that fits: nothing follows the last element of the source,
// guards surround the target.
struct Layout {
  tq::driver::Span span;
  std::size_t group, first, row_step, step;
  std::ptrdiff_t source_at = 0, target_at = 0;
  std::size_t source_size = 0, target_size = 0;

  [[nodiscard]] std::size_t parameter(std::size_t r, std::size_t i) const {
    return first + r * row_step + (group == whole_row ? 0 : i / group) * step;
  }
  [[nodiscard]] std::ptrdiff_t source(std::size_t r, std::size_t i) const {
    return at(source_at, r, span.source_stride, i, span.source_step);
  }
  [[nodiscard]] std::ptrdiff_t target(std::size_t r, std::size_t i) const {
    return at(target_at, r, span.target_stride, i, span.target_step);
  }
  [[nodiscard]] std::string text() const {
    std::string t;
    for (const auto n :
         {static_cast<std::ptrdiff_t>(span.length), static_cast<std::ptrdiff_t>(span.count),
          span.source_stride, span.source_step, span.target_stride, span.target_step,
          static_cast<std::ptrdiff_t>(group), static_cast<std::ptrdiff_t>(row_step),
          static_cast<std::ptrdiff_t>(step), source_at, target_at})
      t += std::to_string(n) + " ";
    return t;
  }

 private:
  static std::ptrdiff_t at(std::ptrdiff_t origin, std::size_t r, std::ptrdiff_t row, std::size_t i,
                           std::ptrdiff_t column) {
    return origin + static_cast<std::ptrdiff_t>(r) * row + static_cast<std::ptrdiff_t>(i) * column;
  }
};

// Strides of rows and neighbours that do not overlap, in either order and direction; `shares`: or
// rows that are all the same.
inline void draw_strides(std::size_t length, std::size_t count, bool shares, inputs::Random& r,
                         std::ptrdiff_t& row, std::ptrdiff_t& column) {
  const auto n = static_cast<std::ptrdiff_t>(length), m = static_cast<std::ptrdiff_t>(count);
  const std::ptrdiff_t gap = r.chance(50) ? 0 : r.between(1, 9);
  switch (r.below(4)) {
    case 0: row = 1, column = m + gap; break;      // turned
    case 1: row = 2 * n + gap, column = 2; break;  // every other one
    default: row = n + gap, column = 1; break;
  }
  if (shares && r.chance(10)) (r.chance(50) ? row : column) = 0;
  if (r.chance(15)) row = -row;
  if (r.chance(15)) column = -column;
}

inline Layout draw(inputs::Random& r) {
  constexpr std::size_t lengths[] = {1,  3,  8,   15,  16,  31,  32,  33,   63,
                                     64, 65, 100, 127, 128, 200, 257, 1000, 1024};
  constexpr std::size_t groups[] = {1,
                                    2,
                                    5,
                                    8,
                                    16,
                                    24,
                                    32,
                                    48,
                                    64,
                                    100,
                                    128,
                                    256,
                                    2 * block - 1,
                                    3 * block + 2,
                                    16 * block,
                                    16 * block + 3};
  Layout l;
  tq::driver::Span& s = l.span;
  s.length = lengths[r.below(std::size(lengths))];
  s.count = r.chance(30) ? 1 : 1 + r.below(s.length > 300 ? 5 : 150);
  if (r.chance(10)) s.length = 5000, s.count = 2;
  draw_strides(s.length, s.count, true, r, s.source_stride, s.source_step);
  draw_strides(s.length, s.count, false, r, s.target_stride, s.target_step);
  if (r.chance(30))
    s.source_step = s.target_step = 1,
    s.source_stride = s.target_stride = static_cast<std::ptrdiff_t>(s.length);
  l.group = r.chance(30) ? whole_row : groups[r.below(std::size(groups))];
  l.step = r.chance(70) ? 1 : r.below(4);
  const std::size_t in_row = l.group == whole_row ? 1 : (s.length + l.group - 1) / l.group;
  l.row_step = r.chance(40) ? in_row * l.step : r.chance(50) ? 0 : r.below(5);
  l.first = r.below(3);
  const auto reach = [&](std::ptrdiff_t row, std::ptrdiff_t column, std::ptrdiff_t& origin) {
    const std::ptrdiff_t a = row * static_cast<std::ptrdiff_t>(s.count - 1),
                         b = column * static_cast<std::ptrdiff_t>(s.length - 1);
    origin -= std::min<std::ptrdiff_t>(a, 0) + std::min<std::ptrdiff_t>(b, 0);
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(a, 0) +
                                    std::max<std::ptrdiff_t>(b, 0) + origin) +
           1;
  };
  l.source_at = static_cast<std::ptrdiff_t>(r.below(9));
  l.target_at = 64 + (r.chance(50) ? 0 : static_cast<std::ptrdiff_t>(r.below(64)));
  l.source_size = reach(s.source_stride, s.source_step, l.source_at);
  l.target_size = reach(s.target_stride, s.target_step, l.target_at) + 64;
  return l;
}

// Rows, or groups, of `length` elements that have a parameter each or share one, in each of the
// forms that they reach loops in.
inline constexpr int forms_of_rows = 6;
inline Layout rows_of(std::size_t length, int form) {
  constexpr std::size_t count = 5;
  Layout l{.span = {}, .group = whole_row, .first = 1, .row_step = 1, .step = 1};
  tq::driver::Span& s = l.span;
  s.length = length;
  s.count = count;
  std::size_t gap = 3;
  switch (form) {
    case 0: break;                  // apart
    case 1: l.row_step = 0; break;  // apart, and they share it
    case 2: gap = 0; break;         // side by side
    case 3:                         // groups of one row
      s.length = length * count;
      s.count = 1;
      l.group = length;
      break;
    case 4:  // groups of several rows, with a part of one at the end
      s.length = 2 * length + length / 2;
      l.group = length;
      l.row_step = 3;
      break;
    default:  // a parameter an element, the same ones in every row
      gap = 0;
      l.group = 1;
      l.row_step = 0;
  }
  s.source_stride = s.target_stride = static_cast<std::ptrdiff_t>(s.length + gap);
  l.target_at = 64;
  l.source_size = (s.length + gap) * (s.count - 1) + s.length;
  l.target_size = l.source_size + 128;
  return l;
}
// The lengths that are tried: all tails of steps, which are one or two blocks, of three of them.
inline constexpr std::size_t longest_row = 6 * block + 1;

// Rows side by side that share a parameter for each column, about as long as a table or far longer,
// from some place of a line on.
inline constexpr std::size_t long_rows[] = {
    3073, 6143, 6145, 8191, 12289, 12288 + 2 * block + 5, 2 * 12288 + 37};
inline Layout long_rows_of(std::size_t length, std::size_t place) {
  Layout l = rows_of(length, forms_of_rows - 1);
  l.target_at += static_cast<std::ptrdiff_t>(place);
  return l;
}

inline constexpr Tuning everything_asked{
    .stream_from = 0, .lines_ahead = 64, .pages_ahead = 1, .written_pages_ahead = 1};

}  // namespace layouts
