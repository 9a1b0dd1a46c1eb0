// SPDX-License-Identifier: MIT
#pragma once
// Names of shards that say how many there are: "model-00001-of-00003.safetensors".

#include <tq/containers/detail/counted_name.hpp>
#include <tq/store/detail/output_shard.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace tq::store::detail {

// Gives shards that are counted in their names the numbers of those that are there. Names of other
// kinds stay.
inline void count_shards(std::vector<OutputShard>& shards) {
  if (shards.empty()) return;
  const std::optional<io::detail::CountedName> name = io::detail::counted_name(shards.front().name);
  if (!name || !std::ranges::all_of(shards, [&](const OutputShard& shard) {
        return io::detail::counted_name(shard.name) == name;
      }))
    return;
  for (std::size_t i = 0; i < shards.size(); ++i) shards[i].name = name->name(i, shards.size());
}

}  // namespace tq::store::detail
