// SPDX-License-Identifier: MIT
#pragma once
// ServedConfig: what config.json says of a language model that an engine is to load.

#include <tq/containers/dtype.hpp>
#include <tq/json/json_text.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tq::io {

/// Facts of a config.json that decide on the layers of a checkpoint.
struct ServedConfig {
  std::string model_type;        ///< "llama"; empty where there is none
  std::optional<DType> dtype{};  ///< "dtype" or "torch_dtype": f32, f16 or bf16
  std::size_t blocks = 0;        ///< number of decoder blocks; 0: unknown
  bool is_tied = false;          ///< the head has the weight of the embedding
};

/// The keys of a multimodal model's configuration whose objects describe its language model.
inline constexpr std::array<const char*, 4> language_model_keys{
    "text_config", "llm_config", "language_config", "thinker_config"};

namespace detail {

// The value under a key of the configuration, or else of the language model in it; null without.
[[nodiscard]] inline Json served_value(const Json& config, const char* key) {
  if (!config.is_object()) return nullptr;
  if (const auto found = config.find(key); found != config.end()) return *found;
  for (const char* const part : language_model_keys)
    if (const auto inner = config.find(part); inner != config.end())
      if (Json value = served_value(*inner, key); !value.is_null()) return value;
  return nullptr;
}

[[nodiscard]] inline std::size_t served_size(const Json& config, const char* key) {
  const Json value = served_value(config, key);
  return value.is_number_integer() && value.get<std::int64_t>() > 0 ? value.get<std::size_t>() : 0;
}

[[nodiscard]] inline std::optional<DType> served_dtype(const Json& config) {
  for (const char* const key : {"dtype", "torch_dtype"}) {
    const Json value = served_value(config, key);
    if (!value.is_string()) continue;
    std::string_view name = value.get_ref<const std::string&>();
    if (name.starts_with("torch.")) name.remove_prefix(6);
    if (name == "bfloat16") return DType::bf16;
    if (name == "float16") return DType::f16;
    if (name == "float32") return DType::f32;
  }
  return std::nullopt;
}

}  // namespace detail

/// The facts of a configuration; of a multimodal model, those of its language model.
[[nodiscard]] inline ServedConfig served_config(const Json& config) {
  ServedConfig out;
  if (const Json type = detail::served_value(config, "model_type"); type.is_string())
    out.model_type = type.get<std::string>();
  out.dtype = detail::served_dtype(config);
  for (const char* const key : {"num_hidden_layers", "n_layer", "num_layers"})
    if (out.blocks == 0) out.blocks = detail::served_size(config, key);
  out.is_tied = detail::served_value(config, "tie_word_embeddings") == Json(true);
  return out;
}

}  // namespace tq::io
