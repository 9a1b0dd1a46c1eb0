// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/json/model_sizes_json.hpp.

#include <tq/json/model_sizes_json.hpp>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>

namespace tq::io {

namespace detail {

TQ_API void take_size(const Json& value, std::set<std::size_t>& sizes) {
  if (value.is_array())
    for (const Json& each : value) {
      if (each.is_number_integer() && each.get<std::int64_t>() > 0)
        sizes.insert(each.get<std::size_t>());
    }
  else if (value.is_number_integer() && value.get<std::int64_t>() > 0)
    sizes.insert(value.get<std::size_t>());
}

template <std::size_t N>
void take_sizes(const Json& config, const std::array<const char*, N>& keys,
                std::set<std::size_t>& sizes) {
  for (const char* key : keys)
    if (const auto found = config.find(key); found != config.end()) take_size(*found, sizes);
}

TQ_API void take_model_sizes(const Json& config, int depth, ModelSizes& sizes) {
  constexpr std::array vocabularies{"vocab_size", "n_vocab", "padded_vocab_size"};
  constexpr std::array experts{"num_experts",           "num_local_experts",  "n_routed_experts",
                               "moe_num_experts",       "num_routed_experts", "n_experts",
                               "moe_num_routed_experts"};
  constexpr std::array widths{"hidden_size", "d_model", "n_embd", "dim", "model_dim"};
  constexpr std::array labels{"num_labels", "num_classes", "n_classes"};
  constexpr std::array<std::string_view, 5> with_inputs_first{"gpt_oss", "llama4", "llama4_text",
                                                              "aria", "aria_text"};
  take_sizes(config, vocabularies, sizes.vocabularies);
  take_sizes(config, experts, sizes.experts);
  take_sizes(config, widths, sizes.widths);
  take_sizes(config, labels, sizes.labels);
  if (const auto names = config.find("id2label"); names != config.end() && names->is_object())
    if (!names->empty()) sizes.labels.insert(names->size());
  if (const auto type = config.find("model_type"); type != config.end() && type->is_string())
    for (const std::string_view each : with_inputs_first)
      if (each == type->get_ref<const std::string&>()) sizes.stacks_have_inputs_first = true;
  constexpr int deepest = 4;
  if (depth == deepest) return;
  for (const auto& [key, value] : config.items())
    if (value.is_object() && key != "quantization_config")
      take_model_sizes(value, depth + 1, sizes);
}

}  // namespace detail

TQ_API ModelSizes model_sizes_from_json(const Json& config) {
  ModelSizes sizes;
  if (config.is_object()) detail::take_model_sizes(config, 0, sizes);
  return sizes;
}

TQ_API ModelSizes read_model_sizes(const std::filesystem::path& folder) {
  std::ifstream in(folder / "config.json", std::ios::binary);
  if (!in) return {};
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return model_sizes_from_json(Json::parse(text, nullptr, false));
}

}  // namespace tq::io
