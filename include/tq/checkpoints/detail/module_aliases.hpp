// SPDX-License-Identifier: MIT
#pragma once
// Other names of modules in configurations: engines rename modules of a file when they load it, and
// transformers 5 compares the new names with those of a configuration.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/written_model.hpp>
#include <tq/model/detail/name_parts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io::detail {

// The name with `from` replaced by `to` where it has it, else empty.
[[nodiscard]] inline std::string with_part(std::string_view name, std::string_view from,
                                           std::string_view to) {
  const std::size_t at = name.find(from);
  if (at == name.npos) return {};
  return std::string(name.substr(0, at)) + std::string(to) +
         std::string(name.substr(at + from.size()));
}

// Names of a module in the class of its model: the language model within a multimodal model, and
// the mixture of a block. Source: transformers 5.24, conversion_mapping.py.
[[nodiscard]] inline std::vector<std::string> module_aliases(const std::string& module,
                                                             bool is_multimodal) {
  std::vector<std::string> names{module};
  const auto add = [&](std::string_view from, std::string_view to, bool is_first) {
    for (std::size_t i = 0, n = names.size(); i < n; ++i)
      if (std::string name = with_part(names[i], from, to);
          !name.empty() && (!is_first || names[i].starts_with(from)))
        names.push_back(std::move(name));
  };
  add("language_model.model.", "model.language_model.", true);
  add("language_model.lm_head", "lm_head", true);
  if (is_multimodal) add("model.layers.", "model.language_model.layers.", true);
  add(".block_sparse_moe.gate", ".mlp.router", false);
  add(".block_sparse_moe.", ".mlp.", false);
  if (!before_experts(module).empty()) {
    using Pair = std::pair<std::string_view, std::string_view>;
    for (const auto& [from, to] :
         {Pair{".w1", ".gate_proj"}, Pair{".w3", ".up_proj"}, Pair{".w2", ".down_proj"}})
      if (module.ends_with(from)) add(from, to, false);
  }
  return names;
}

// A regular expression for all modules of the part of a model that sees or hears, such as
// "re:(.*\.)?vision_tower\..*"; empty for other modules.
[[nodiscard]] inline std::string tower_pattern(const std::string& module) {
  const std::size_t dot = module.find('.');
  if (dot == module.npos) return {};
  std::size_t begin = 0;
  for (std::size_t end = dot; end != module.npos; end = module.find('.', begin)) {
    const std::string part = module.substr(begin, end - begin);
    if (!tower_of(tq::detail::NameParts(part + ".weight")).empty())
      return "re:(.*\\.)?" + part + "\\..*";
    begin = end + 1;
  }
  return {};
}

[[nodiscard]] inline bool has_tower(const WrittenModel& model) {
  return std::ranges::any_of(model.left,
                             [](const std::string& m) { return !tower_pattern(m).empty(); });
}

// The modules with their other names behind them, each once.
[[nodiscard]] inline std::vector<std::string> with_aliases(const std::vector<std::string>& modules,
                                                           bool is_multimodal) {
  std::vector<std::string> out = modules;
  std::set<std::string> known(modules.begin(), modules.end());
  for (const std::string& module : modules)
    for (std::string& name : module_aliases(module, is_multimodal))
      if (known.insert(name).second) out.push_back(std::move(name));
  return out;
}

// The modules that stay floats under all their names, and patterns of the towers. vLLM renames
// exact names by itself, and takes patterns as they are.
[[nodiscard]] inline std::vector<std::string> left_names(const WrittenModel& model) {
  std::vector<std::string> out = with_aliases(model.left, has_tower(model));
  std::set<std::string> patterns;
  for (const std::string& module : model.left)
    if (std::string pattern = tower_pattern(module); !pattern.empty())
      patterns.insert(std::move(pattern));
  out.insert(out.end(), patterns.begin(), patterns.end());
  return out;
}

}  // namespace tq::io::detail
