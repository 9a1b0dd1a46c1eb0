// SPDX-License-Identifier: MIT
#pragma once
// GgufDecider: the types of the tensors of a model, by the rules of a mix.

#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/gguf_mix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tq::store::detail {

using io::find_gguf_value;
using io::gguf_count;

[[nodiscard]] inline std::string gguf_architecture(std::span<const io::GgufEntry> entries) {
  const io::GgufValue* const value = find_gguf_value(entries, "general.architecture");
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

// The number N of a tensor "blk.N.attn_q.weight", or nothing.
[[nodiscard]] inline std::optional<std::size_t> gguf_block(std::string_view name) {
  constexpr std::string_view start = "blk.";
  if (!name.starts_with(start)) return std::nullopt;
  std::size_t number = 0, at = start.size();
  for (; at < name.size() && name[at] >= '0' && name[at] <= '9' && number < 1000000; ++at)
    number = number * 10 + static_cast<std::size_t>(name[at] - '0');
  return at == start.size() || at == name.size() || name[at] != '.' ? std::nullopt
                                                                    : std::optional(number);
}

// A tensor that gets a type.
struct GgufShape {
  std::string name;
  std::vector<std::size_t> shape;

  [[nodiscard]] std::size_t columns() const { return shape.empty() ? 1 : shape.back(); }
  // As ggml counts axes: not those of extent 1 in front.
  [[nodiscard]] std::size_t rank() const {
    const auto first = std::ranges::find_if(shape, [](std::size_t n) { return n != 1; });
    return static_cast<std::size_t>(shape.end() - first);
  }
};

class GgufDecider {
 public:
  GgufDecider(const GgufMix& mix, std::span<const io::GgufEntry> entries,
              std::span<const GgufShape> tensors, bool has_importance)
      : mix_(mix), architecture_(gguf_architecture(entries)), has_importance_(has_importance) {
    const auto count = [&](const char* key) {
      return gguf_count(entries, architecture_ + "." + key).value_or(0);
    };
    experts_ = count("expert_count");
    blocks_ = count("block_count");
    const std::uint64_t heads = count("attention.head_count"),
                        keys = count("attention.head_count_kv");
    gqa_ = keys == 0 ? 1 : heads / keys;
    has_output_ = std::ranges::find(tensors, "output.weight", &GgufShape::name) != tensors.end();
    number_layers(tensors);
  }

  // True for weights of at least two axes that the mix does not leave in float.
  [[nodiscard]] bool is_weight(const GgufShape& tensor) const {
    const auto is_in = [&](const NameExpression& e) { return e.is_in(tensor.name); };
    return tensor.rank() >= 2 && std::ranges::any_of(mix_.weights, is_in) &&
           std::ranges::none_of(mix_.floats, is_in);
  }
  // The type that the rules choose, whatever the rows are.
  [[nodiscard]] layouts::gguf::Type chosen(const GgufShape& tensor) const {
    const std::string group = group_of(tensor.name);
    for (const GgufRule& rule : mix_.rules)
      if (fits(rule, group, tensor)) return rule.type;
    return mix_.type;
  }
  // The type or, for rows that are no whole blocks of it, its fallback or float16.
  [[nodiscard]] layouts::gguf::Type fitting(layouts::gguf::Type type,
                                            const GgufShape& tensor) const {
    const auto is_whole = [&](layouts::gguf::Type t) {
      return tensor.columns() % layouts::gguf::info_of(t).elements == 0;
    };
    if (is_whole(type)) return type;
    const auto other = mix_.fallbacks.find(type);
    return other != mix_.fallbacks.end() && is_whole(other->second) ? other->second
                                                                    : layouts::gguf::Type::f16;
  }

 private:
  // The group of a tensor, or empty. An embedding that is also the output counts as output.
  [[nodiscard]] std::string group_of(const std::string& name) const {
    for (const GgufGroup& group : mix_.groups)
      if (group.tensors.is_in(name))
        return group.name == "token_embd" && !has_output_ ? "output" : group.name;
    return "";
  }

  // Numbers the tensors of counted groups, by blocks and then by names.
  void number_layers(std::span<const GgufShape> tensors) {
    std::vector<std::pair<std::size_t, std::string>> members;
    for (const GgufGroup& group : mix_.groups) {
      if (!group.is_counted) continue;
      members.clear();
      for (const GgufShape& t : tensors)
        if (group_of(t.name) == group.name)
          members.emplace_back(gguf_block(t.name).value_or(0), t.name);
      std::ranges::sort(members);
      for (std::size_t i = 0; i < members.size(); ++i)
        counted_[members[i].second] = {i, members.size()};
    }
  }

  [[nodiscard]] bool fits(const GgufRule& rule, const std::string& group,
                          const GgufShape& tensor) const {
    if (!rule.group.empty() && rule.group != group) return false;
    if (rule.tensors && !rule.tensors->is_in(tensor.name)) return false;
    if (!rule.architecture.empty() && rule.architecture != architecture_) return false;
    if (rule.experts && *rule.experts != experts_) return false;
    if (rule.blocks && *rule.blocks != blocks_) return false;
    if (gqa_ < rule.min_gqa) return false;
    if (rule.importance && *rule.importance != has_importance_) return false;
    if (rule.stacked && tensor.rank() < 3) return false;
    if (rule.layers.kind == GgufLayers::Kind::all) return true;
    const auto counted = counted_.find(tensor.name);
    if (counted != counted_.end()) {
      const auto [i, n] = counted->second;
      return rule.layers.contain(i, n);
    }
    const std::optional<std::size_t> block = gguf_block(tensor.name);
    return block && rule.layers.contain(*block, static_cast<std::size_t>(blocks_));
  }

  const GgufMix& mix_;
  std::string architecture_;
  std::uint64_t experts_ = 0, blocks_ = 0, gqa_ = 1;
  bool has_importance_, has_output_ = false;
  std::map<std::string, std::pair<std::size_t, std::size_t>> counted_;  // number, and of how many
};

}  // namespace tq::store::detail
