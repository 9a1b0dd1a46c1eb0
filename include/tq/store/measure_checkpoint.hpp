// SPDX-License-Identifier: MIT
#pragma once
// measure_checkpoint: what the linear layers of a model cost and lose in schemes of a format.

#include <tq/bodies.hpp>
#include <tq/checkpoints/writable_format.hpp>
#include <tq/store/checkpoint_measurement.hpp>
#include <tq/store/checkpoint_options.hpp>
#include <tq/store/detail/named_format.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/stored_model_fwd.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tq {

namespace store::detail {

template <class Model>
[[nodiscard]] TQ_API CheckpointMeasurement
measure_checkpoint(const std::filesystem::path& in, const std::vector<NamedFormat>& schemes,
                   const CheckpointOptions& options, LayerErrors errors);

}  // namespace store::detail

/// Measures the linear layers of a model in the schemes of a format, as engines decode them, for a
/// `PrecisionSelector`: every layer is a node, and layers that engines fuse are tied. `in` and
/// `options` are those of `write_checkpoint`. A scheme that a layer does not fit is no candidate of
/// it.
///
///     using ct = tq::format::compressed_tensors;
///     const std::map<std::string, ct> schemes{{"int4", {"int4"}}, {"int8", {"int8"}}};
///     const auto measured = tq::measure_checkpoint("llama/", schemes);
///     const tq::CheckpointSizes<ct> sizes("llama/", schemes);
///     const auto best = tq::select_checkpoint(
///         measured, {.goal = tq::PrecisionGoal::custom, .max_bytes = 4000000000}, sizes);
///     tq::write_checkpoint("llama-4gb/", "llama/", sizes.mixture(best));
///
/// Throws: as `write_checkpoint` of a folder that cannot be read; `errc::unsupported` where no
/// layer fits a scheme.
template <class Model = StoredModel, io::WritableFormat F>
[[nodiscard]] CheckpointMeasurement measure_checkpoint(const std::filesystem::path& in,
                                                       const std::map<std::string, F>& schemes,
                                                       const CheckpointOptions& options = {}) {
  return store::detail::measure_checkpoint<Model>(in, store::detail::named_formats(schemes),
                                                  options, store::detail::LayerErrors::measured);
}

/// The candidates of `measure_checkpoint` with errors of 0, without reading a tensor: the bytes
/// between which a size can be. Throws: as `measure_checkpoint`.
template <class Model = StoredModel, io::WritableFormat F>
[[nodiscard]] CheckpointMeasurement checkpoint_candidates(const std::filesystem::path& in,
                                                          const std::map<std::string, F>& schemes,
                                                          const CheckpointOptions& options = {}) {
  return store::detail::measure_checkpoint<Model>(in, store::detail::named_formats(schemes),
                                                  options, store::detail::LayerErrors::none);
}

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/measure_checkpoint.ipp>
#endif
