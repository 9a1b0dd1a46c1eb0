// SPDX-License-Identifier: MIT
#pragma once
// ModelConfig: the fields of a config.json.

#include <tq/error.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/store/gguf_mapping.hpp>
#include <tq/store/missing_file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

namespace tq::store::detail {

// The fields of a config.json.
class ModelConfig {
 public:
  explicit ModelConfig(const std::filesystem::path& file) : path_(file.string()) {
    require_there(file);
    json_ = io::parse_json(io::read_text(file), path_);
    if (!json_.is_object()) refuse("a JSON object", io::JsonFields::got(json_));
  }
  // The first of the fields that is there and not null, or null.
  [[nodiscard]] const io::Json* find(const ConfigFields& fields) const {
    for (const std::string& name : fields)
      if (const io::Json* const found = find(name)) return found;
    return nullptr;
  }
  [[nodiscard]] const io::Json& at(const ConfigFields& fields) const {
    if (const io::Json* const found = find(fields)) return *found;
    refuse("field " + joined_names(fields), "none");
  }
  [[nodiscard]] std::uint32_t count(const ConfigFields& fields) const {
    const io::Json& value = at(fields);
    const bool fits = value.is_number_unsigned() &&
                      value.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
    if (!fits)
      refuse(joined_names(fields) + " as an integer below 2^32", io::JsonFields::got(value));
    return value.get<std::uint32_t>();
  }
  // A number, or another where it is not there.
  [[nodiscard]] double number(const ConfigFields& fields, double otherwise) const {
    const io::Json* const value = find(fields);
    if (value == nullptr) return otherwise;
    if (!value->is_number())
      refuse(joined_names(fields) + " as a number", io::JsonFields::got(*value));
    return value->get<double>();
  }
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const {
    tq::detail::raise_expected(errc::unsupported, path_, {expected}, {got});
  }

 private:
  [[nodiscard]] const io::Json* find(std::string_view name) const {
    const io::Json* at = &json_;
    for (;;) {
      const std::size_t dot = name.find('.');
      if (!at->is_object()) return nullptr;
      const auto found = at->find(name.substr(0, dot));
      if (found == at->end() || found->is_null()) return nullptr;
      at = &*found;
      if (dot == name.npos) return at;
      name.remove_prefix(dot + 1);
    }
  }

  std::string path_;
  io::Json json_;
};

}  // namespace tq::store::detail
