// SPDX-License-Identifier: MIT
#pragma once
// What tq quantize and dequantize write: one file; or shards that ranks share, that a later run
// goes on from, and their index.

#include "quantize_plan.hpp"
#include "quantize_target.hpp"
#include "team.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace tool {

struct PlanWriting {
  std::size_t jobs = 1;  // threads
  bool allow_nonfinite = false;
  bool overwrite = false;  // what is there from before
  std::string config{};    // a file that decided on schemes, or empty
};

// Every rank of the team calls it with the same plan; of one file, a single rank. At the end the
// jobs of rank 0 say what was lost. Of shards: how many a run before this one had finished. Throws:
// the same on every rank; tq::error as write_shards, UnfinishedRun::begin, require_distinct_names,
// require_free_place and require_no_old_models; UsageError, naming `out`, where what is written is
// what is read. With `overwrite`, indexes of other models that the output would break go, with
// their shards.
std::optional<std::size_t> write_plan(const StoredModel& model, QuantizePlan& plan,
                                      const std::string& out, const QuantizeTarget& target,
                                      const PlanWriting& writing, const Team& team = Team());

}  // namespace tool
