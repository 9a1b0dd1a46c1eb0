// SPDX-License-Identifier: MIT
#pragma once
// CheckpointHints: what a checkpoint's configuration says of its weights, and its tensors do not.

#include <tq/error.hpp>
#include <tq/json/json_text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tq::io {

/// Facts that the shapes of quantized weights leave open, or must not contradict.
struct CheckpointHints {
  std::size_t group_size = 0;  ///< 0: found from the shapes, where these tell
  bool is_gptq_v2 = false;     ///< checkpoint_format "gptq_v2": qzeros hold zero points as they are
  std::set<std::size_t> widths{};    ///< the bits of integer codes; none: found from the shapes
  std::vector<std::size_t> block{};  ///< of float8 weights; empty: found from the shapes
  /// How compressed-tensors lays out scales ("tensor", "channel", "group", "tensor_group" or
  /// "block"), each for some of the weights; none: found from the shapes.
  std::set<std::string> strategies{};
  std::string unreadable{};  ///< why a file beside the weights is no JSON; empty: each one is
};

/// The files beside a checkpoint that `read_checkpoint_hints` reads.
inline constexpr std::array<const char*, 2> checkpoint_hint_files{"config.json",
                                                                  "quantize_config.json"};

namespace detail {

// The positive integer under a key, or 0.
[[nodiscard]] inline std::size_t hinted_size(const Json& object, const char* key) {
  const auto found = object.find(key);
  const bool is_size =
      found != object.end() && found->is_number_integer() && found->get<std::int64_t>() > 0;
  return is_size ? found->get<std::size_t>() : 0;
}

// The text under a key, or empty.
[[nodiscard]] inline std::string hinted_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Positive integers under a key, or none.
[[nodiscard]] inline std::vector<std::size_t> hinted_sizes(const Json& object, const char* key) {
  std::vector<std::size_t> out;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return {};
  for (const Json& size : *found) {
    if (!size.is_number_integer() || size.get<std::int64_t>() <= 0) return {};
    out.push_back(size.get<std::size_t>());
  }
  return out;
}

// Takes the hints on which all groups of layers of a compressed-tensors checkpoint agree.
inline void take_config_groups(const Json& groups, CheckpointHints& hints) {
  std::set<std::size_t> sizes;
  std::set<std::vector<std::size_t>> blocks;
  bool all_have_strategies = true;
  for (const Json& group : groups) {
    if (!group.is_object() || !group.contains("weights") || !group["weights"].is_object()) continue;
    const Json& weights = group["weights"];
    const std::string strategy = hinted_text(weights, "strategy");
    if (strategy.empty()) all_have_strategies = false;
    else hints.strategies.insert(strategy);
    const bool has_groups = strategy == "group" || strategy == "tensor_group";
    if (strategy.empty() || has_groups) sizes.insert(hinted_size(weights, "group_size"));
    if (strategy.empty() || strategy == "block")
      blocks.insert(hinted_sizes(weights, "block_structure"));
    const bool is_integer = !weights.contains("type") || hinted_text(weights, "type") == "int";
    if (const std::size_t bits = hinted_size(weights, "num_bits"); bits != 0 && is_integer)
      hints.widths.insert(bits);
  }
  if (!all_have_strategies) hints.strategies.clear();
  if (sizes.size() == 1) hints.group_size = *sizes.begin();
  if (blocks.size() == 1) hints.block = *blocks.begin();
}

// Takes the hints of a "quantization_config".
inline void take_hints(const Json& config, CheckpointHints& hints) {
  if (const auto groups = config.find("config_groups");
      groups != config.end() && groups->is_object())
    take_config_groups(*groups, hints);
  if (const std::size_t size = hinted_size(config, "group_size"); size != 0)
    hints.group_size = size;
  for (const Json& layer : config) {  // MLX: layers of their own
    const std::size_t own = layer.is_object() ? hinted_size(layer, "group_size") : 0;
    if (own != 0 && own != hints.group_size) hints.group_size = 0;
  }
  if (auto block = hinted_sizes(config, "weight_block_size"); !block.empty())
    hints.block = std::move(block);
  if (const std::string format = hinted_text(config, "checkpoint_format"); !format.empty())
    hints.is_gptq_v2 = format == "gptq_v2";
}

// The error of `parse_json`, with the name of the file; empty for JSON.
[[nodiscard]] inline std::string why_no_json(const std::string& text,
                                             const std::filesystem::path& file) {
  try {
    static_cast<void>(parse_json(text, file.string()));
    return {};
  } catch (const error& e) {
    return e.what();
  }
}

}  // namespace detail

/// The hints of quantize_config.json, or of quantization_config in config.json, in the folder of a
/// checkpoint; defaults for hints that these files do not give.
[[nodiscard]] inline CheckpointHints read_checkpoint_hints(const std::filesystem::path& folder) {
  CheckpointHints hints;
  for (const char* const name : checkpoint_hint_files) {
    std::ifstream in(folder / name, std::ios::binary);
    if (!in) continue;
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const bool has_nul = text.find('\0') != text.npos;  // the parser takes it for the end
    Json config = has_nul ? Json() : Json::parse(text, nullptr, false);
    if (has_nul || config.is_discarded())
      hints.unreadable = detail::why_no_json(text, folder / name);
    if (config.is_object() && config.contains("quantization_config"))
      config = Json(config["quantization_config"]);
    if (config.is_object()) detail::take_hints(config, hints);
  }
  return hints;
}

}  // namespace tq::io
