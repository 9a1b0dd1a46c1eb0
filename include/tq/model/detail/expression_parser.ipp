// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/model/detail/expression_parser.hpp.

#include <tq/model/detail/expression_parser.hpp>

#include <vector>

namespace tq::detail {

TQ_API std::size_t ExpressionParser::parse() {
  const std::size_t all = choice();
  if (!at_end()) refuse(at_, "a part of an expression", shown(at_));
  return all;
}

TQ_API bool ExpressionParser::sees(std::string_view word) const {
  return text_.substr(at_).starts_with(word);
}

TQ_API bool ExpressionParser::take(std::string_view word) {
  if (!sees(word)) return false;
  at_ += word.size();
  return true;
}

TQ_API char ExpressionParser::next(const char* expected) {
  if (at_end()) refuse(at_, expected, "the end");
  return text_[at_++];
}

TQ_API std::string ExpressionParser::shown(std::size_t byte) const {
  return byte < text_.size() ? "\"" + std::string(1, text_[byte]) + "\"" : "the end";
}

TQ_API void ExpressionParser::refuse(std::size_t byte, const std::string& expected,
                                     const std::string& got) const {
  syntax_.refuse(byte, expected, got);
}

TQ_API std::size_t ExpressionParser::choice() {
  std::vector<std::size_t> parts{sequence()};
  while (take("|")) parts.push_back(sequence());
  return syntax_.add_list(SyntaxKind::choice, std::move(parts));
}

TQ_API std::size_t ExpressionParser::sequence() {
  std::vector<std::size_t> parts;
  while (!at_end() && !sees("|") && !sees(")")) parts.push_back(term());
  if (parts.empty()) return syntax_.add(SyntaxKind::nothing);
  return syntax_.add_list(SyntaxKind::sequence, std::move(parts));
}

TQ_API std::size_t ExpressionParser::term() {
  if (take("^")) return syntax_.add(SyntaxKind::begin);
  if (take("$")) return syntax_.add(SyntaxKind::end);
  if (take("\\b")) return syntax_.add(SyntaxKind::word_edge);
  if (take("\\B")) return syntax_.add(SyntaxKind::no_word_edge);
  for (const auto& [word, kind] :
       {std::pair("(?=", SyntaxKind::ahead), std::pair("(?!", SyntaxKind::not_ahead)}) {
    const std::size_t begin = at_;
    if (take(word)) return syntax_.add_ahead(kind, group(begin));
  }
  std::size_t part = atom();
  while (const auto count = quantifier()) {
    part = syntax_.add_repeat(part, count->first, count->second);
    take("?");  // the shortest match matches as well
  }
  return part;
}

TQ_API std::size_t ExpressionParser::group(std::size_t begin) {
  if (++groups_ > most_groups)
    refuse(begin, "groups nested at most " + std::to_string(most_groups) + " deep", "deeper ones");
  const std::size_t inside = choice();
  if (!take(")")) refuse(begin, "a \")\" for every \"(\"", "none for this one");
  --groups_;
  return inside;
}

TQ_API std::size_t ExpressionParser::atom() {
  const std::size_t begin = at_;
  if (take("(?:")) return group(begin);
  if (sees("(?")) refuse(begin, "\"(?:\", \"(?=\" or \"(?!\"", shown(begin + 2));
  if (take("(")) return group(begin);
  if (take("[")) return syntax_.add_bytes(bracket(begin));
  if (take(".")) return syntax_.add_bytes(any_byte());
  if (sees("*") || sees("+") || sees("?") || sees("{"))
    refuse(begin, "something to repeat before " + shown(begin), "nothing");
  if (!take("\\")) return syntax_.add_bytes(one_byte(text_[at_++]));
  if (const auto set = escaped_class()) return syntax_.add_bytes(*set);
  return syntax_.add_bytes(one_byte(escaped(begin)));
}

TQ_API std::optional<std::pair<std::size_t, std::size_t>> ExpressionParser::quantifier() {
  if (take("*")) return std::pair(std::size_t{0}, ExpressionSyntax::no_limit);
  if (take("+")) return std::pair(std::size_t{1}, ExpressionSyntax::no_limit);
  if (take("?")) return std::pair(std::size_t{0}, std::size_t{1});
  const std::size_t begin = at_;
  if (!take("{")) return std::nullopt;
  const std::size_t least = count();
  std::size_t most = least;
  if (take(",")) most = sees("}") ? ExpressionSyntax::no_limit : count();
  if (!take("}")) refuse(at_, "a \"}\" behind a count", shown(at_));
  if (most < least)
    refuse(begin, "counts in ascending order", std::to_string(least) + "," + std::to_string(most));
  return std::pair(least, most);
}

TQ_API std::size_t ExpressionParser::count() {
  const std::size_t begin = at_;
  std::size_t value = 0;
  for (; !at_end() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
    if (value <= ExpressionSyntax::most_count)
      value = 10 * value + static_cast<std::size_t>(text_[at_] - '0');
  if (at_ == begin) refuse(at_, "a count", shown(at_));
  if (value > ExpressionSyntax::most_count)
    refuse(begin, "a count of at most " + std::to_string(ExpressionSyntax::most_count),
           std::string(text_.substr(begin, at_ - begin)));
  return value;
}

TQ_API std::optional<ByteSet> ExpressionParser::escaped_class() {
  if (at_end() || std::string_view("dDsSwW").find(text_[at_]) == std::string_view::npos)
    return std::nullopt;
  const char name = text_[at_++];
  const ByteSet set = *byte_class(std::string_view(&name, 1));
  return name >= 'a' ? set : ~set;
}

TQ_API char ExpressionParser::escaped(std::size_t begin) {
  const char c = next("a character behind \"\\\"");
  switch (c) {
    case '0': return '\0';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    case 'c': return control();
    case 'x': return hexadecimal(2);
    case 'u': return hexadecimal(4);
    default: break;
  }
  if (c >= '1' && c <= '9') refuse(begin, "no back reference", "\"\\" + std::string(1, c) + "\"");
  return c;
}

TQ_API char ExpressionParser::control() {
  const char letter = next("a letter behind \"\\c\"");
  if (!byte_class("alpha")->test(static_cast<unsigned char>(letter)))
    refuse(at_ - 1, "a letter behind \"\\c\"", shown(at_ - 1));
  return static_cast<char>(letter & 31);
}

TQ_API char ExpressionParser::hexadecimal(int digits) {
  const std::size_t begin = at_;
  unsigned value = 0;
  for (int i = 0; i < digits; ++i) {
    const char c = next("hexadecimal digits");
    if (!byte_class("xdigit")->test(static_cast<unsigned char>(c)))
      refuse(at_ - 1, "hexadecimal digits", shown(at_ - 1));
    value = 16 * value + static_cast<unsigned>(c <= '9' ? c - '0' : (c & 31) + 9);
  }
  if (value > 255)
    refuse(begin, "a character of one byte, at most 00ff", std::string(text_.substr(begin, 4)));
  return static_cast<char>(static_cast<unsigned char>(value));
}

TQ_API ByteSet ExpressionParser::bracket(std::size_t begin) {
  const bool is_negated = take("^");
  ByteSet set;
  // The kind of the element before: a range may begin with a byte, and not with a class.
  bool is_behind_byte = false, is_behind_class = false;
  char last = '\0';
  while (!take("]")) {
    const std::size_t at = at_;
    if (at_end()) refuse(begin, "a \"]\" for every \"[\"", "none for this one");
    if (const std::optional<ByteSet> named = class_in_bracket()) {
      set |= *named;
      is_behind_class = true;
      is_behind_byte = false;
      continue;
    }
    const bool is_range = sees("-") && !sees("-]");
    if (is_range && is_behind_class)
      refuse(at, "a range between two characters", "one behind a class");
    if (is_range && is_behind_byte) {
      ++at_;
      set |= range(at, last, range_end(begin));
      is_behind_byte = false;
    } else {
      last = bracket_byte();
      set |= one_byte(last);
      is_behind_byte = true;
    }
    is_behind_class = false;
  }
  return is_negated ? ~set : set;
}

TQ_API char ExpressionParser::bracket_byte() {
  const std::size_t begin = at_;
  if (sees("[.") || sees("[=")) return named_byte();
  if (!take("\\")) return text_[at_++];
  if (sees("B")) refuse(begin, "a character in \"[]\"", "\"\\B\"");
  return take("b") ? '\b' : escaped(begin);
}

TQ_API char ExpressionParser::range_end(std::size_t begin) {
  if (at_end()) refuse(begin, "a \"]\" for every \"[\"", "none for this one");
  const std::size_t at = at_;
  if (class_in_bracket()) refuse(at, "a range between two characters", "a class as its end");
  return bracket_byte();
}

TQ_API ByteSet ExpressionParser::range(std::size_t at, char first, char last) const {
  const auto low = static_cast<unsigned char>(first), high = static_cast<unsigned char>(last);
  if (low > high) refuse(at, "a range of ascending characters", "a descending one");
  return byte_range(low, high);
}

TQ_API std::optional<ByteSet> ExpressionParser::class_in_bracket() {
  const std::size_t begin = at_;
  if (take("\\")) {
    const std::optional<ByteSet> set = escaped_class();
    if (!set) at_ = begin;
    return set;
  }
  if (!sees("[:")) return std::nullopt;
  const std::string name(name_until(":]"));
  const std::optional<ByteSet> set = byte_class(name);
  if (!set) refuse(begin, "a class as [:alpha:]", "\"" + name + "\"");
  return set;
}

TQ_API char ExpressionParser::named_byte() {
  const std::size_t begin = at_;
  const std::string_view name = name_until(sees("[.") ? ".]" : "=]");
  if (name.size() != 1) refuse(begin, "one character", "\"" + std::string(name) + "\"");
  return name.front();
}

TQ_API std::string_view ExpressionParser::name_until(std::string_view end) {
  const std::size_t begin = at_ + 2, found = text_.find(end, begin);
  if (found == std::string_view::npos)
    refuse(at_, "a \"" + std::string(end) + "\" behind the name", "none");
  at_ = found + end.size();
  return text_.substr(begin, found - begin);
}

}  // namespace tq::detail
