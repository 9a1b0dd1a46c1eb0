// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/gguf_mix.hpp.

#include <tq/files/text_file.hpp>
#include <tq/json/json.hpp>
#include <tq/json/json_text.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/store/detail/gguf_mixes_text.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/gguf_mix.hpp>
#include <tq/store/missing_file.hpp>

#include <string_view>
#include <utility>

namespace tq {

namespace store::detail {

TQ_API bool is_gguf_target(layouts::gguf::Type type) {
  using layouts::gguf::Type;
  const bool is_float = type == Type::f32 || type == Type::f16 || type == Type::bf16;
  return is_float || layouts::gguf::holds_weights(type);
}

TQ_API layouts::gguf::Type gguf_target(io::JsonFields& fields, const char* key) {
  std::vector<std::string> known;
  for (const layouts::gguf::TypeInfo& info : layouts::gguf::types)
    if (is_gguf_target(info.type)) known.emplace_back(info.name);
  const std::string name = fields.string(key);
  const layouts::gguf::TypeInfo* const found = layouts::gguf::find_type(name);
  if (found == nullptr || !is_gguf_target(found->type)) fields.refuse_name(key, name, known);
  return found->type;
}

// "first 2", "first 1/8" or "more".
TQ_API GgufLayers gguf_layers(io::JsonFields& fields) {
  const std::string text = fields.string("layers");
  if (text == "more") return {GgufLayers::Kind::more, 0};
  constexpr std::string_view first = "first ", part = "1/";
  std::string_view number = text;
  if (!number.starts_with(first)) number = {};
  else number.remove_prefix(first.size());
  const bool is_part = number.starts_with(part);
  if (is_part) number.remove_prefix(part.size());
  const bool is_number = !number.empty() && number.size() <= 4 && number.front() != '0' &&
                         std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number)
    fields.refuse("layers", "\"first 2\", \"first 1/8\" or \"more\"", io::shown(text));
  return {is_part ? GgufLayers::Kind::first_part : GgufLayers::Kind::first,
          static_cast<std::size_t>(std::stoul(std::string(number)))};
}

// Reads mixes with the lists that they share.
// Reads mixes with the lists that they share.
class GgufMixReader {
 public:
  GgufMixReader() : all_(io::parse_json(gguf_mixes_text, "the mixes of tq")) {}

  [[nodiscard]] TQ_API std::vector<std::string> names() const;
  [[nodiscard]] TQ_API GgufMix shipped(const std::string& name) const;
  [[nodiscard]] TQ_API GgufMix mix(const io::Json& json, const std::string& path) const;

 private:
  TQ_API void add_common(GgufMix& out) const;
  TQ_API void add_rules(GgufMix& out, const io::Json::array_t& rules,
                        const std::string& path) const;
  [[nodiscard]] TQ_API static GgufRule rule(const GgufMix& mix, io::JsonFields fields);

  io::Json all_;
};

TQ_API std::vector<std::string> GgufMixReader::names() const {
  std::vector<std::string> out;
  for (const auto& [name, mix] : all_["mixes"].items()) out.push_back(name);
  return out;
}

TQ_API GgufMix GgufMixReader::shipped(const std::string& name) const {
  return mix(all_["mixes"][name], "the mixes of tq");
}

TQ_API GgufMix GgufMixReader::mix(const io::Json& json, const std::string& path) const {
  io::JsonFields fields(json, "tq::read_gguf_mix", path);
  GgufMix out;
  out.type = gguf_target(fields, "type");
  out.file_type = static_cast<std::uint32_t>(fields.integer("file_type", 0, 1024));
  const io::Json::array_t& rules = fields.array("rules");
  fields.finish();
  add_common(out);
  add_rules(out, rules, path);
  return out;
}

TQ_API void GgufMixReader::add_common(GgufMix& out) const {
  const auto text = [](const io::Json& value) { return value.get<std::string>(); };
  out.weights.emplace_back(text(all_["weights"]));
  for (const io::Json& each : all_["float"]) out.floats.emplace_back(text(each));
  for (const io::Json& each : all_["groups"])
    out.groups.push_back(
        {text(each["name"]), NameExpression(text(each["tensors"])), each.contains("counted")});
  for (const auto& [from, to] : all_["fallbacks"].items())
    out.fallbacks.emplace(layouts::gguf::find_type(from)->type,
                          layouts::gguf::find_type(text(to))->type);
}

TQ_API void GgufMixReader::add_rules(GgufMix& out, const io::Json::array_t& rules,
                                     const std::string& path) const {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string place = "rules[" + std::to_string(i) + "]";
    if (!rules[i].is_string()) {
      out.rules.push_back(rule(out, io::JsonFields(rules[i], "tq::read_gguf_mix", path, place)));
      continue;
    }
    std::vector<std::string> known;
    for (const auto& [name, list] : all_["shared"].items()) known.push_back(name);
    const auto name = rules[i].get<std::string>();
    if (std::ranges::find(known, name) == known.end())
      io::detail::fail(
          errc::unknown_name, "tq::read_gguf_mix", path, place,
          io::detail::expected_got("a rule or one of " + joined_names(known), io::shown(name)));
    add_rules(out, all_["shared"][name].get_ref<const io::Json::array_t&>(), path);
  }
}

TQ_API GgufRule GgufMixReader::rule(const GgufMix& mix, io::JsonFields fields) {
  GgufRule out;
  out.type = gguf_target(fields, "type");
  std::vector<std::string> groups;
  for (const GgufGroup& group : mix.groups) groups.push_back(group.name);
  if (fields.has("group")) out.group = fields.one_of("group", groups);
  if (fields.has("tensors"))
    out.tensors.emplace(in_context([&] { return fields.place("tensors"); },
                                   [&] { return fields.string("tensors"); }));
  if (!fields.has("group") && !fields.has("tensors"))
    fields.refuse("", "a \"group\" or \"tensors\" that the rule is for", "neither");
  if (fields.has("layers")) out.layers = gguf_layers(fields);
  if (fields.has("architecture")) out.architecture = fields.string("architecture");
  if (fields.has("experts")) out.experts = fields.count("experts");
  if (fields.has("blocks")) out.blocks = fields.count("blocks");
  if (fields.has("min_gqa")) out.min_gqa = fields.count("min_gqa");
  if (fields.has("importance")) out.importance = fields.boolean("importance");
  if (fields.has("stacked")) out.stacked = fields.boolean("stacked");
  fields.finish();
  return out;
}

}  // namespace store::detail

TQ_API std::vector<std::string> gguf_mix_names() { return store::detail::GgufMixReader().names(); }

TQ_API GgufMix gguf_mix(const std::string& name) {
  const store::detail::GgufMixReader reader;
  const std::vector<std::string> names = reader.names();
  std::string lower = name;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  if (std::ranges::find(names, lower) == names.end())
    detail::raise_expected(errc::unknown_name, "tq::gguf_mix", {"one of ", joined_names(names)},
                           {io::shown(name), did_you_mean(lower, names)});
  return reader.shipped(lower);
}

TQ_API GgufMix read_gguf_mix(const std::filesystem::path& file) {
  store::require_there(file);
  return store::detail::GgufMixReader().mix(io::parse_json(io::read_text(file), file.string()),
                                            file.string());
}

}  // namespace tq
