// SPDX-License-Identifier: MIT
#pragma once
// A run over the shards of an output: ranks share them, and a later run goes on from those that are
// finished.

#include <tq/error.hpp>
#include <tq/json/json.hpp>
#include <tq/store/detail/unfinished_run.hpp>
#include <tq/store/team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tq::store::detail {

// Notes that a shard is finished, with what is to be known of it.
using NoteShard = std::function<void(const std::string& shard, const io::Json& what)>;

struct RunSteps {
  // On rank 0, before all ranks work: the notes of the shards that a run before this one had
  // finished, by name.
  std::function<io::Json()> begin;
  // On every rank: writes and notes its part of the shards that are not in `done`.
  std::function<void(const io::Json& done, const NoteShard& note)> work;
  // On every rank, with the notes of all shards: rank 0 moves them to where they belong.
  std::function<void(const io::Json& notes)> publish;
};

// Begins a run, or goes on from what one of the same identity left. Returns the notes of shards
// that are finished, by name. Throws: as UnfinishedRun::begin.
inline io::Json begin_run(UnfinishedRun& run, const std::vector<std::string>& shards,
                          bool overwrite,
                          const std::function<void(const std::string&)>& on_restart) {
  io::Json done(run.begin(shards, overwrite));
  if (!run.dropped().empty() && on_restart) on_restart(run.dropped());
  return done;
}

// The shards that one rank writes: the largest first, each to the rank that has least to do.
template <class Shard>
std::vector<Shard*> shards_of(const Team& team, std::vector<Shard>& shards, const io::Json& done) {
  std::vector<Shard*> left;
  for (Shard& shard : shards)
    if (!done.contains(shard.name)) left.push_back(&shard);
  if (team.size() == 1) return left;
  std::stable_sort(left.begin(), left.end(), [](const Shard* a, const Shard* b) {
    return a->bytes_before() > b->bytes_before();
  });
  std::vector<std::uint64_t> work(team.size());
  std::vector<Shard*> mine;
  for (Shard* shard : left) {
    const auto least = std::min_element(work.begin(), work.end());
    *least += shard->bytes_before();
    if (static_cast<std::size_t>(least - work.begin()) == team.rank()) mine.push_back(shard);
  }
  return mine;
}

template <class Shard>
std::vector<std::string> names_of_shards(const std::vector<Shard>& shards) {
  std::vector<std::string> names;
  for (const Shard& shard : shards) names.push_back(shard.name);
  return names;
}

// Every rank calls it with the same steps. Returns the number of shards that a run before this one
// had finished. Throws: the same on every rank: the error of the first rank with one, whose message
// says that the run can be continued, where that is so.
inline std::size_t share_run(UnfinishedRun& run, const Team& team, const RunSteps& steps) {
  const bool leads = team.rank() == 0;
  try {
    const std::string found =
        on_all_ranks(team, [&] { return leads ? steps.begin().dump() : std::string(); }).front();
    const io::Json done = io::Json::parse(found);
    const std::vector<std::string> all = on_all_ranks(team, [&] {
      io::Json mine = io::Json::object();
      steps.work(done, [&](const std::string& shard, const io::Json& what) {
        run.note(shard, what);
        mine[shard] = what;
      });
      return mine.dump();
    });
    io::Json notes = done;
    for (const std::string& text : all) notes.update(io::Json::parse(text));
    on_all_ranks(team, [&] {
      steps.publish(notes);
      return std::string();
    });
    return done.size();
  } catch (const error& e) {
    if (!leads || !run.leave()) throw;
    raise(e.code(), std::string(e.what()) +
                        "\nShards that are finished are kept; the same command goes on "
                        "from there.");
  }
}

}  // namespace tq::store::detail
