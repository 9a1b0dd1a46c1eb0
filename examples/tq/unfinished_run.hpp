// SPDX-License-Identifier: MIT
#pragma once
// Shards that are finished before all of a model is: what a run that was ended leaves to the next.
//
// Beside the output, in its folder, "tq-unfinished" has
//   run.json          what the run makes of what: another run does not go on from here
//   lock              held while a run works here; removed last, while it is held
//   shards/<name>     the shards that are finished, and a "tq-*.tmp" for one that is not
//   moving            there from the moment when the shards are moved to the folder of the output
//   done/<name>.json  what the run wants to know of a finished shard
// Until all shards are there, the folder of the output keeps what it had. Then they are moved into
// it, the index is written, and "tq-unfinished" is removed.

#include "old_models.hpp"

#include <tq/files/file_lock.hpp>
#include <tq/json/json.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tool {

class UnfinishedRun {
 public:
  // The folder within that of the output.
  static constexpr const char* folder_name = "tq-unfinished";

  // `identity` says what the run makes of what, as identity_of. Nothing is touched yet.
  UnfinishedRun(const std::filesystem::path& folder, std::string index, tq::io::Json identity);
  UnfinishedRun(const UnfinishedRun&) = delete;
  UnfinishedRun& operator=(const UnfinishedRun&) = delete;

  // Begins, or goes on where a run of the same identity was ended: what it noted of the shards that
  // are finished, by name. All else of "tq-unfinished" is removed: of a run with the same options
  // whose input has other content since, everything, which `dropped` says. Throws:
  // errc::bad_argument, unless `overwrite`, where the folder has the index, one of the shards, or
  // what a run of another identity left; in any case where "tq-unfinished" has files that no run
  // made, or links and folders are in the way; errc::io_failure where another process works there,
  // or nothing can be written.
  [[nodiscard]] std::map<std::string, tq::io::Json> begin(const std::vector<std::string>& shards,
                                                          bool overwrite);
  // The files of the input that have changed since the run before, and how; empty where nothing of
  // it was of use.
  [[nodiscard]] const std::string& dropped() const noexcept { return dropped_; }

  // Where a shard is written to; its folder is made.
  [[nodiscard]] std::filesystem::path place(const std::string& shard) const;
  // Notes that a shard is finished.
  void note(const std::string& shard, const tq::io::Json& what) const;

  // Removes the models that are replaced, moves the shards to the folder and writes the index, each
  // on the disk before the next begins; "tq-unfinished" is removed.
  void publish(const std::vector<std::string>& shards, const std::string& index_text,
               const OldModels& old);
  // After a failure: removes what no run can go on from. True where there is something to go on
  // from.
  bool leave();

 private:
  void take_lock();
  [[nodiscard]] std::optional<tq::io::Json> finished(const std::string& shard) const;
  void require_own_folder() const;
  void require_usable(const std::vector<std::string>& shards) const;
  void require_free(const std::vector<std::string>& shards) const;
  [[nodiscard]] bool is_same_run(bool overwrite);
  void remove_all_but(const std::map<std::string, tq::io::Json>& done) const;
  void move_shards(const std::vector<std::string>& shards) const;
  void clear();

  std::filesystem::path folder_, work_;
  std::string index_, dropped_;
  tq::io::Json identity_;
  std::optional<tq::io::FileLock> lock_;
  bool made_folder_ = false, has_begun_ = false;
};

}  // namespace tool
