// SPDX-License-Identifier: MIT
#pragma once
// tq quantize to a folder: shards that ranks share, that a later run goes on from, and their index.

#include "commands.hpp"
#include "quantize_plan.hpp"
#include "quantize_target.hpp"
#include "team.hpp"

#include <cstddef>

namespace tool {

// Every rank of the team calls it with the same plan. At the end the jobs of rank 0 say what was
// lost in all shards. How many shards a run before this one had finished. Throws: the same on every
// rank; tq::error as write_shards and UnfinishedRun::begin.
std::size_t quantize_shards(const StoredModel& model, QuantizePlan& plan,
                            const QuantizeTarget& target, const QuantizeOptions& options,
                            const Team& team);

}  // namespace tool
