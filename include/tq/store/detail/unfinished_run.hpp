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

#include <tq/error.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/files/file_lock.hpp>
#include <tq/files/printable.hpp>
#include <tq/files/sync_folder.hpp>
#include <tq/files/temporary_file.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json.hpp>
#include <tq/store/detail/old_models.hpp>
#include <tq/store/detail/run_identity.hpp>
#include <tq/store/own_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tq::store::detail {

class UnfinishedRun {
 public:
  // The folder within that of the output.
  static constexpr const char* folder_name = "tq-unfinished";

  // `identity` says what the run makes of what, as identity_of. Nothing is touched yet.
  UnfinishedRun(const std::filesystem::path& folder, std::string index, io::Json identity);
  UnfinishedRun(const UnfinishedRun&) = delete;
  UnfinishedRun& operator=(const UnfinishedRun&) = delete;

  // Begins, or goes on where a run of the same identity was ended: what it noted of the shards that
  // are finished, by name. All else of "tq-unfinished" is removed: of a run with the same options
  // whose input has other content since, everything, which `dropped` says. Throws:
  // errc::bad_argument, unless `overwrite`, where the folder has the index, one of the shards, or
  // what a run of another identity left; in any case where "tq-unfinished" has files that no run
  // made, or links and folders are in the way; errc::io_failure where another process works there,
  // or nothing can be written.
  [[nodiscard]] std::map<std::string, io::Json> begin(const std::vector<std::string>& shards,
                                                      bool overwrite);
  // The files of the input that have changed since the run before, and how; empty where nothing of
  // it was of use.
  [[nodiscard]] const std::string& dropped() const noexcept { return dropped_; }

  // Where a shard is written to; its folder is made.
  [[nodiscard]] std::filesystem::path place(const std::string& shard) const;
  // Notes that a shard is finished.
  void note(const std::string& shard, const io::Json& what) const;

  // Removes the models that are replaced, moves the shards to the folder and writes the index, each
  // on the disk before the next begins; "tq-unfinished" is removed.
  void publish(const std::vector<std::string>& shards, const std::string& index_text,
               const OldModels& old);
  // The same for an output without a file for an index: that is one of the shards, and is moved last.
  void publish(const std::vector<std::string>& shards);
  // After a failure: removes what no run can go on from. True where there is something to go on
  // from.
  bool leave();

 private:
  void take_lock();
  [[nodiscard]] std::optional<io::Json> finished(const std::string& shard) const;
  void require_own_folder() const;
  void require_usable(const std::vector<std::string>& shards) const;
  void require_free(const std::vector<std::string>& shards) const;
  [[nodiscard]] bool is_same_run(bool overwrite);
  void remove_all_but(const std::map<std::string, io::Json>& done) const;
  void move_shards(const std::vector<std::string>& shards) const;
  void clear();

  std::filesystem::path folder_, work_;
  std::string index_, dropped_;
  io::Json identity_;
  std::optional<io::FileLock> lock_;
  bool made_folder_ = false, has_begun_ = false;
};

inline void make_folders(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) tq::detail::raise_text(errc::io_failure, {path.string(), ": ", code.message()});
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  io::AtomicFile file(path, io::Links::replaced);
  file.write(std::as_bytes(std::span<const char>(text)));
  file.commit();
}

// The JSON of a file, or null where there is none that can be read.
inline io::Json json_of(const std::filesystem::path& path) {
  try {
    return io::parse_json(io::read_text(path), path.string());
  } catch (const error&) {
    return nullptr;
  }
}

// The first of the names, with the number of the others.
inline std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + io::printable(names[i]);
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

inline void require_done(const std::error_code& code, const std::filesystem::path& path) {
  if (code) tq::detail::raise_text(errc::io_failure, {path.string(), ": ", code.message()});
}

// Size and time of a finished shard, to see that nobody has written to it since.
inline io::Json state_of(const std::filesystem::path& shard) {
  std::error_code no_size, no_time;
  const std::uintmax_t size = std::filesystem::file_size(shard, no_size);
  const auto time = std::filesystem::last_write_time(shard, no_time).time_since_epoch().count();
  return no_size || no_time ? io::Json() : io::Json{{"size", size}, {"time", std::to_string(time)}};
}

inline UnfinishedRun::UnfinishedRun(const std::filesystem::path& folder, std::string index,
                                    io::Json identity)
    : folder_(folder.empty() ? "." : folder),
      work_(folder_ / folder_name),
      index_(std::move(index)),
      identity_(std::move(identity)) {}

inline std::map<std::string, io::Json> UnfinishedRun::begin(const std::vector<std::string>& shards,
                                                            bool overwrite) {
  made_folder_ = !is_there(folder_);
  require_own_folder();
  require_usable(shards);
  take_lock();
  bool is_same = false;
  try {
    is_same = is_same_run(overwrite);
    if (!overwrite && !(is_same && is_there(work_ / "moving"))) require_free(shards);
  } catch (const error&) {
    // A run that was ended while it removed its notes was done.
    if (!is_there(work_ / "run.json")) clear();
    throw;
  }
  has_begun_ = true;
  std::map<std::string, io::Json> done;
  if (is_same)
    for (const std::string& shard : shards)
      if (std::optional<io::Json> what = finished(shard)) done.emplace(shard, *std::move(what));
  remove_all_but(done);
  write_text(work_ / "run.json", identity_.dump());
  return done;
}

// Notes go before the shards that they speak of.
inline void UnfinishedRun::remove_all_but(const std::map<std::string, io::Json>& done) const {
  std::set<std::filesystem::path> kept{work_ / "lock"};
  if (!done.empty()) kept.insert(work_ / "moving");
  for (const auto& [shard, what] : done)
    kept.insert({work_ / "done" / (shard + ".json"), work_ / "shards" / shard});
  std::error_code code;
  std::set<std::filesystem::path> others;  // by name: "done" before "shards"
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::recursive_directory_iterator(work_, code))
    if (!std::filesystem::is_directory(entry.symlink_status(code)) && !kept.contains(entry.path()))
      others.insert(entry.path());
  for (const std::filesystem::path& path : others) std::filesystem::remove(path, code);
}

// Where the file system has no locks, there is no protection from a second run.
inline void UnfinishedRun::take_lock() {
  lock_ = io::FileLock::take(work_ / "lock");
  if (!lock_)
    tq::detail::raise_expected(errc::io_failure, work_.string(), {"no other run"},
                               {"one that works there"});
}

// Everything else in "tq-unfinished" is removed at the end: it must be of runs, and lie there.
inline void UnfinishedRun::require_own_folder() const {
  const auto refuse = [](const std::filesystem::path& path, const char* got) {
    tq::detail::raise_expected(errc::bad_argument, path.string(),
                               {"the files of an unfinished run of tq"}, {got});
  };
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::symlink_status(work_, code);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_directory(status)) refuse(work_, "something other than a folder");
  const std::set<std::string> known{"run.json", "lock", "moving", "index.json", "done", "shards"};
  for (std::filesystem::recursive_directory_iterator at(work_, code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (at.depth() == 0 && !known.contains(name) && !io::detail::is_temporary_name(name))
      refuse(at->path(), "another file");
    if (std::filesystem::is_symlink(at->symlink_status(code)))
      refuse(at->path(), "a symbolic link");
  }
}

// Shards must not go through links to other folders, and not onto what is no file.
inline void UnfinishedRun::require_usable(const std::vector<std::string>& shards) const {
  const auto require = [](bool holds, const std::filesystem::path& path, const char* expected) {
    if (!holds)
      tq::detail::raise_expected(errc::io_failure, path.string(), {expected, " or a free name"},
                                 {"another"});
  };
  std::error_code code;
  std::vector<std::string> names = shards;
  names.push_back(index_);
  for (const std::string& name : names) {
    std::filesystem::path path = folder_;
    const std::filesystem::path relative(name);
    for (const std::filesystem::path& part : relative.parent_path()) {
      path /= part;
      require(!is_there(path) ||
                  std::filesystem::is_directory(std::filesystem::symlink_status(path, code)),
              path, "a folder that is no link");
    }
    const std::filesystem::file_status status =
        std::filesystem::symlink_status(folder_ / relative, code);
    require(!std::filesystem::exists(status) || std::filesystem::is_regular_file(status) ||
                std::filesystem::is_symlink(status),
            folder_ / relative, "a regular file");
  }
}

inline void UnfinishedRun::require_free(const std::vector<std::string>& shards) const {
  std::vector<std::filesystem::path> files{folder_ / index_};
  for (const std::string& shard : shards) files.push_back(folder_ / shard);
  for (const std::filesystem::path& file : files)
    if (is_there(file))
      tq::detail::raise_text(errc::bad_argument, {file.string(), ": ", occupied_by("a file")});
}

inline bool UnfinishedRun::is_same_run(bool overwrite) {
  // A run that was ended before it had noted what it makes has left nothing of worth.
  if (!is_there(work_ / "run.json")) return false;
  const IdentityChange change = change_between(json_of(work_ / "run.json"), identity_);
  if (change.is_none()) return true;
  if (overwrite) return false;
  if (!change.settings.empty())
    tq::detail::raise_text(
        errc::bad_argument,
        {work_.string(), ": ",
         occupied_by("shards of an unfinished run with other " + listed(change.settings))});
  // Shards of what the input was before are of no use to anybody.
  if (!change.content.empty()) {
    if (is_there(work_ / "done")) dropped_ = listed(change.content);
    return false;
  }
  tq::detail::raise_text(
      errc::bad_argument,
      {work_.string(), ": ", occupied_by("shards of an unfinished run with other input"),
       ". It may have changed: ", listed(change.places)});
}

// The note comes after the shard: where there is one, the shard is whole, and here or, after the
// first moves, in the folder of the output.
inline std::optional<io::Json> UnfinishedRun::finished(const std::string& shard) const {
  const io::Json note = json_of(work_ / "done" / (shard + ".json"));
  if (!note.is_object() || !note.contains("what")) return std::nullopt;
  std::filesystem::path place = work_ / "shards" / shard;
  if (!is_there(place) && is_there(work_ / "moving")) place = folder_ / shard;
  const io::Json state = note.value("state", io::Json());
  if (!state.is_object() || state != state_of(place)) return std::nullopt;
  return note["what"];
}

inline std::filesystem::path UnfinishedRun::place(const std::string& shard) const {
  std::filesystem::path path = work_ / "shards" / shard;
  make_folders(path.parent_path());
  return path;
}

inline void UnfinishedRun::note(const std::string& shard, const io::Json& what) const {
  const std::filesystem::path path = work_ / "done" / (shard + ".json");
  make_folders(path.parent_path());
  write_text(path, io::Json{{"state", state_of(work_ / "shards" / shard)}, {"what", what}}.dump());
}

inline void UnfinishedRun::publish(const std::vector<std::string>& shards,
                                   const std::string& index_text, const OldModels& old) {
  write_text(work_ / "moving", "");
  // Old shards and new ones are never a model together: not after a loss of power either.
  old.remove_indexes();
  move_shards(shards);
  // Written here first: what is left of a run that is ended meanwhile is found here.
  const std::filesystem::path written = work_ / "index.json";
  write_text(written, index_text);
  std::error_code code;
  std::filesystem::rename(written, folder_ / index_, code);
  require_done(code, folder_ / index_);
  io::sync_folder(folder_);
  mark_as_own(folder_ / index_);
  old.remove_shards();
  clear();
}

inline void UnfinishedRun::publish(const std::vector<std::string>& shards) {
  write_text(work_ / "moving", "");
  std::vector<std::string> others;
  for (const std::string& shard : shards)
    if (shard != index_) others.push_back(shard);
  // As above: without its index an old output is no model.
  if (is_there(work_ / "shards" / index_)) OldModels{{folder_ / index_}, {}}.remove_indexes();
  move_shards(others);
  move_shards({index_});
  mark_as_own(folder_ / index_);
  clear();
}

inline void UnfinishedRun::move_shards(const std::vector<std::string>& shards) const {
  std::error_code code;
  std::set<std::filesystem::path> folders{folder_};
  for (const std::string& shard : shards) {
    const std::filesystem::path from = work_ / "shards" / shard, to = folder_ / shard;
    for (std::filesystem::path parent = std::filesystem::path(shard).parent_path(); !parent.empty();
         parent = parent.parent_path())
      folders.insert(folder_ / parent);
    if (!is_there(from)) continue;  // moved by a run that was ended then
    make_folders(to.parent_path());
    std::filesystem::rename(from, to, code);
    require_done(code, to);
  }
  for (const std::filesystem::path& folder : folders) io::sync_folder(folder);
}

inline bool UnfinishedRun::leave() {
  if (!has_begun_) return false;
  if (is_there(work_ / "done")) return true;
  clear();
  return false;
}

// First run.json: what is left without it is nothing to go on from. Last the lock: from then on
// another run may work here, and the folders go only where they are empty.
inline void UnfinishedRun::clear() {
  std::error_code code;
  for (const char* const file : {"run.json", "index.json", "moving"})
    std::filesystem::remove(work_ / file, code);
  for (const char* const folder : {"done", "shards"})
    std::filesystem::remove_all(work_ / folder, code);
  static_cast<void>(io::remove_abandoned_files(work_));
  if (lock_) lock_->remove();
  std::filesystem::remove(work_, code);
  if (made_folder_) std::filesystem::remove(folder_, code);
}

}  // namespace tq::store::detail
