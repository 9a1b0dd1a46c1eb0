// SPDX-License-Identifier: MIT
#pragma once
// mixture: a checkpoint whose layers have several schemes of one format.

#include <tq/checkpoints/detail/layer_names.hpp>
#include <tq/checkpoints/scheme_layers.hpp>
#include <tq/checkpoints/weight_coder.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/error.hpp>
#include <tq/model/detail/name_parts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::format {

/// A format whose configuration can give each layer a scheme of its own.
template <class F>
concept Mixable = io::WritableFormat<F> &&
                  requires(std::span<const io::SchemeLayers<F>> parts, const io::WrittenModel& m) {
                    { F::mixed_config(parts, m) } -> std::same_as<io::Json>;
                  };

/// Schemes of F for the layers of a model; layers without one stay floats. Layers that engines fuse
/// have one scheme. `measure_checkpoint` and `PrecisionSelector` find the best mixture of a size.
template <Mixable F>
struct mixture {
  static constexpr std::string_view name = F::name, metadata = F::metadata;
  static constexpr bool takes_experts_whole = false, takes_head = true;

  std::map<std::string, F> layers;  ///< by module: "model.layers.0.mlp.up_proj"

  /// Throws: as F; `errc::unsupported` where no layer has a scheme.
  void require_valid() const {
    if (layers.empty())
      tq::detail::raise_expected(errc::unsupported, name, {"schemes of layers"}, {"none"});
    for (const auto& [module, scheme] : layers) scheme.require_valid();
  }

  /// Empty where the layer has a scheme that it fits, else the reason.
  [[nodiscard]] std::string problem(const io::LinearWeight& layer, std::size_t processors) const {
    const auto found = layers.find(layer.module);
    return found == layers.end() ? "no scheme is chosen" : found->second.problem(layer, processors);
  }

  [[nodiscard]] bool needs_set_abs_max() const {
    return std::ranges::any_of(layers, [](const auto& l) { return l.second.needs_set_abs_max(); });
  }
  /// The module of the stack that has the weight of an expert, as F says.
  [[nodiscard]] static std::string stack_of(std::string_view module, std::string_view model_type)
    requires requires { F::stack_of(module, model_type); }
  {
    return F::stack_of(module, model_type);
  }

  /// Whether the layer has a scale of activations.
  [[nodiscard]] bool needs_inputs_abs_max([[maybe_unused]] const io::LinearWeight& layer) const {
    if constexpr (requires { of(layer).needs_inputs_abs_max(layer); })
      return of(layer).needs_inputs_abs_max(layer);
    else return false;
  }
  /// The fewest outputs of a layer whose parts follow those of the outputs before.
  [[nodiscard]] std::size_t rows_at_once(const io::LinearWeight& layer) const {
    return of(layer).rows_at_once(layer);
  }

  /// Names, types and shapes of the parts. Precondition: the layer has no `problem`.
  [[nodiscard]] std::vector<io::TensorDecl> declarations(const io::LinearWeight& layer) const {
    return of(layer).declarations(layer);
  }
  /// The parts of float32 values. Throws: as F.
  [[nodiscard]] std::vector<io::Tensor> quantize(const io::LinearWeight& layer,
                                                 const ConstTensorView& values,
                                                 const io::WeightCoder* coder = nullptr) const {
    return of(layer).quantize(layer, values, coder);
  }
  /// The parts of codes that exist. Throws: as F.
  [[nodiscard]] std::vector<io::Tensor> save(const io::LinearWeight& layer,
                                             const CheckpointTensor& weight) const {
    return of(layer).save(layer, weight);
  }

  /// The value of "quantization_config". Throws: `errc::unsupported` for layers of several schemes
  /// that engines fuse.
  [[nodiscard]] io::Json quantization_config(const io::WrittenModel& model) const {
    require_one_of_sets(model);
    std::vector<io::SchemeLayers<F>> parts;
    for (const std::string& module : model.quantized) {
      const F& scheme = layers.at(module);
      auto part = std::ranges::find(parts, scheme, &io::SchemeLayers<F>::format);
      if (part == parts.end()) part = parts.insert(part, {scheme, {}});
      part->modules.push_back(module);
    }
    return F::mixed_config(parts, model);
  }

  [[nodiscard]] static std::vector<std::pair<std::string, io::Json>> more_config(
      const io::Json& config)
    requires requires { F::more_config(config); }
  {
    return F::more_config(config);
  }

  /// The modules that have a scheme.
  [[nodiscard]] std::vector<std::string> modules() const {
    std::vector<std::string> out;
    for (const auto& layer : layers) out.push_back(layer.first);
    return out;
  }

  /// The notes of all schemes.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> out;
    for (const auto& [module, scheme] : layers)
      for (std::string& note : scheme.notes())
        if (std::ranges::find(out, note) == out.end()) out.push_back(std::move(note));
    return out;
  }

 private:
  [[nodiscard]] const F& of(const io::LinearWeight& layer) const {
    const auto found = layers.find(layer.module);
    if (found == layers.end())
      tq::detail::raise_expected(errc::bad_argument, name, {"a layer with a scheme"},
                                 {layer.module});
    return found->second;
  }

  void require_one_of_sets(const io::WrittenModel& model) const {
    std::map<std::string, std::string> first;  // module of each set
    for (const std::string& module : model.quantized) {
      const auto layer_name = io::detail::layer_name(tq::detail::NameParts(module).last());
      if (!layer_name) continue;
      const auto [at, is_new] =
          first.emplace(io::detail::scheme_set_of(module, *layer_name), module);
      if (!is_new && !(layers.at(at->second) == layers.at(module)))
        tq::detail::raise_expected(errc::unsupported, name,
                                   {"one scheme for layers that engines fuse"},
                                   {"two for ", at->second, " and ", module});
    }
  }
};

}  // namespace tq::format
