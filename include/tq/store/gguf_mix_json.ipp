// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/gguf_mix_json.hpp.

#include <tq/error.hpp>
#include <tq/json/json.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/model/name_expression.hpp>
#include <tq/select/precision_model.hpp>
#include <tq/store/gguf_mix.hpp>
#include <tq/store/gguf_mix_json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

namespace store::detail {

// A name as an expression of it.
TQ_API std::string escaped_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// "blk.12.attn_q.weight" as the number and what follows it; names of other forms have no number.
// "blk.12.attn_q.weight" as the number and what follows it; names of other forms have no number.
struct GgufNameParts {
  std::string number, rest;

  TQ_API explicit GgufNameParts(std::string_view name);
};

TQ_API GgufNameParts::GgufNameParts(std::string_view name) : rest(name) {
  constexpr std::string_view start = "blk.";
  if (!name.starts_with(start)) return;
  const std::size_t end = name.find_first_not_of("0123456789", start.size());
  if (end == name.npos || end == start.size() || name[end] != '.') return;
  number = name.substr(start.size(), end - start.size());
  rest = name.substr(end);
}

// Makes rules that give weights their types: weights of one name in several blocks share a rule.
// Makes rules that give weights their types: weights of one name in several blocks share a rule.
class GgufRuleMaker {
 public:
  TQ_API void add(const std::string& name, layouts::gguf::Type type);
  // The rules of the types other than `common`.
  [[nodiscard]] TQ_API io::Json rules(layouts::gguf::Type common) const;

 private:
  struct Rule {
    layouts::gguf::Type type;
    std::string rest;
    std::vector<std::string> numbers;
  };
  static constexpr std::size_t most_bytes = NameExpression::most_bytes / 2;

  // Expressions that are short enough.
  [[nodiscard]] TQ_API std::vector<std::string> expressions(const Rule& rule) const;

  std::vector<Rule> rules_;
  std::map<std::string, std::set<layouts::gguf::Type>> types_;  // of what follows the number
};

TQ_API void GgufRuleMaker::add(const std::string& name, layouts::gguf::Type type) {
  const GgufNameParts parts(name);
  types_[parts.rest].insert(type);
  const auto same = [&](const Rule& r) { return r.type == type && r.rest == parts.rest; };
  const auto found = std::ranges::find_if(rules_, same);
  Rule& rule = found == rules_.end() ? rules_.emplace_back(Rule{type, parts.rest, {}}) : *found;
  if (!parts.number.empty()) rule.numbers.push_back(parts.number);
}

TQ_API io::Json GgufRuleMaker::rules(layouts::gguf::Type common) const {
  io::Json out = io::Json::array();
  for (const Rule& rule : rules_) {
    if (rule.type == common) continue;
    for (const std::string& text : expressions(rule))
      out.push_back(
          {{"tensors", text}, {"type", std::string(layouts::gguf::info_of(rule.type).name)}});
  }
  return out;
}

TQ_API std::vector<std::string> GgufRuleMaker::expressions(const Rule& rule) const {
  const std::string rest = escaped_name(rule.rest) + '$', start = "^blk\\.";
  if (rule.numbers.empty()) return {'^' + rest};
  if (types_.at(rule.rest).size() == 1) return {start + "[0-9]+" + rest};
  if (rule.numbers.size() == 1) return {start + rule.numbers.front() + rest};
  std::vector<std::string> out;
  std::string numbers;
  for (const std::string& number : rule.numbers) {
    if (numbers.size() > most_bytes) {
      out.push_back(start + '(' + numbers + ')' + rest);
      numbers.clear();
    }
    numbers += (numbers.empty() ? "" : "|") + number;
  }
  out.push_back(start + '(' + numbers + ')' + rest);
  return out;
}

// The number that a file of mostly this type has: of the medium mix of the type, if there is one.
TQ_API std::uint32_t gguf_file_type(layouts::gguf::Type type) {
  std::string name(layouts::gguf::info_of(type).name);
  std::ranges::replace(name, 'K', 'k');
  const std::vector<std::string> names = gguf_mix_names();
  const bool has_medium = std::ranges::find(names, name + "_m") != names.end();
  return gguf_mix(has_medium ? name + "_m" : name).file_type;
}

}  // namespace store::detail

TQ_API io::Json gguf_mix_json(const GgufMeasurement& measured,
                              const PrecisionSelection& selection) {
  if (selection.nodes.size() != measured.kept.size())
    detail::raise_expected(errc::shape_mismatch, "tq::gguf_mix_json",
                           {"a selection of ", measured.kept.size(), " weights"},
                           {selection.nodes.size()});
  store::detail::GgufRuleMaker maker;
  std::map<layouts::gguf::Type, std::uint64_t> weights;
  for (std::size_t i = 0; i < selection.nodes.size(); ++i) {
    const SelectedPrecision& node = selection.nodes[i];
    layouts::gguf::Type type = measured.kept[i];
    if (node.choice.scheme != float_scheme) {
      const layouts::gguf::TypeInfo* const info = layouts::gguf::find_type(node.choice.scheme);
      if (info == nullptr)
        detail::raise_expected(errc::unknown_name, "tq::gguf_mix_json", {"a type of GGUF files"},
                               {detail::in_quotes(node.choice.scheme)});
      type = info->type;
    }
    maker.add(node.name, type);
    weights[type] += node.weights;
  }
  layouts::gguf::Type common = layouts::gguf::Type::f32;
  std::uint64_t most = 0;
  for (const auto& [type, count] : weights)
    if (count > most) {
      most = count;
      common = type;
    }
  return {{"type", std::string(layouts::gguf::info_of(common).name)},
          {"file_type", store::detail::gguf_file_type(common)},
          {"rules", maker.rules(common)}};
}

}  // namespace tq
