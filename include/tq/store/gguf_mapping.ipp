// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/gguf_mapping.hpp.

#include <tq/files/text_file.hpp>
#include <tq/json/json.hpp>
#include <tq/json/json_text.hpp>
#include <tq/store/detail/gguf_llama_text.hpp>
#include <tq/store/gguf_mapping.hpp>
#include <tq/store/missing_file.hpp>

#include <cstddef>
#include <utility>

namespace tq {

namespace store::detail {

TQ_API std::vector<std::string> strings_of(io::JsonFields& fields, const char* key) {
  std::vector<std::string> out;
  for (const io::Json& each : fields.array(key)) {
    if (!each.is_string()) fields.refuse(key, "strings", io::JsonFields::got(each));
    out.push_back(each.get<std::string>());
  }
  return out;
}

TQ_API GgufMapping gguf_mapping_of(const io::Json& json, const std::string& path) {
  constexpr const char* where = "tq::read_gguf_mapping";
  GgufMapping out;
  io::JsonFields fields(json, where, path);
  // Calls f(fields) for the objects of an array.
  const auto for_each = [&](const char* key, auto&& f) {
    std::size_t i = 0;
    for (const io::Json& each : fields.array(key)) {
      io::JsonFields inner(each, where, path, std::string(key) + "[" + std::to_string(i++) + "]");
      f(inner);
      inner.finish();
    }
  };
  out.architecture = fields.string("architecture");
  for_each("requires", [&](io::JsonFields& f) {
    out.requirements.push_back({strings_of(f, "from"), strings_of(f, "values")});
  });
  for_each("keys", [&](io::JsonFields& f) {
    GgufKeyRule rule{f.string("key"), f.one_of("type", {"uint32", "float32", "string", "bool"}),
                     strings_of(f, "from")};
    if (f.has("else")) {
      rule.numerator = f.string("else");
      rule.denominator = f.string("over");
    }
    rule.is_optional = f.has("optional") && f.boolean("optional");
    out.keys.push_back(std::move(rule));
  });
  for_each("tensors", [&](io::JsonFields& f) {
    GgufNameRule rule{f.string("from"), f.string("to")};
    if (f.has("heads")) rule.heads = strings_of(f, "heads");
    out.names.push_back(std::move(rule));
  });
  out.dropped = strings_of(fields, "dropped");
  fields.finish();
  return out;
}

TQ_API std::optional<GgufNumbers> match_gguf_name(std::string_view pattern, std::string_view name) {
  GgufNumbers found;
  while (!pattern.empty()) {
    std::string* const number = pattern.starts_with("{layer}")    ? &found.layer
                                : pattern.starts_with("{expert}") ? &found.expert
                                                                  : nullptr;
    if (number == nullptr) {
      if (name.empty() || name.front() != pattern.front()) return std::nullopt;
      name.remove_prefix(1);
      pattern.remove_prefix(1);
      continue;
    }
    while (!name.empty() && name.front() >= '0' && name.front() <= '9' && number->size() < 6) {
      *number += name.front();
      name.remove_prefix(1);
    }
    if (number->empty()) return std::nullopt;
    pattern.remove_prefix(pattern.find('}') + 1);
  }
  return name.empty() ? std::optional(found) : std::nullopt;
}

TQ_API std::string with_gguf_numbers(std::string pattern, const GgufNumbers& numbers) {
  for (const auto& [place, number] :
       {std::pair<std::string_view, std::string>{"{layer}", numbers.layer},
        {"{expert}", numbers.expert}})
    if (const std::size_t at = pattern.find(place); at != pattern.npos)
      pattern.replace(at, place.size(), number);
  return pattern;
}

}  // namespace store::detail

TQ_API GgufMapping gguf_llama_mapping() {
  constexpr const char* name = "the mapping of tq";
  return store::detail::gguf_mapping_of(io::parse_json(store::detail::gguf_llama_text, name), name);
}

TQ_API GgufMapping read_gguf_mapping(const std::filesystem::path& file) {
  store::require_there(file);
  return store::detail::gguf_mapping_of(io::parse_json(io::read_text(file), file.string()),
                                        file.string());
}

}  // namespace tq
