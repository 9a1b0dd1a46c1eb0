// SPDX-License-Identifier: MIT
#include "unfinished_run.hpp"

#include <tq/files/atomic_file.hpp>
#include <tq/files/text_file.hpp>

#include <cerrno>
#include <cstddef>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#if TQ_IO_POSIX
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#endif

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
  tq::io::AtomicFile file(path);
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

bool is_there(const fs::path& path) {
  std::error_code code;
  return fs::exists(fs::symlink_status(path, code));
}

std::string occupied_by(const std::string& what) {
  return "expected a free place for the output, got " + what + "; --overwrite replaces it";
}

}  // namespace

UnfinishedRun::UnfinishedRun(const fs::path& folder, std::string index, Json identity)
    : folder_(folder.empty() ? "." : folder),
      work_(folder_ / "tq-unfinished"),
      index_(std::move(index)),
      identity_(std::move(identity)) {}

UnfinishedRun::~UnfinishedRun() {
#if TQ_IO_POSIX
  if (lock_ >= 0) ::close(lock_);
#endif
}

std::map<std::string, Json> UnfinishedRun::begin(const std::vector<std::string>& shards,
                                                 bool overwrite) {
  made_folder_ = !is_there(folder_);
  const bool had_work = is_there(work_);
  make_folders(work_);
  bool is_same = false;
  try {
    lock();
    is_same = is_same_run(overwrite);
    if (!overwrite && !(is_same && is_there(work_ / "moving"))) require_free(shards);
  } catch (const tq::error&) {
    // A run that was ended while it removed its notes was done.
    const bool holds_lock = lock_ >= 0 || !TQ_IO_POSIX;
    if (holds_lock && (!had_work || !is_there(work_ / "run.json"))) clear();
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
    if (!entry.is_directory(code) && !kept.contains(entry.path())) others.insert(entry.path());
  for (const fs::path& path : others) fs::remove(path, code);
}

// The lock is that of the open file: it ends with the process. Where the file system has none,
// there is no protection from a second run.
void UnfinishedRun::lock() {
#if TQ_IO_POSIX
  const std::string path = (work_ / "lock").string();
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0)
    throw tq::error(errc::io_failure, path + ": " + std::generic_category().message(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(std::exchange(lock_, -1));
    throw tq::error(errc::io_failure,
                    work_.string() + ": expected no other run, got one that works there");
  }
#endif
}

void UnfinishedRun::require_free(const std::vector<std::string>& shards) const {
  std::vector<fs::path> files{folder_ / index_};
  for (const std::string& shard : shards) files.push_back(folder_ / shard);
  for (const fs::path& file : files)
    if (is_there(file))
      throw tq::error(errc::bad_argument, file.string() + ": " + occupied_by("a file"));
}

bool UnfinishedRun::is_same_run(bool overwrite) const {
  const Json before = json_of(work_ / "run.json");
  if (before == identity_) return true;
  // A run that was ended before it had noted what it makes has left nothing of worth.
  if (overwrite || !is_there(work_ / "run.json")) return false;
  std::string other;
  for (const auto& [key, value] : identity_.items())
    if (!before.is_object() || !before.contains(key) || before[key] != value)
      other += (other.empty() ? "" : ", ") + key;
  throw tq::error(
      errc::bad_argument,
      work_.string() + ": " + occupied_by("shards of an unfinished run with other " + other));
}

// The note comes after the shard: where there is one, the shard is whole, and here or, after the
// first moves, in the folder of the output.
std::optional<Json> UnfinishedRun::finished(const std::string& shard) const {
  const Json note = json_of(work_ / "done" / (shard + ".json"));
  if (!note.is_object() || !note.contains("size") || !note.contains("what")) return std::nullopt;
  std::error_code code;
  fs::path place = work_ / "shards" / shard;
  if (!is_there(place) && is_there(work_ / "moving")) place = folder_ / shard;
  const std::uintmax_t size = fs::file_size(place, code);
  if (code || note["size"] != size) return std::nullopt;
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
  write_text(path, Json{{"size", fs::file_size(work_ / "shards" / shard)}, {"what", what}}.dump());
}

void UnfinishedRun::publish(const std::vector<std::string>& shards, const std::string& index_text) {
  const auto require = [](const std::error_code& code, const fs::path& path) {
    if (code) throw tq::error(errc::io_failure, path.string() + ": " + code.message());
  };
  write_text(work_ / "moving", "");
  std::error_code code;
  // Old shards and new ones are never a model together.
  fs::remove(folder_ / index_, code);
  require(code, folder_ / index_);
  for (const std::string& shard : shards) {
    const fs::path from = work_ / "shards" / shard, to = folder_ / shard;
    if (!is_there(from)) continue;  // moved by a run that was ended then
    make_folders(to.parent_path());
    fs::rename(from, to, code);
    require(code, to);
  }
  // Written here first: what is left of a run that is ended meanwhile is found here.
  const fs::path written = work_ / "index.json";
  write_text(written, index_text);
  fs::rename(written, folder_ / index_, code);
  require(code, folder_ / index_);
  clear();
}

bool UnfinishedRun::leave() {
  if (!has_begun_) return false;
  if (is_there(work_ / "done")) return true;
  clear();
  return false;
}

// First run.json: what is left without it is nothing to go on from.
void UnfinishedRun::clear() {
  std::error_code code;
  fs::remove(work_ / "run.json", code);
  fs::remove_all(work_, code);
  if (made_folder_) fs::remove(folder_, code);  // where it is empty
}

}  // namespace tool
