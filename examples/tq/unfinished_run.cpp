// SPDX-License-Identifier: MIT
#include "unfinished_run.hpp"

#include "output.hpp"
#include "own_file.hpp"
#include "run_identity.hpp"

#include <tq/files/atomic_file.hpp>
#include <tq/files/sync_folder.hpp>
#include <tq/files/temporary_file.hpp>
#include <tq/files/text_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <system_error>
#include <utility>

namespace tool {

namespace fs = std::filesystem;
using tq::errc;
using tq::io::Json;

namespace {

void make_folders(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) throw tq::error(errc::io_failure, path.string() + ": " + code.message());
}

void write_text(const fs::path& path, const std::string& text) {
  tq::io::AtomicFile file(path, tq::io::Links::replaced);
  file.write(std::as_bytes(std::span<const char>(text)));
  file.commit();
}

// The JSON of a file, or null where there is none that can be read.
Json json_of(const fs::path& path) {
  try {
    return tq::io::parse_json(tq::io::read_text(path), path.string());
  } catch (const tq::error&) {
    return nullptr;
  }
}

// The first of the names, with the number of the others.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

void require_done(const std::error_code& code, const fs::path& path) {
  if (code) throw tq::error(errc::io_failure, path.string() + ": " + code.message());
}

// What is known of a finished shard, to see that nobody has written to it since.
Json state_of(const fs::path& shard) {
  std::error_code no_size, no_time;
  const std::uintmax_t size = fs::file_size(shard, no_size);
  const auto time = fs::last_write_time(shard, no_time).time_since_epoch().count();
  return no_size || no_time ? Json() : Json{{"size", size}, {"time", std::to_string(time)}};
}

}  // namespace

UnfinishedRun::UnfinishedRun(const fs::path& folder, std::string index, Json identity)
    : folder_(folder.empty() ? "." : folder),
      work_(folder_ / folder_name),
      index_(std::move(index)),
      identity_(std::move(identity)) {}

std::map<std::string, Json> UnfinishedRun::begin(const std::vector<std::string>& shards,
                                                 bool overwrite) {
  made_folder_ = !is_there(folder_);
  require_own_folder();
  require_usable(shards);
  take_lock();
  bool is_same = false;
  try {
    is_same = is_same_run(overwrite);
    if (!overwrite && !(is_same && is_there(work_ / "moving"))) require_free(shards);
  } catch (const tq::error&) {
    // A run that was ended while it removed its notes was done.
    if (!is_there(work_ / "run.json")) clear();
    throw;
  }
  has_begun_ = true;
  std::map<std::string, Json> done;
  if (is_same)
    for (const std::string& shard : shards)
      if (std::optional<Json> what = finished(shard)) done.emplace(shard, *std::move(what));
  remove_all_but(done);
  write_text(work_ / "run.json", identity_.dump());
  return done;
}

// Notes go before the shards that they speak of.
void UnfinishedRun::remove_all_but(const std::map<std::string, Json>& done) const {
  std::set<fs::path> kept{work_ / "lock"};
  if (!done.empty()) kept.insert(work_ / "moving");
  for (const auto& [shard, what] : done)
    kept.insert({work_ / "done" / (shard + ".json"), work_ / "shards" / shard});
  std::error_code code;
  std::set<fs::path> others;  // by name: "done" before "shards"
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(work_, code))
    if (!fs::is_directory(entry.symlink_status(code)) && !kept.contains(entry.path()))
      others.insert(entry.path());
  for (const fs::path& path : others) fs::remove(path, code);
}

// Where the file system has no locks, there is no protection from a second run.
void UnfinishedRun::take_lock() {
  lock_ = tq::io::FileLock::take(work_ / "lock");
  if (!lock_)
    throw tq::error(errc::io_failure,
                    work_.string() + ": expected no other run, got one that works there");
}

// Everything else in "tq-unfinished" is removed at the end: it must be of runs, and lie there.
void UnfinishedRun::require_own_folder() const {
  const auto refuse = [](const fs::path& path, const char* got) {
    throw tq::error(errc::bad_argument,
                    path.string() + ": expected the files of an unfinished run of tq, got " + got);
  };
  std::error_code code;
  const fs::file_status status = fs::symlink_status(work_, code);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) refuse(work_, "something other than a folder");
  const std::set<std::string> known{"run.json", "lock", "moving", "index.json", "done", "shards"};
  for (fs::recursive_directory_iterator at(work_, code), end; !code && at != end;
       at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (at.depth() == 0 && !known.contains(name) && !tq::io::detail::is_temporary_name(name))
      refuse(at->path(), "another file");
    if (fs::is_symlink(at->symlink_status(code))) refuse(at->path(), "a symbolic link");
  }
}

// Shards must not go through links to other folders, and not onto what is no file.
void UnfinishedRun::require_usable(const std::vector<std::string>& shards) const {
  const auto require = [](bool holds, const fs::path& path, const char* expected) {
    if (!holds)
      throw tq::error(errc::io_failure,
                      path.string() + ": expected " + expected + " or a free name, got another");
  };
  std::error_code code;
  std::vector<std::string> names = shards;
  names.push_back(index_);
  for (const std::string& name : names) {
    fs::path path = folder_;
    const fs::path relative(name);
    for (const fs::path& part : relative.parent_path()) {
      path /= part;
      require(!is_there(path) || fs::is_directory(fs::symlink_status(path, code)), path,
              "a folder that is no link");
    }
    const fs::file_status status = fs::symlink_status(folder_ / relative, code);
    require(!fs::exists(status) || fs::is_regular_file(status) || fs::is_symlink(status),
            folder_ / relative, "a regular file");
  }
}

void UnfinishedRun::require_free(const std::vector<std::string>& shards) const {
  std::vector<fs::path> files{folder_ / index_};
  for (const std::string& shard : shards) files.push_back(folder_ / shard);
  for (const fs::path& file : files)
    if (is_there(file))
      throw tq::error(errc::bad_argument, file.string() + ": " + occupied_by("a file"));
}

bool UnfinishedRun::is_same_run(bool overwrite) {
  // A run that was ended before it had noted what it makes has left nothing of worth.
  if (!is_there(work_ / "run.json")) return false;
  const IdentityChange change = change_between(json_of(work_ / "run.json"), identity_);
  if (change.is_none()) return true;
  if (overwrite) return false;
  if (!change.settings.empty())
    throw tq::error(errc::bad_argument, work_.string() + ": " +
                                            occupied_by("shards of an unfinished run with other " +
                                                        listed(change.settings)));
  // Shards of what the input was before are of no use to anybody.
  if (!change.content.empty()) {
    if (is_there(work_ / "done")) dropped_ = listed(change.content);
    return false;
  }
  throw tq::error(errc::bad_argument,
                  work_.string() + ": " +
                      occupied_by("shards of an unfinished run with other input") +
                      ". It may have changed: " + listed(change.places));
}

// The note comes after the shard: where there is one, the shard is whole, and here or, after the
// first moves, in the folder of the output.
std::optional<Json> UnfinishedRun::finished(const std::string& shard) const {
  const Json note = json_of(work_ / "done" / (shard + ".json"));
  if (!note.is_object() || !note.contains("what")) return std::nullopt;
  fs::path place = work_ / "shards" / shard;
  if (!is_there(place) && is_there(work_ / "moving")) place = folder_ / shard;
  const Json state = note.value("state", Json());
  if (!state.is_object() || state != state_of(place)) return std::nullopt;
  return note["what"];
}

fs::path UnfinishedRun::place(const std::string& shard) const {
  fs::path path = work_ / "shards" / shard;
  make_folders(path.parent_path());
  return path;
}

void UnfinishedRun::note(const std::string& shard, const Json& what) const {
  const fs::path path = work_ / "done" / (shard + ".json");
  make_folders(path.parent_path());
  write_text(path, Json{{"state", state_of(work_ / "shards" / shard)}, {"what", what}}.dump());
}

void UnfinishedRun::publish(const std::vector<std::string>& shards, const std::string& index_text,
                            const OldModels& old) {
  write_text(work_ / "moving", "");
  // Old shards and new ones are never a model together: not after a loss of power either.
  old.remove_indexes();
  move_shards(shards);
  // Written here first: what is left of a run that is ended meanwhile is found here.
  const fs::path written = work_ / "index.json";
  write_text(written, index_text);
  std::error_code code;
  fs::rename(written, folder_ / index_, code);
  require_done(code, folder_ / index_);
  tq::io::sync_folder(folder_);
  mark_as_own(folder_ / index_);
  old.remove_shards();
  clear();
}

void UnfinishedRun::move_shards(const std::vector<std::string>& shards) const {
  std::error_code code;
  std::set<fs::path> folders{folder_};
  for (const std::string& shard : shards) {
    const fs::path from = work_ / "shards" / shard, to = folder_ / shard;
    for (fs::path parent = fs::path(shard).parent_path(); !parent.empty();
         parent = parent.parent_path())
      folders.insert(folder_ / parent);
    if (!is_there(from)) continue;  // moved by a run that was ended then
    make_folders(to.parent_path());
    fs::rename(from, to, code);
    require_done(code, to);
  }
  for (const fs::path& folder : folders) tq::io::sync_folder(folder);
}

bool UnfinishedRun::leave() {
  if (!has_begun_) return false;
  if (is_there(work_ / "done")) return true;
  clear();
  return false;
}

// First run.json: what is left without it is nothing to go on from. Last the lock: from then on
// another run may work here, and the folders go only where they are empty.
void UnfinishedRun::clear() {
  std::error_code code;
  for (const char* const file : {"run.json", "index.json", "moving"})
    fs::remove(work_ / file, code);
  for (const char* const folder : {"done", "shards"}) fs::remove_all(work_ / folder, code);
  static_cast<void>(tq::io::remove_abandoned_files(work_));
  if (lock_) lock_->remove();
  fs::remove(work_, code);
  if (made_folder_) fs::remove(folder_, code);
}

}  // namespace tool
