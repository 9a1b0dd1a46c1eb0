// SPDX-License-Identifier: MIT
#pragma once
// CheckpointHints: what a checkpoint's configuration says of its weights, and its tensors do not.

#include <tq/io/json_text.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tq::io {

/// What the shapes of quantized weights leave open.
struct CheckpointHints {
  std::size_t group_size = 0;  ///< 0: found from the shapes, where these tell
  bool is_gptq_v2 = false;     ///< checkpoint_format "gptq_v2": qzeros hold zero points as they are
};

/// The hints of quantize_config.json, or of quantization_config in config.json, in the folder of a
/// checkpoint; the defaults where there is none that says so.
[[nodiscard]] inline CheckpointHints read_checkpoint_hints(const std::filesystem::path& folder) {
  CheckpointHints hints;
  for (const char* name : {"config.json", "quantize_config.json"}) {
    std::ifstream in(folder / name, std::ios::binary);
    if (!in) continue;
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    Json config = Json::parse(text, nullptr, false);
    if (config.is_object() && config.contains("quantization_config"))
      config = Json(config["quantization_config"]);
    if (!config.is_object()) continue;
    if (const auto size = config.find("group_size");
        size != config.end() && size->is_number_integer() && size->get<std::int64_t>() > 0)
      hints.group_size = size->get<std::size_t>();
    if (const auto format = config.find("checkpoint_format");
        format != config.end() && format->is_string())
      hints.is_gptq_v2 = format->get<std::string>() == "gptq_v2";
  }
  return hints;
}

}  // namespace tq::io
