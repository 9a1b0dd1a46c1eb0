// SPDX-License-Identifier: MIT
#pragma once
// Scalings of rotary embeddings, from a config.json to a GGUF file. Source: llama.cpp,
// convert_hf_to_gguf.py.

#include <tq/containers/gguf_value.hpp>
#include <tq/json/json.hpp>
#include <tq/store/detail/gguf_decider.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/model_config.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// The divisors of the frequencies of "llama3": 1 for short waves, `factor` for long ones.
[[nodiscard]] inline std::vector<float> llama3_rope_factors(const ModelConfig& config,
                                                            const std::string& object,
                                                            std::size_t head_size) {
  const auto number = [&](const char* field, double otherwise) {
    return config.number({object + "." + field}, otherwise);
  };
  const double factor = number("factor", 8), low = number("low_freq_factor", 1),
               high = number("high_freq_factor", 4),
               context = number("original_max_position_embeddings", 8192),
               base = config.number({"rope_theta", "rope_parameters.rope_theta"}, 10000);
  std::vector<float> out;
  for (std::size_t i = 0; i < head_size; i += 2) {
    const double wave = 2 * std::numbers::pi *
                        std::pow(base, static_cast<double>(i) / static_cast<double>(head_size));
    const double smooth = (context / wave - low) / (high - low);
    const double divisor = wave < context / high  ? 1.0
                           : wave > context / low ? factor
                                                  : 1 / ((1 - smooth) / factor + smooth);
    out.push_back(static_cast<float>(divisor));
  }
  return out;
}

// Adds what llama.cpp wants for the scaling that the model has: keys for "linear", and a tensor of
// divisors for "llama3". Throws: `errc::unsupported` for others.
inline void add_rope_scaling(const ModelConfig& config, const std::string& architecture,
                             GgufInput& input) {
  for (const char* const name : {"rope_scaling", "rope_parameters"}) {
    const std::string object = name;
    const ConfigFields fields{object + ".rope_type", object + ".type"};
    const io::Json* const type = config.find(fields);
    if (type == nullptr || *type == "default") continue;
    if (*type == "linear") {
      const auto factor = static_cast<float>(config.number({object + ".factor"}, 1));
      input.entries.push_back({architecture + ".rope.scaling.type", std::string("linear")});
      input.entries.push_back({architecture + ".rope.scaling.factor", factor});
    } else if (*type == "llama3") {
      const std::uint64_t size =
          gguf_count(input.entries, architecture + ".rope.dimension_count").value_or(0);
      GgufItem item;
      item.values = llama3_rope_factors(config, object, static_cast<std::size_t>(size));
      item.to = {"rope_freqs.weight", {item.values.size()}};
      item.from_type = "computed";
      input.items.push_back(std::move(item));
    } else {
      config.refuse(fields.front() + " \"default\", \"linear\" or \"llama3\"",
                    io::JsonFields::got(*type));
    }
    return;
  }
}

}  // namespace tq::store::detail
