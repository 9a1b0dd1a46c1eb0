// SPDX-License-Identifier: MIT
#pragma once
// ExpressionMatcher: whether a text, or a part of it, matches a regular expression.

#include <tq/bodies.hpp>
#include <tq/model/detail/expression_program.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tq::detail {

/// Follows all ways through a program at the same time: at every place of the text each step is
/// visited once at most, so time and memory are at most proportional to text times program.
class ExpressionMatcher {
 public:
  /// Both outlive this.
  TQ_API ExpressionMatcher(const ExpressionProgram& program, std::string_view text);

  /// True if the whole text matches.
  [[nodiscard]] TQ_API bool whole();
  /// True if a part of the text matches.
  [[nodiscard]] TQ_API bool part();
  /// Steps visited so far.
  [[nodiscard]] std::uint64_t visits() const noexcept { return visits_; }

 private:
  // Calls f(place, whether a match begins there) from the last place on while f is true; matches
  // end at any place, or all at the end of the text.
  template <class F>
  void for_each_place(std::uint32_t entry, bool ends_anywhere, F&& f) {
    if (visited_.empty()) return;  // the program was moved away
    std::vector<std::uint32_t> now, then;
    for (std::size_t place = text_.size() + 1; place-- > 0;) {
      if (ends_anywhere || place == text_.size()) now.push_back(entry);
      if (!f(place, follow(place, now, then))) return;
      now.clear();
      now.swap(then);
    }
  }

  // Follows the steps of `now`, which it empties, at a place as far as they take no byte; `then`
  // gets those behind a byte. Returns whether a match is there.
  TQ_API bool follow(std::size_t place, std::vector<std::uint32_t>& now,
                     std::vector<std::uint32_t>& then);

  [[nodiscard]] TQ_API bool holds(const ExpressionStep& step, std::size_t place) const;
  [[nodiscard]] TQ_API bool is_word_edge(std::size_t place) const;

  const ExpressionProgram& program_;
  std::string_view text_;
  std::vector<std::uint64_t> visited_;    // the last round in which each step was
  std::vector<std::vector<bool>> ahead_;  // of each place whether it is followed by a match
  std::uint64_t round_ = 0, visits_ = 0;
};

}  // namespace tq::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/model/detail/expression_matcher.ipp>
#endif
