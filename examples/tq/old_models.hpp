// SPDX-License-Identifier: MIT
#pragma once
// Models that the folder of an output has already, and that the output takes the place of.

#include "quantize_plan.hpp"
#include "quantize_target.hpp"
#include "stored_model.hpp"

#include <filesystem>
#include <vector>

namespace tool {

struct OldModels {
  std::vector<std::filesystem::path> indexes;
  std::vector<std::filesystem::path> shards;  // that no other index names, and nothing writes

  // Removes the indexes: from then on the old shards are no model.
  void remove_indexes() const;
  // Removes the shards. A failure is no error: the output is whole.
  void remove_shards() const;
};

// Indexes in the folder of the target that would not be models any more: the target itself, an
// index that names a file that is written, and every index of safetensors where the output is the
// folder as a whole. Files of the input are none of the shards.
[[nodiscard]] OldModels old_models(const QuantizeTarget& target, const QuantizePlan& plan,
                                   const StoredModel& model);

// Throws: errc::bad_argument, naming the index, where the folder has another index than the target
// that would not be a model any more.
void require_no_old_models(const OldModels& old, const QuantizeTarget& target);

}  // namespace tool
