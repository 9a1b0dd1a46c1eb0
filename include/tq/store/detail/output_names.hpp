// SPDX-License-Identifier: MIT
#pragma once
// Names of shards that the output of several files can have side by side.

#include <tq/checkpoints/checkpoint_hints.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/files/temporary_file.hpp>
#include <tq/store/detail/unfinished_run.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tq::store::detail {

// Throws: errc::bad_argument, naming the shard, where a shard of the output would have the name of
// another file that is written or read beside it: of another shard, the index, a configuration, the
// folder of unfinished runs, a temporary file; or where one name is a folder in another. Names that
// differ in upper and lower case alone are the same: some file systems do not tell them apart.
void require_distinct_names(const std::vector<std::string>& shards, const std::string& index);

// ASCII letters in lower case.
inline std::string lower_case(std::string_view text) {
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
    tq::detail::raise_expected(errc::bad_argument, who,
                               {"a name of its own in the folder of the output"},
                               {"that of ", other});
  }

  std::map<std::string, std::string> names_;
};

inline void require_no_temporary_name(const std::string& shard, const std::string& who) {
  const std::string lower = lower_case(shard);
  for (std::string_view rest = lower; !rest.empty();) {
    const std::size_t slash = rest.find('/');
    if (io::detail::is_temporary_name(rest.substr(0, slash)))
      tq::detail::raise_text(errc::bad_argument,
                             {who, ": expected another name than that of a temporary file of tq"});
    rest = slash == rest.npos ? std::string_view() : rest.substr(slash + 1);
  }
}

inline void require_distinct_names(const std::vector<std::string>& shards,
                                   const std::string& index) {
  NamesInFolder outputs, notes;
  outputs.add(index, "the index of the output, \"" + index + "\"");
  for (const char* const read : io::checkpoint_hint_files)
    outputs.add(read, std::string("the configuration of a model, \"") + read + "\"");
  const std::string work(UnfinishedRun::folder_name);
  outputs.add(work, "the folder of unfinished runs, \"" + work + "\"");
  for (const std::string& shard : shards) {
    const std::string who = "shard " + io::shown(shard);
    require_no_temporary_name(shard, who);
    if (lower_case(shard).ends_with(".index.json"))
      tq::detail::raise_text(
          errc::bad_argument,
          {who, ": expected a name that does not end as that of an index, .index.json"});
    outputs.add(shard, who);
    notes.add(shard + ".json", who);
  }
}

}  // namespace tq::store::detail
