// SPDX-License-Identifier: MIT
#include "output_names.hpp"

#include "unfinished_run.hpp"

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/temporary_file.hpp>

#include <map>
#include <string_view>

namespace tool {

namespace {

// ASCII letters in lower case.
std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Files of one folder, by their names in lower case, and what each is for messages.
class NamesInFolder {
 public:
  // `who` has a name that must differ from all names so far, and from the folders in them.
  void add(const std::string& name, const std::string& who) {
    const std::string key = lower_case(name);
    const auto [found, is_new] = names_.emplace(key, who);
    if (!is_new) refuse(who, found->second);
    for (std::size_t slash = key.find('/'); slash != key.npos; slash = key.find('/', slash + 1))
      if (const auto file = names_.find(key.substr(0, slash)); file != names_.end())
        refuse(who, file->second);
    const auto inside = names_.lower_bound(key + "/");
    if (inside != names_.end() && inside->first.starts_with(key + "/")) refuse(who, inside->second);
  }

 private:
  [[noreturn]] static void refuse(const std::string& who, const std::string& other) {
    throw tq::error(
        tq::errc::bad_argument,
        who + ": expected a name of its own in the folder of the output, got that of " + other);
  }

  std::map<std::string, std::string> names_;
};

void require_no_temporary_name(const std::string& shard, const std::string& who) {
  const std::string lower = lower_case(shard);
  for (std::string_view rest = lower; !rest.empty();) {
    const std::size_t slash = rest.find('/');
    if (tq::io::detail::is_temporary_name(rest.substr(0, slash)))
      throw tq::error(tq::errc::bad_argument,
                      who + ": expected another name than that of a temporary file of tq");
    rest = slash == rest.npos ? std::string_view() : rest.substr(slash + 1);
  }
}

}  // namespace

void require_distinct_names(const std::vector<std::string>& shards, const std::string& index) {
  NamesInFolder outputs, notes;
  outputs.add(index, "the index of the output, \"" + index + "\"");
  for (const char* const read : tq::io::checkpoint_hint_files)
    outputs.add(read, std::string("the configuration of a model, \"") + read + "\"");
  const std::string work(UnfinishedRun::folder_name);
  outputs.add(work, "the folder of unfinished runs, \"" + work + "\"");
  for (const std::string& shard : shards) {
    const std::string who = "shard " + tq::io::shown(shard);
    require_no_temporary_name(shard, who);
    if (lower_case(shard).ends_with(".index.json"))
      throw tq::error(tq::errc::bad_argument,
                      who + ": expected a name that does not end as that of an index, .index.json");
    outputs.add(shard, who);
    notes.add(shard + ".json", who);
  }
}

}  // namespace tool
