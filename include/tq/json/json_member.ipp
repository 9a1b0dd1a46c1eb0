// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/json_member.hpp.

#include <tq/json/json_member.hpp>

namespace tq::io {

namespace detail {

TQ_API bool is_json_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The place after a string whose quote is at `at`.
TQ_API std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

TQ_API std::vector<MemberText> members_of(std::string_view text) {
  std::vector<MemberText> members;
  std::size_t at = text.find('{') + 1, depth = 0;
  const auto skip_space = [&] {
    while (is_json_space(text[at])) ++at;
  };
  for (skip_space(); text[at] == '"'; skip_space()) {
    MemberText member{{}, at, 0, 0};
    at = after_string(text, at);
    member.key = text.substr(member.begin + 1, at - member.begin - 2);
    at = text.find(':', at) + 1;
    skip_space();
    member.value = at;
    while (depth != 0 || (text[at] != ',' && text[at] != '}')) {
      const char c = text[at];
      at = c == '"' ? after_string(text, at) : at + 1;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (depth == 0 && !is_json_space(c)) member.end = at;
    }
    members.push_back(member);
    if (text[at] == ',') ++at;
  }
  return members;
}

// A value as it stands after a key: its lines are indented as `indent` says, where that is not
// empty.
TQ_API std::string value_text(const Json& value, std::string_view indent) {
  if (indent.empty()) return value.dump();
  std::string out;
  for (const char c : value.dump(static_cast<int>(indent.size()))) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out;
}

TQ_API void require_object(const std::string& text, std::string_view file) {
  const Json json = parse_json(text, file);
  if (!json.is_object())
    fail(errc::malformed, "tq::io::with_member", std::string(file), "",
         expected_got("a JSON object", json.type_name()));
}

}  // namespace detail

TQ_API std::string with_member(const std::string& text, const std::string& key, const Json& value,
                               std::string_view file) {
  detail::require_object(text, file);
  const std::vector<detail::MemberText> members = detail::members_of(text);
  std::string indent;
  if (!members.empty()) {
    const std::size_t line = text.rfind('\n', members[0].begin);
    if (line != text.npos) indent = text.substr(line + 1, members[0].begin - line - 1);
  }
  const std::string written = detail::value_text(value, indent);
  for (const detail::MemberText& m : members)
    if (m.key == key) return text.substr(0, m.value) + written + text.substr(m.end);
  const std::size_t end = members.empty() ? text.find('{') + 1 : members.back().end;
  const std::string space = !indent.empty() ? "\n" + indent : members.empty() ? "" : " ";
  return text.substr(0, end) + (members.empty() ? "" : ",") + space + Json(key).dump() + ": " +
         written + text.substr(end);
}

TQ_API std::string without_member(const std::string& text, const std::string& key,
                                  std::string_view file) {
  detail::require_object(text, file);
  const std::vector<detail::MemberText> members = detail::members_of(text);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].key != key) continue;
    const bool is_last = i + 1 == members.size();
    const std::size_t begin = is_last && i != 0 ? members[i - 1].end : members[i].begin,
                      end = is_last ? members[i].end : members[i + 1].begin;
    return text.substr(0, begin) + text.substr(end);
  }
  return text;
}

}  // namespace tq::io
