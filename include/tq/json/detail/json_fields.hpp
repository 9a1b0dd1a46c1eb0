// SPDX-License-Identifier: MIT
#pragma once
// The fields of a JSON object, checked one by one.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/detail/known_names.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// The fields of a JSON object, read once each with their type checked; `finish` refuses the
/// others. Every error is `errc::malformed` and names document, key, expected and got.
class JsonFields {
 public:
  /// `where` names the function, `path` the document and `inside` the object's place in it
  /// ("nodes[3].scheme") in messages; the first two outlive this.
  JsonFields(const Json& object, std::string_view where, std::string_view path,
             std::string inside = {})
      : object_(object), where_(where), path_(path), inside_(std::move(inside)) {
    if (!object.is_object()) refuse("", "an object", got(object));
  }

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }
  /// Throws: `errc::malformed` when it is absent.
  [[nodiscard]] const Json& at(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) refuse(key, "a value", "none");
    seen_.insert(key);
    return *found;
  }
  [[nodiscard]] std::string string(const char* key) { return string(key, at(key)); }
  /// A string out of a list. Throws: `errc::unknown_name` for another.
  [[nodiscard]] std::string one_of(const char* key, const std::vector<std::string>& known) {
    return one_of(key, at(key), known);
  }
  /// An array of such strings.
  [[nodiscard]] std::vector<std::string> some_of(const char* key,
                                                 const std::vector<std::string>& known) {
    std::vector<std::string> out;
    for (const Json& value : array(key))
      out.push_back(
          one_of(std::string(key) + "[" + std::to_string(out.size()) + "]", value, known));
    return out;
  }
  [[nodiscard]] bool boolean(const char* key) {
    const Json& value = at(key);
    if (!value.is_boolean()) refuse(key, "true or false", got(value));
    return value.get<bool>();
  }
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t min, std::int64_t max) {
    return integer(key, at(key), min, max);
  }
  /// An integer in [0, 2^64).
  [[nodiscard]] std::uint64_t count(const char* key) { return count(key, at(key)); }
  /// An array of integers in [min, max].
  [[nodiscard]] std::vector<std::int64_t> integers(const char* key, std::int64_t min,
                                                   std::int64_t max) {
    std::vector<std::int64_t> out;
    for (const Json& value : array(key))
      out.push_back(
          integer(std::string(key) + "[" + std::to_string(out.size()) + "]", value, min, max));
    return out;
  }
  /// An array of integers in [0, 2^64).
  [[nodiscard]] std::vector<std::uint64_t> counts(const char* key) {
    std::vector<std::uint64_t> out;
    for (const Json& value : array(key))
      out.push_back(count(std::string(key) + "[" + std::to_string(out.size()) + "]", value));
    return out;
  }
  /// An array, whatever its elements.
  [[nodiscard]] const Json::array_t& array(const char* key) {
    const Json& value = at(key);
    if (!value.is_array()) refuse(key, "an array", got(value));
    return value.get_ref<const Json::array_t&>();
  }
  /// The fields of an object in this one; its path is this one's.
  [[nodiscard]] JsonFields object(const char* key) { return {at(key), where_, path_, inside_}; }
  /// An array of numbers in the range of float32, each rounded once.
  [[nodiscard]] std::vector<float> floats(const char* key) {
    std::vector<float> out;
    for (const Json& value : array(key))
      out.push_back(real(std::string(key) + "[" + std::to_string(out.size()) + "]", value));
    return out;
  }
  /// A number in the range of float32, rounded once.
  [[nodiscard]] float real(const char* key) { return real(key, at(key)); }
  /// A number in the range of float64.
  [[nodiscard]] double number(const char* key) {
    const Json& value = at(key);
    if (!value.is_number()) refuse(key, "a number", got(value));
    return value.get<double>();
  }
  /// Throws: `errc::unsupported` where the field "version" is another number.
  void require_version(std::int64_t expected) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (const std::int64_t version = integer("version", 0, most); version != expected)
      detail::fail(errc::unsupported, where_, path_, place("version"),
                   detail::expected_got(std::to_string(expected), std::to_string(version)));
  }
  /// Throws: `errc::malformed` when the object has a field that is none of these, with the one that
  /// may have been meant.
  void allow_only(const std::vector<std::string>& known) const {
    for (const auto& [key, value] : object_.items())
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::string name = detail::shown(key);
        refuse(std::string_view(name).substr(1, name.size() - 2),
               "one of the fields " + joined_names(known), "this one" + did_you_mean(key, known));
      }
  }
  /// Throws: `errc::malformed` when the object has a field that was not read.
  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (!seen_.contains(key)) {
        std::string known;
        for (const std::string& name : seen_) known.append(known.empty() ? "" : ", ").append(name);
        refuse(detail::shown(key), "only the fields " + known, "this one");
      }
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view expected,
                           std::string_view found) const {
    detail::fail(errc::malformed, where_, path_, place(key), detail::expected_got(expected, found));
  }
  /// Throws: `errc::unknown_name`, with the name of the list that may have been meant.
  [[noreturn]] void refuse_name(std::string_view key, const std::string& name,
                                const std::vector<std::string>& known) const {
    detail::fail(errc::unknown_name, where_, path_, place(key),
                 detail::expected_got("one of " + joined_names(known), detail::shown(name)) +
                     did_you_mean(name, known));
  }
  /// Where in the document the value of a key is: "nodes[3].scheme.group_size".
  [[nodiscard]] std::string place(std::string_view key) const {
    std::string text = inside_;
    if (!text.empty() && !key.empty()) text += '.';
    return text.append(key);
  }

  /// The value, or its kind where it is large: for messages.
  [[nodiscard]] static std::string got(const Json& value) {
    if (value.is_object() || value.is_array())
      return std::string(value.is_object() ? "an object" : "an array");
    return detail::shown(value.is_string()
                             ? value.get_ref<const std::string&>()
                             : value.dump(-1, ' ', true, Json::error_handler_t::replace)) +
           (value.is_string() ? "" : std::string(" (") + value.type_name() + ")");
  }

 private:
  [[nodiscard]] std::string string(std::string_view key, const Json& value) const {
    if (!value.is_string()) refuse(key, "a string", got(value));
    return value.get<std::string>();
  }
  [[nodiscard]] std::string one_of(std::string_view key, const Json& value,
                                   const std::vector<std::string>& known) const {
    const std::string name = string(key, value);
    if (std::find(known.begin(), known.end(), name) == known.end()) refuse_name(key, name, known);
    return name;
  }
  [[nodiscard]] std::uint64_t count(std::string_view key, const Json& value) const {
    if (!value.is_number_unsigned() &&
        !(value.is_number_integer() && value.get<std::int64_t>() >= 0))
      refuse(key, "an integer in [0, 2^64)", got(value));
    return value.get<std::uint64_t>();
  }
  [[nodiscard]] float real(std::string_view key, const Json& value) const {
    constexpr double top = std::numeric_limits<float>::max();
    const double number = value.is_number() ? value.get<double>() : 0.0;
    if (!value.is_number() || !(number >= -top && number <= top))
      refuse(key, "a number in the range of float32", got(value));
    return static_cast<float>(number);
  }
  [[nodiscard]] std::int64_t integer(std::string_view key, const Json& value, std::int64_t min,
                                     std::int64_t max) const {
    const bool fits = value.is_number_unsigned()
                          ? value.get<std::uint64_t>() <=
                                static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                          : value.is_number_integer();
    const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
    if (!fits || number < min || number > max)
      refuse(key, "an integer in [" + std::to_string(min) + ", " + std::to_string(max) + "]",
             got(value));
    return number;
  }

  const Json& object_;
  std::string_view where_, path_;
  std::string inside_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace tq::io
