// SPDX-License-Identifier: MIT
#pragma once
// ExpressionMatcher: whether a text, or a part of it, matches a regular expression.

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
  ExpressionMatcher(const ExpressionProgram& program, std::string_view text)
      : program_(program), text_(text), visited_(program.steps().size()) {
    for (const std::uint32_t entry : program.ahead()) {
      std::vector<bool> places(text.size() + 1);
      for_each_place(entry, true, [&](std::size_t place, bool is_match) {
        places[place] = is_match;
        return true;
      });
      ahead_.push_back(std::move(places));
    }
  }

  /// True if the whole text matches.
  [[nodiscard]] bool whole() {
    bool found = false;
    for_each_place(program_.begin(), false, [&](std::size_t place, bool is_match) {
      found = is_match && place == 0;
      return true;
    });
    return found;
  }
  /// True if a part of the text matches.
  [[nodiscard]] bool part() {
    bool found = false;
    for_each_place(program_.begin(), true, [&](std::size_t, bool is_match) {
      found = is_match;
      return !found;
    });
    return found;
  }
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
  bool follow(std::size_t place, std::vector<std::uint32_t>& now,
              std::vector<std::uint32_t>& then) {
    ++round_;
    bool is_match = false;
    while (!now.empty()) {
      const std::uint32_t number = now.back();
      now.pop_back();
      if (visited_[number] == round_) continue;
      visited_[number] = round_;
      ++visits_;
      const ExpressionStep& step = program_.steps()[number];
      if (step.kind == StepKind::match) {
        is_match = true;
      } else if (step.kind == StepKind::byte) {
        if (place != 0 &&
            program_.sets()[step.argument].test(static_cast<unsigned char>(text_[place - 1])))
          then.push_back(step.next);
      } else if (holds(step, place)) {
        now.push_back(step.next);
        if (step.kind == StepKind::either) now.push_back(step.argument);
      }
    }
    return is_match;
  }

  [[nodiscard]] bool holds(const ExpressionStep& step, std::size_t place) const {
    switch (step.kind) {
      case StepKind::begin: return place == 0;
      case StepKind::end: return place == text_.size();
      case StepKind::word_edge: return is_word_edge(place);
      case StepKind::no_word_edge: return !is_word_edge(place);
      case StepKind::ahead: return ahead_[step.argument][place];
      case StepKind::not_ahead: return !ahead_[step.argument][place];
      default: return true;
    }
  }
  [[nodiscard]] bool is_word_edge(std::size_t place) const {
    const bool is_behind_word = place != 0 && is_word_byte(text_[place - 1]);
    return is_behind_word != (place != text_.size() && is_word_byte(text_[place]));
  }

  const ExpressionProgram& program_;
  std::string_view text_;
  std::vector<std::uint64_t> visited_;    // the last round in which each step was
  std::vector<std::vector<bool>> ahead_;  // of each place whether it is followed by a match
  std::uint64_t round_ = 0, visits_ = 0;
};

}  // namespace tq::detail
