// SPDX-License-Identifier: MIT
#pragma once
// The weights of a model in the schemes of an engine, for tq select --for.

#include "checkpoint_choice.hpp"
#include "commands.hpp"

#include <tq/store/checkpoint_measurement.hpp>
#include <tq/store/gguf_measurement.hpp>

namespace tool {

// The layers of a folder. Throws: as tq::measure_checkpoint.
[[nodiscard]] tq::CheckpointMeasurement measured_layers(const SelectOptions& options,
                                                        const MixtureFormat& mixture);

// The weights of a model in types of GGUF files. Throws: UsageError for types of other names; as
// tq::measure_gguf.
[[nodiscard]] tq::GgufMeasurement measured_weights(const SelectOptions& options);

}  // namespace tool
