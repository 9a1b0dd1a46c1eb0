// SPDX-License-Identifier: MIT
#pragma once
// Names of shards that the output of several files can have side by side.

#include <string>
#include <vector>

namespace tool {

// Throws: errc::bad_argument, naming the shard, where a shard of the output would have the name of
// another file that is written or read beside it: of another shard, the index, a configuration, the
// folder of unfinished runs, a temporary file; or where one name is a folder in another. Names that
// differ in upper and lower case alone are the same: some file systems do not tell them apart.
void require_distinct_names(const std::vector<std::string>& shards, const std::string& index);

}  // namespace tool
