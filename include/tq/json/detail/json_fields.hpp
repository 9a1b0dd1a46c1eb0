// SPDX-License-Identifier: MIT
#pragma once
// The fields of a JSON object, checked one by one.

#include <tq/bodies.hpp>
#include <tq/json/json_text.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io {

/// The fields of a JSON object, read once each with their type checked; `finish` refuses the
/// others. Every error is `errc::malformed` and names document, key, expected and got.
class JsonFields {
 public:
  /// `where` names the function, `path` the document and `inside` the object's place in it
  /// ("nodes[3].scheme") in messages; the first two outlive this.
  TQ_API JsonFields(const Json& object, std::string_view where, std::string_view path,
                    std::string inside = {});

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }
  /// Throws: `errc::malformed` when it is absent.
  [[nodiscard]] TQ_API const Json& at(const char* key);
  [[nodiscard]] std::string string(const char* key) { return string(key, at(key)); }
  /// A string out of a list. Throws: `errc::unknown_name` for another.
  [[nodiscard]] TQ_API std::string one_of(const char* key, const std::vector<std::string>& known);
  /// An array of such strings.
  [[nodiscard]] TQ_API std::vector<std::string> some_of(const char* key,
                                                        const std::vector<std::string>& known);
  [[nodiscard]] TQ_API bool boolean(const char* key);
  [[nodiscard]] TQ_API std::int64_t integer(const char* key, std::int64_t min, std::int64_t max);
  /// An integer in [0, 2^64).
  [[nodiscard]] std::uint64_t count(const char* key) { return count(key, at(key)); }
  /// An array of integers in [min, max].
  [[nodiscard]] TQ_API std::vector<std::int64_t> integers(const char* key, std::int64_t min,
                                                          std::int64_t max);
  /// An array of integers in [0, 2^64).
  [[nodiscard]] TQ_API std::vector<std::uint64_t> counts(const char* key);
  /// An array, whatever its elements.
  [[nodiscard]] TQ_API const Json::array_t& array(const char* key);
  /// The fields of an object in this one; its path is this one's.
  [[nodiscard]] JsonFields object(const char* key) { return {at(key), where_, path_, inside_}; }
  /// An array of numbers in the range of float32, each rounded once.
  [[nodiscard]] TQ_API std::vector<float> floats(const char* key);
  /// A number in the range of float32, rounded once.
  [[nodiscard]] float real(const char* key) { return real(key, at(key)); }
  /// A number in the range of float64.
  [[nodiscard]] TQ_API double number(const char* key);
  /// Throws: `errc::unsupported` where the field "version" is another number.
  TQ_API void require_version(std::int64_t expected);
  /// Throws: `errc::malformed` when the object has a field that is none of these, with the one that
  /// may have been meant.
  TQ_API void allow_only(const std::vector<std::string>& known) const;
  /// Throws: `errc::malformed` when the object has a field that was not read.
  TQ_API void finish() const;
  [[noreturn]] TQ_API void refuse(std::string_view key, std::string_view expected,
                                  std::string_view found) const;
  /// Throws: `errc::unknown_name`, with the name of the list that may have been meant.
  [[noreturn]] TQ_API void refuse_name(std::string_view key, const std::string& name,
                                       const std::vector<std::string>& known) const;
  /// Where in the document the value of a key is: "nodes[3].scheme.group_size".
  [[nodiscard]] TQ_API std::string place(std::string_view key) const;

  /// The value, or its kind where it is large: for messages.
  [[nodiscard]] TQ_API static std::string got(const Json& value);

 private:
  [[nodiscard]] TQ_API std::string string(std::string_view key, const Json& value) const;
  [[nodiscard]] TQ_API std::string one_of(std::string_view key, const Json& value,
                                          const std::vector<std::string>& known) const;
  [[nodiscard]] TQ_API std::uint64_t count(std::string_view key, const Json& value) const;
  [[nodiscard]] TQ_API float real(std::string_view key, const Json& value) const;
  [[nodiscard]] TQ_API std::int64_t integer(std::string_view key, const Json& value,
                                            std::int64_t min, std::int64_t max) const;

  const Json& object_;
  std::string_view where_, path_;
  std::string inside_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/json/detail/json_fields.ipp>
#endif
