// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/json_text.hpp.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/file_content.hpp>
#include <tq/files/syntax_error.hpp>
#include <tq/files/text_position.hpp>
#include <tq/json/json_text.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tq::io {

namespace detail {

// Builds a value event by event, in time that does not depend on how much is open around it. The
// events that it refuses raise.
// Builds a value event by event, in time that does not depend on how much is open around it. The
// events that it refuses raise.
class JsonBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBuilder(std::string_view name) : name_(name) {}
  [[nodiscard]] Json&& value() noexcept { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& text) override { return add(std::move(text)); }
  bool binary(binary_t& bytes) override { return add(std::move(bytes)); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  TQ_API bool key(string_t& name) override;
  TQ_API bool parse_error(std::size_t position, const std::string&,
                          const Json::exception&) override;
  /// Bytes that were read up to the error, and the one that it is about.
  [[nodiscard]] std::size_t error_position() const noexcept { return error_position_; }

  [[noreturn]] TQ_API void refuse(std::string_view expected, std::string_view got) const;

 private:
  static constexpr std::size_t max_depth = 64;

  TQ_API void require_depth() const;
  // Where the value goes: it is the document, the next of an array, or that of the last key.
  TQ_API Json& put(Json&& value);
  TQ_API bool add(Json&& value);
  TQ_API bool open(Json&& value);
  TQ_API bool close();

  std::string_view name_;
  Json root_;
  std::vector<Json*> open_;  // from the document inwards; only the last one grows
  Json* member_ = nullptr;
  std::size_t error_position_ = 0;
};

TQ_API bool JsonBuilder::key(string_t& name) {
  require_depth();
  const auto [member, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(name, nullptr);
  if (!is_new) refuse("every key once", shown(name) + " twice");
  member_ = &member->second;
  return true;
}

TQ_API bool JsonBuilder::parse_error(std::size_t position, const std::string&,
                                     const Json::exception&) {
  error_position_ = position;
  return false;
}

TQ_API void JsonBuilder::refuse(std::string_view expected, std::string_view got) const {
  fail(errc::malformed, "tq::io::parse_json", name_, "", expected_got(expected, got));
}

TQ_API void JsonBuilder::require_depth() const {
  if (open_.size() > max_depth)
    refuse("values nested at most " + std::to_string(max_depth) + " deep", "deeper ones");
}

TQ_API Json& JsonBuilder::put(Json&& value) {
  require_depth();
  if (open_.empty()) return root_ = std::move(value);
  if (open_.back()->is_object()) return *member_ = std::move(value);
  return open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
}

TQ_API bool JsonBuilder::add(Json&& value) {
  put(std::move(value));
  return true;
}

TQ_API bool JsonBuilder::open(Json&& value) {
  open_.push_back(&put(std::move(value)));
  return true;
}

TQ_API bool JsonBuilder::close() {
  open_.pop_back();
  return true;
}

}  // namespace detail

TQ_API Json parse_json(std::string_view text, std::string_view name) {
  detail::JsonBuilder builder(name);
  if (const std::size_t at = text.find('\0'); at != text.npos) {
    const std::string content = foreign_content(text.substr(0, content_sample), text.size());
    builder.refuse("a JSON document",
                   content.empty() ? "a NUL byte at " + text_position(text, at) : content);
  }
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    builder.refuse("a JSON document", detail::syntax_error(text, builder.error_position()));
  return builder.value();
}

}  // namespace tq::io
