// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/expression_matcher.hpp.

#include <tq/model/detail/expression_matcher.hpp>

namespace tq::detail {

TQ_API ExpressionMatcher::ExpressionMatcher(const ExpressionProgram& program, std::string_view text)
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

TQ_API bool ExpressionMatcher::whole() {
  bool found = false;
  for_each_place(program_.begin(), false, [&](std::size_t place, bool is_match) {
    found = is_match && place == 0;
    return true;
  });
  return found;
}

TQ_API bool ExpressionMatcher::part() {
  bool found = false;
  for_each_place(program_.begin(), true, [&](std::size_t, bool is_match) {
    found = is_match;
    return !found;
  });
  return found;
}

TQ_API bool ExpressionMatcher::follow(std::size_t place, std::vector<std::uint32_t>& now,
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

TQ_API bool ExpressionMatcher::holds(const ExpressionStep& step, std::size_t place) const {
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

TQ_API bool ExpressionMatcher::is_word_edge(std::size_t place) const {
  const bool is_behind_word = place != 0 && is_word_byte(text_[place - 1]);
  return is_behind_word != (place != text_.size() && is_word_byte(text_[place]));
}

}  // namespace tq::detail
