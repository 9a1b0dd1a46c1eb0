// SPDX-License-Identifier: MIT
#pragma once
// Conv1dModel: tells the matrices [inputs, outputs] of GPT-2 and its relatives.

#include <tq/checkpoints/served_config.hpp>
#include <tq/error.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tq::store::detail {

// The names alone leave it open, for other models have linear layers of these names. The
// config.json beside the model tells it, or the shapes: a bias has as many elements as outputs, and
// c_attn and c_fc have more outputs than inputs.
class Conv1dModel {
 public:
  explicit Conv1dModel(const ModelContents& model)
      : is_one_(says_so(model.files().front().parent_path() / "config.json") ||
                std::ranges::any_of(model.tensors(), [&](const StoredTensor& t) {
                  return has_name(t) && widens(t, model);
                })) {}

  // True for a matrix [inputs, outputs].
  [[nodiscard]] bool has_inputs_first(const StoredTensor& t) const {
    return is_one_ && has_name(t);
  }

 private:
  static constexpr std::string_view ending = ".weight";

  [[nodiscard]] static bool says_so(const std::filesystem::path& config) {
    std::error_code code;
    if (!std::filesystem::is_regular_file(config, code)) return false;
    std::string type;
    try {
      type = io::served_config(io::parse_json(io::read_text(config), config.string())).model_type;
    } catch (const error&) {  // the file is of something else
      return false;
    }
    return type == "gpt2" || type == "openai-gpt";
  }
  [[nodiscard]] static std::string_view module_of(const StoredTensor& t) {
    return std::string_view(t.name).substr(0, t.name.size() - ending.size());
  }
  [[nodiscard]] static std::string_view last_of(const StoredTensor& t) {
    const std::string_view module = module_of(t);
    return module.substr(module.rfind('.') + 1);
  }
  [[nodiscard]] static bool has_name(const StoredTensor& t) {
    static constexpr std::array<std::string_view, 4> known{"c_attn", "c_proj", "c_fc", "q_attn"};
    return t.shape.size() == 2 && t.name.ends_with(ending) &&
           std::ranges::find(known, last_of(t)) != known.end();
  }
  // True where shapes say that the last axis is that of outputs.
  [[nodiscard]] static bool widens(const StoredTensor& t, const ModelContents& model) {
    const std::size_t first = t.shape[0], last = t.shape[1];
    if (first == last) return false;
    if (const StoredTensor* bias = model.find(std::string(module_of(t)) + ".bias"))
      return bias->shape == std::vector<std::size_t>{last};
    const std::string_view name = last_of(t);
    return (name == "c_attn" && last == 3 * first) || (name == "c_fc" && last == 4 * first);
  }

  bool is_one_;
};

}  // namespace tq::store::detail
