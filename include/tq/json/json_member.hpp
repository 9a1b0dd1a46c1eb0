// SPDX-License-Identifier: MIT
#pragma once
// A member of a JSON object that is changed in its text, while all other text stays as it is.

#include <tq/bodies.hpp>
#include <tq/json/json_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

namespace detail {

// A member of an object, by places in the text.
struct MemberText {
  std::string_view key;      // between the quotes, with its escapes
  std::size_t begin, value;  // the quote of the key; the first byte of the value
  std::size_t end;           // after the value
};

// The members of an object. Precondition: `text` is a JSON object.
[[nodiscard]] TQ_API std::vector<MemberText> members_of(std::string_view text);

}  // namespace detail

/// The text of a JSON object with another value under a key: in the place of the old value, or at
/// the end. Throws: `errc::malformed`, naming the file, for another text.
[[nodiscard]] TQ_API std::string with_member(const std::string& text, const std::string& key,
                                             const Json& value, std::string_view file = {});

/// The text of a JSON object without the member of that key. Throws: as `with_member`.
[[nodiscard]] TQ_API std::string without_member(const std::string& text, const std::string& key,
                                                std::string_view file = {});

/// The text of a JSON object with f(text) in the place of the object under a key; the same text
/// where there is no object. Throws: as `with_member`.
template <class F>
[[nodiscard]] std::string with_inner_object(const std::string& text, std::string_view key,
                                            std::string_view file, F&& f);

namespace detail {

TQ_API void require_object(const std::string& text, std::string_view file);

}  // namespace detail

template <class F>
std::string with_inner_object(const std::string& text, std::string_view key, std::string_view file,
                              F&& f) {
  detail::require_object(text, file);
  for (const detail::MemberText& m : detail::members_of(text))
    if (m.key == key && text[m.value] == '{')
      return text.substr(0, m.value) + f(text.substr(m.value, m.end - m.value)) +
             text.substr(m.end);
  return text;
}

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/json_member.ipp>
#endif
