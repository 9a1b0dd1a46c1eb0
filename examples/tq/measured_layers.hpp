// SPDX-License-Identifier: MIT
#pragma once
// The weights of a model in the schemes of an engine, for tq select --for.

#include "checkpoint_choice.hpp"
#include "commands.hpp"

#include <tq/select/precision_selector.hpp>
#include <tq/store/checkpoint_measurement.hpp>
#include <tq/store/gguf_measurement.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace tool {

// The layers of a folder. Throws: as tq::measure_checkpoint.
[[nodiscard]] tq::CheckpointMeasurement measured_layers(const SelectOptions& options,
                                                        const MixtureFormat& mixture);

// The same with errors of 0, without reading a tensor.
[[nodiscard]] tq::CheckpointMeasurement sized_layers(const SelectOptions& options,
                                                     const MixtureFormat& mixture);

// The bytes of the .safetensors files of a selection: those that tq quantize will write, or of a
// selection without a scheme those of the model; and the reason why the engine does not load them,
// or empty. Throws: as tq::CheckpointSizes.
struct FileSizes {
  std::function<std::uint64_t(const tq::PrecisionSelection&)> bytes;
  std::function<std::string(const tq::PrecisionSelection&)> problem;
};
[[nodiscard]] FileSizes file_sizes(const SelectOptions& options, const MixtureFormat& mixture);

// The weights of a model in types of GGUF files. Throws: UsageError for types of other names; as
// tq::measure_gguf.
[[nodiscard]] tq::GgufMeasurement measured_weights(const SelectOptions& options);
// The same with errors of 0, without reading a weight.
[[nodiscard]] tq::GgufMeasurement sized_weights(const SelectOptions& options);

}  // namespace tool
