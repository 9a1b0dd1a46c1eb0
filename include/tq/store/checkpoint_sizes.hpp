// SPDX-License-Identifier: MIT
#pragma once
// CheckpointSizes: the sizes of the weight files of mixtures before they are written.

#include <tq/checkpoints/format/mixture.hpp>
#include <tq/error.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/detail/erased_format.hpp>
#include <tq/store/detail/planned_sizes.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace tq {

/// The bytes of all .safetensors files that `write_checkpoint` makes of a model in mixtures of some
/// schemes, as `checkpoint_file_bytes`. The model is opened once.
template <format::Mixable F>
class CheckpointSizes {
 public:
  /// `in`, `schemes` and `options`: those of `measure_checkpoint`. Throws: as `write_checkpoint` of
  /// a folder that cannot be read.
  CheckpointSizes(const std::filesystem::path& in, std::map<std::string, F> schemes,
                  const CheckpointOptions& options = {})
      : model_(in, options), schemes_(std::move(schemes)) {}

  /// The mixture of a selection of the layers. Throws: `errc::unknown_name` for other schemes.
  [[nodiscard]] format::mixture<F> mixture(const PrecisionSelection& selection) const {
    format::mixture<F> out;
    for (const SelectedPrecision& layer : selection.nodes)
      if (layer.choice.scheme != float_scheme) out.layers.emplace(layer.name, scheme_of(layer));
    return out;
  }

  /// Bytes of the files in the mixture of a selection; of the model's own files where all layers
  /// stay in float, which is no mixture; 2^64 - 1 for a mixture that the engine of the options does
  /// not load. Throws: as `write_checkpoint` before it writes.
  [[nodiscard]] std::uint64_t operator()(const PrecisionSelection& selection) const {
    const std::shared_ptr<const store::detail::AnyFormat> format = format_of(selection);
    return format ? model_.loaded_bytes_of(format) : model_.as_it_is();
  }

  /// The reason why the engine of the options does not load the mixture of a selection, or empty.
  /// Throws: as `write_checkpoint` before it writes.
  [[nodiscard]] std::string problem(const PrecisionSelection& selection) const {
    const std::shared_ptr<const store::detail::AnyFormat> format = format_of(selection);
    return format ? model_.engine_limit(format) : std::string();
  }

 private:
  // Null where all layers stay in float.
  [[nodiscard]] std::shared_ptr<const store::detail::AnyFormat> format_of(
      const PrecisionSelection& selection) const {
    using Mixture = format::mixture<F>;
    Mixture chosen = mixture(selection);
    if (chosen.layers.empty()) return nullptr;
    return store::detail::erased(chosen);
  }
  [[nodiscard]] const F& scheme_of(const SelectedPrecision& layer) const {
    const auto found = schemes_.find(layer.choice.scheme);
    if (found == schemes_.end())
      detail::raise_expected(errc::unknown_name, "tq::CheckpointSizes",
                             {"one of the schemes for ", layer.name},
                             {detail::in_quotes(layer.choice.scheme)});
    return found->second;
  }

  store::detail::PlannedSizes model_;
  std::map<std::string, F> schemes_;
};

}  // namespace tq
