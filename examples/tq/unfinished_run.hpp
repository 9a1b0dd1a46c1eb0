// SPDX-License-Identifier: MIT
#pragma once
// Shards that are finished before all of a model is: what a run that was ended leaves to the next.
//
// Beside the output, in its folder, "tq-unfinished" has
//   run.json          what the run makes of what: another run does not go on from here
//   lock              held while a run works here
//   shards/<name>     the shards that are finished, and a "tq-*.tmp" for one that is not
//   moving            there from the moment when the shards are moved to the folder of the output
//   done/<name>.json  what the run wants to know of a finished shard
// Until all shards are there, the folder of the output keeps what it had. Then they are moved into
// it, the index is written, and "tq-unfinished" is removed.

#include <tq/json/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tool {

class UnfinishedRun {
 public:
  // `identity` says what the run makes of what. Nothing is touched yet.
  UnfinishedRun(const std::filesystem::path& folder, std::string index, tq::io::Json identity);
  UnfinishedRun(const UnfinishedRun&) = delete;
  UnfinishedRun& operator=(const UnfinishedRun&) = delete;
  ~UnfinishedRun();

  // Begins, or goes on where a run of the same identity was ended: what it noted of the shards that
  // are finished, by name. All else of "tq-unfinished" is removed. Throws: errc::bad_argument,
  // unless `overwrite`, where the folder has the index, one of the shards, or what a run of another
  // identity left; errc::io_failure where another process works there, or nothing can be written.
  [[nodiscard]] std::map<std::string, tq::io::Json> begin(const std::vector<std::string>& shards,
                                                          bool overwrite);

  // Where a shard is written to; its folder is made.
  [[nodiscard]] std::filesystem::path place(const std::string& shard) const;
  // Notes that a shard is finished.
  void note(const std::string& shard, const tq::io::Json& what) const;

  // Moves the shards to the folder and writes the index; "tq-unfinished" is removed.
  void publish(const std::vector<std::string>& shards, const std::string& index_text);
  // After a failure: removes what no run can go on from. True where there is something to go on
  // from.
  bool leave();

 private:
  void lock();
  [[nodiscard]] std::optional<tq::io::Json> finished(const std::string& shard) const;
  void require_free(const std::vector<std::string>& shards) const;
  [[nodiscard]] bool is_same_run(bool overwrite) const;
  void remove_all_but(const std::map<std::string, tq::io::Json>& done) const;
  void clear();

  std::filesystem::path folder_, work_;
  std::string index_;
  tq::io::Json identity_;
  bool made_folder_ = false, has_begun_ = false;
  int lock_ = -1;
};

}  // namespace tool
