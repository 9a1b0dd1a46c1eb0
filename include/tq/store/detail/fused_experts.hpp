// SPDX-License-Identifier: MIT
#pragma once
// FusedExperts: experts that checkpoints hold one by one, as the stacks of the float model.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/detail/mlx_stacks.hpp>
#include <tq/checkpoints/model_layer.hpp>
#include <tq/checkpoints/served_config.hpp>
#include <tq/containers/dtype.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json_text.hpp>
#include <tq/model/detail/name_parts.hpp>
#include <tq/store/detail/output_shard.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/stored_tensor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tq::store::detail {

// A type of model whose files have the experts of a layer in two tensors, "experts.gate_up_proj"
// and "experts.down_proj": [experts, outputs, inputs], or with the inputs first. The outputs of
// gate_proj come before those of up_proj.
struct FusedType {
  std::string_view model_type;
  bool has_inputs_first = false;
};

// Source: transformers 5.24, the parameters of the models and conversion_mapping.py.
inline constexpr std::array fused_types{FusedType{"gemma4"},
                                        FusedType{"gemma4_text"},
                                        FusedType{"llama4", true},
                                        FusedType{"llama4_text", true},
                                        FusedType{"mistral4"},
                                        FusedType{"qwen3_5_moe"},
                                        FusedType{"qwen3_vl_moe", true}};

// The experts of a model by the types of models that have stacks of them in their files. For all
// other types, experts stay tensors of their own, as most files have them.
class FusedExperts {
 public:
  FusedExperts(const ModelContents& model, const std::filesystem::path& config_file) {
    const std::string type = model_type(config_file);
    const auto fused = std::ranges::find(fused_types, type, &FusedType::model_type);
    if (fused != fused_types.end()) {
      has_inputs_first_ = fused->has_inputs_first;
      for (const StoredTensor& t : model.tensors()) note(t);
      std::erase_if(mixtures_, [](const auto& each) { return !each.second.is_whole(); });
    } else if (io::detail::find_mlx_stacks(type) == nullptr) {
      has_unknown_ = std::ranges::any_of(
          model.tensors(), [](const StoredTensor& t) { return t.foreign && expert_of(t); });
      type_ = type;
    }
  }

  // Gives a job that decodes an expert its place in a stack, where there is one.
  void place(QuantizeJob& job) {
    const StoredTensor& t = *job.source;
    const std::optional<Expert> expert = job.is_decoded ? expert_of(t) : std::nullopt;
    const auto found = expert ? mixtures_.find(expert->mixture) : mixtures_.end();
    if (found == mixtures_.end()) return;
    Mixture& mixture = found->second;
    const bool is_down = expert->name == "down_proj";
    const std::size_t outputs = t.shape[0], inputs = t.shape[1];
    const std::size_t all = is_down ? outputs : 2 * outputs;  // of a matrix in the stack
    const std::size_t before = expert->name == "up_proj" ? outputs : 0;
    std::shared_ptr<const io::TensorDecl>& stack = is_down ? mixture.down : mixture.gate_up;
    job.declares_stack = stack == nullptr;
    if (!stack) {
      const std::size_t count = mixture.experts();
      stack = std::make_shared<const io::TensorDecl>(io::TensorDecl{
          expert->mixture + ".experts." + (is_down ? "down_proj" : "gate_up_proj"), t.dtype,
          has_inputs_first_ ? std::vector<std::size_t>{count, inputs, all}
                            : std::vector<std::size_t>{count, all, inputs}});
    }
    job.stack = stack;
    const std::size_t first = expert->number * all * inputs;
    job.in_stack = has_inputs_first_ ? io::MatrixPlace{first + before, 1, all}
                                     : io::MatrixPlace{first + before * inputs, inputs, 1};
  }
  // The shard of a job: for a stack, that of its first.
  [[nodiscard]] std::size_t shard_of(const QuantizeJob& job, std::size_t own) {
    return job.stack ? shards_.try_emplace(job.stack->name, own).first->second : own;
  }
  // The sentence about experts of an unknown type of model, or empty.
  [[nodiscard]] std::string note() const {
    if (!has_unknown_) return {};
    return "experts are tensors of their own, as most types of models have them; " +
           (type_.empty() ? std::string("config.json, which says the type, is not there")
                          : "the files of type \"" + type_ + "\" may have stacks");
  }

 private:
  struct Expert {
    std::string mixture, name;
    std::size_t number;
  };
  // The experts of a layer, of which shapes and numbers are to fit together.
  struct Mixture {
    std::map<std::string, std::vector<std::size_t>> shapes{};  // by projection
    std::map<std::string, std::vector<bool>> seen{};
    std::optional<io::DType> dtype{};
    bool fits = true;
    std::shared_ptr<const io::TensorDecl> gate_up{}, down{};

    [[nodiscard]] std::size_t experts() const { return seen.at("down_proj").size(); }
    [[nodiscard]] bool is_whole() const {
      return fits && seen.size() == 3 && shapes.at("gate_proj") == shapes.at("up_proj") &&
             std::ranges::all_of(seen, [&](const auto& each) {
               return each.second.size() == experts() &&
                      std::ranges::find(each.second, false) == each.second.end();
             });
    }
  };

  [[nodiscard]] static std::string model_type(const std::filesystem::path& config_file) {
    std::error_code code;
    if (!std::filesystem::is_regular_file(config_file, code)) return {};
    const io::Json config = io::Json::parse(io::read_text(config_file), nullptr, false);
    return config.is_object() ? io::served_config(config).model_type : std::string();
  }

  // The parts of a name: "a.mlp", "up_proj" and 3 of "a.mlp.experts.3.up_proj.weight".
  [[nodiscard]] static std::optional<Expert> expert_of(const StoredTensor& t) {
    constexpr std::string_view ending = ".weight";
    if (t.shape.size() != 2 || !t.name.ends_with(ending)) return std::nullopt;
    const std::optional<io::detail::ExpertName> name =
        io::detail::expert_name(std::string_view(t.name).substr(0, t.name.size() - ending.size()));
    const std::optional<std::size_t> number = name ? name->index() : std::nullopt;
    if (!number || name->layer.empty()) return std::nullopt;
    return Expert{name->mixture, name->layer, *number};
  }

  void note(const StoredTensor& t) {
    const std::optional<Expert> expert = expert_of(t);
    if (!expert) return;
    constexpr std::array<std::string_view, 3> names{"gate_proj", "up_proj", "down_proj"};
    Mixture& mixture = mixtures_[expert->mixture];
    if (!t.foreign || !tq::detail::is_one_of(expert->name, names)) mixture.fits = false;
    if (mixture.dtype.value_or(t.dtype) != t.dtype) mixture.fits = false;
    mixture.dtype = t.dtype;
    const auto shape = mixture.shapes.emplace(expert->name, t.shape);
    if (shape.first->second != t.shape) mixture.fits = false;
    std::vector<bool>& seen = mixture.seen[expert->name];
    if (seen.size() <= expert->number) seen.resize(expert->number + 1);
    seen[expert->number] = true;
  }

  bool has_inputs_first_ = false, has_unknown_ = false;
  std::string type_;
  std::map<std::string, Mixture> mixtures_;
  std::map<std::string, std::size_t> shards_;  // of stacks
};

}  // namespace tq::store::detail
