// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/detail/json_fields.hpp.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/json/detail/json_fields.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/detail/known_names.hpp>

#include <limits>
#include <utility>

namespace tq::io {

TQ_API JsonFields::JsonFields(const Json& object, std::string_view where, std::string_view path,
                              std::string inside)
    : object_(object), where_(where), path_(path), inside_(std::move(inside)) {
  if (!object.is_object()) refuse("", "an object", got(object));
}

TQ_API const Json& JsonFields::at(const char* key) {
  const auto found = object_.find(key);
  if (found == object_.end()) refuse(key, "a value", "none");
  seen_.insert(key);
  return *found;
}

TQ_API std::string JsonFields::one_of(const char* key, const std::vector<std::string>& known) {
  return one_of(key, at(key), known);
}

TQ_API std::vector<std::string> JsonFields::some_of(const char* key,
                                                    const std::vector<std::string>& known) {
  std::vector<std::string> out;
  for (const Json& value : array(key))
    out.push_back(one_of(std::string(key) + "[" + std::to_string(out.size()) + "]", value, known));
  return out;
}

TQ_API bool JsonFields::boolean(const char* key) {
  const Json& value = at(key);
  if (!value.is_boolean()) refuse(key, "true or false", got(value));
  return value.get<bool>();
}

TQ_API std::int64_t JsonFields::integer(const char* key, std::int64_t min, std::int64_t max) {
  return integer(key, at(key), min, max);
}

TQ_API std::vector<std::int64_t> JsonFields::integers(const char* key, std::int64_t min,
                                                      std::int64_t max) {
  std::vector<std::int64_t> out;
  for (const Json& value : array(key))
    out.push_back(
        integer(std::string(key) + "[" + std::to_string(out.size()) + "]", value, min, max));
  return out;
}

TQ_API std::vector<std::uint64_t> JsonFields::counts(const char* key) {
  std::vector<std::uint64_t> out;
  for (const Json& value : array(key))
    out.push_back(count(std::string(key) + "[" + std::to_string(out.size()) + "]", value));
  return out;
}

TQ_API const Json::array_t& JsonFields::array(const char* key) {
  const Json& value = at(key);
  if (!value.is_array()) refuse(key, "an array", got(value));
  return value.get_ref<const Json::array_t&>();
}

TQ_API std::vector<float> JsonFields::floats(const char* key) {
  std::vector<float> out;
  for (const Json& value : array(key))
    out.push_back(real(std::string(key) + "[" + std::to_string(out.size()) + "]", value));
  return out;
}

TQ_API double JsonFields::number(const char* key) {
  const Json& value = at(key);
  if (!value.is_number()) refuse(key, "a number", got(value));
  return value.get<double>();
}

TQ_API void JsonFields::require_version(std::int64_t expected) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (const std::int64_t version = integer("version", 0, most); version != expected)
    detail::fail(errc::unsupported, where_, path_, place("version"),
                 detail::expected_got(std::to_string(expected), std::to_string(version)));
}

TQ_API void JsonFields::allow_only(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : object_.items())
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string name = detail::shown(key);
      refuse(std::string_view(name).substr(1, name.size() - 2),
             "one of the fields " + joined_names(known), "this one" + did_you_mean(key, known));
    }
}

TQ_API void JsonFields::finish() const {
  for (const auto& [key, value] : object_.items())
    if (!seen_.contains(key)) {
      std::string known;
      for (const std::string& name : seen_) known.append(known.empty() ? "" : ", ").append(name);
      refuse(detail::shown(key), "only the fields " + known, "this one");
    }
}

TQ_API void JsonFields::refuse(std::string_view key, std::string_view expected,
                               std::string_view found) const {
  detail::fail(errc::malformed, where_, path_, place(key), detail::expected_got(expected, found));
}

TQ_API void JsonFields::refuse_name(std::string_view key, const std::string& name,
                                    const std::vector<std::string>& known) const {
  detail::fail(errc::unknown_name, where_, path_, place(key),
               detail::expected_got("one of " + joined_names(known), detail::shown(name)) +
                   did_you_mean(name, known));
}

TQ_API std::string JsonFields::place(std::string_view key) const {
  std::string text = inside_;
  if (!text.empty() && !key.empty()) text += '.';
  return text.append(key);
}

TQ_API std::string JsonFields::got(const Json& value) {
  if (value.is_object() || value.is_array())
    return std::string(value.is_object() ? "an object" : "an array");
  return detail::shown(value.is_string()
                           ? value.get_ref<const std::string&>()
                           : value.dump(-1, ' ', true, Json::error_handler_t::replace)) +
         (value.is_string() ? "" : std::string(" (") + value.type_name() + ")");
}

TQ_API std::string JsonFields::string(std::string_view key, const Json& value) const {
  if (!value.is_string()) refuse(key, "a string", got(value));
  return value.get<std::string>();
}

TQ_API std::string JsonFields::one_of(std::string_view key, const Json& value,
                                      const std::vector<std::string>& known) const {
  const std::string name = string(key, value);
  if (std::find(known.begin(), known.end(), name) == known.end()) refuse_name(key, name, known);
  return name;
}

TQ_API std::uint64_t JsonFields::count(std::string_view key, const Json& value) const {
  if (!value.is_number_unsigned() && !(value.is_number_integer() && value.get<std::int64_t>() >= 0))
    refuse(key, "an integer in [0, 2^64)", got(value));
  return value.get<std::uint64_t>();
}

TQ_API float JsonFields::real(std::string_view key, const Json& value) const {
  constexpr double top = std::numeric_limits<float>::max();
  const double number = value.is_number() ? value.get<double>() : 0.0;
  if (!value.is_number() || !(number >= -top && number <= top))
    refuse(key, "a number in the range of float32", got(value));
  return static_cast<float>(number);
}

TQ_API std::int64_t JsonFields::integer(std::string_view key, const Json& value, std::int64_t min,
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

}  // namespace tq::io
