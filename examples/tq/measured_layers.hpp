// SPDX-License-Identifier: MIT
#pragma once
// The layers of a model in the schemes of an engine, for tq select --for.

#include "checkpoint_choice.hpp"
#include "commands.hpp"

#include <tq/store/checkpoint_measurement.hpp>

namespace tool {

// Throws: as tq::measure_checkpoint.
[[nodiscard]] tq::CheckpointMeasurement measured_layers(const SelectOptions& options,
                                                        const MixtureFormat& mixture);

}  // namespace tool
