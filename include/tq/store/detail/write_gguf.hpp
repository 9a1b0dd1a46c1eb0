// SPDX-License-Identifier: MIT
#pragma once
// The steps of write_gguf.

#include <tq/containers/detail/counted_name.hpp>
#include <tq/error.hpp>
#include <tq/files/temporary_file.hpp>
#include <tq/json/json.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/gguf_model_input.hpp>
#include <tq/store/detail/gguf_plan.hpp>
#include <tq/store/detail/gguf_shards.hpp>
#include <tq/store/detail/shared_run.hpp>
#include <tq/store/detail/unfinished_run.hpp>
#include <tq/store/detail/write_gguf_shards.hpp>
#include <tq/store/gguf_mapping.hpp>
#include <tq/store/gguf_mix.hpp>
#include <tq/store/gguf_options.hpp>
#include <tq/store/gguf_report.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/own_file.hpp>
#include <tq/store/same_file.hpp>
#include <tq/store/team.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Throws: OptionError for options that do not go with `in`.
inline void require_gguf_options(const std::filesystem::path& in, const GgufOptions& options) {
  if (in.extension() == ".gguf" && !options.mapping.empty())
    raise_option("`mapping`: expected none for a GGUF file, which has its names");
}

template <class Model>
[[nodiscard]] std::unique_ptr<GgufInput> gguf_input(const std::filesystem::path& in,
                                                    const GgufOptions& options) {
  require_there(in);
  if (in.extension() == ".gguf") return std::make_unique<GgufFileInput>(in);
  require_config_file(in);
  const GgufMapping mapping =
      options.mapping.empty() ? gguf_llama_mapping() : read_gguf_mapping(options.mapping);
  return std::make_unique<GgufModelInput<Model>>(in, mapping);
}

// Throws: OptionError where the output would replace a file that is read.
inline void require_other_files(const std::filesystem::path& out, const GgufInput& input,
                                const GgufOptions& options) {
  require_other_file("`out`", out.string(), input.files(), "`in`");
  const auto require = [&](const std::filesystem::path& file, const char* option) {
    if (!file.empty()) require_other_file("`out`", out.string(), {file}, option);
  };
  require(options.config, "`config`");
  require(options.imatrix, "`imatrix`");
  require(options.mapping, "`mapping`");
  require(options.metadata, "`metadata`");
}

// The work on a GGUF model. The jobs of the shards refer to the input and to the importance.
struct GgufWork {
  std::unique_ptr<GgufInput> input{};
  std::optional<ImportanceFile> importance{};
  std::vector<GgufShard> shards{};

  [[nodiscard]] const ImportanceFile* importance_file() const {
    return importance ? &*importance : nullptr;
  }
};

[[nodiscard]] inline GgufReport report_of(const GgufWork& work, const std::filesystem::path& out) {
  GgufReport report{
      out.parent_path() / work.shards.front().name, {}, work.input->dropped, work.input->notes};
  report.shards = work.shards.size();
  std::vector<GgufJob> jobs;
  for (const GgufShard& shard : work.shards)
    for (const GgufJob& job : shard.jobs) {
      const GgufItem& item = *job.item;
      report.tensors.push_back({item.to.name, item.to.shape, item.from_type, job.type, job.note,
                                item.from_bytes, job.bytes()});
      jobs.push_back(job);
    }
  if (work.importance) note_missing_importance(jobs, report);
  return report;
}

template <Backend B = default_backend>
void write_gguf_file(GgufWork& work, const std::filesystem::path& out, const GgufOptions& options) {
  if (!options.overwrite && is_there(out) && io::detail::counted_name(out.filename().string()))
    tq::detail::raise_text(errc::bad_argument,
                           {out.string(), ": ", occupied_by("a part of a model in several files")});
  require_free_place(out, options.overwrite);
  static_cast<void>(io::remove_abandoned_files(out.parent_path()));
  GgufShard* const all = &work.shards.front();
  write_gguf_shards<B>(*work.input, {&all, 1},
                       {[&](const GgufShard&) { return out; }, [](const GgufShard&) {}}, options);
  mark_as_own(out);
}

// Returns the number of parts that a run before this one had finished.
template <Backend B = default_backend>
std::size_t write_gguf_parts(GgufWork& work, const std::filesystem::path& folder,
                             const GgufOptions& options, const Team& team) {
  static_cast<void>(io::remove_abandoned_files(folder));
  const bool leads = team.rank() == 0;
  const std::vector<std::string> names = names_of_shards(work.shards);
  UnfinishedRun run(folder, names.front(),
                    leads ? gguf_identity(*work.input, work.shards, options) : io::Json());
  RunSteps steps;
  steps.begin = [&] { return begin_run(run, names, options.overwrite, options.on_restart); };
  steps.work = [&](const io::Json& done, const NoteShard& note) {
    write_gguf_shards<B>(*work.input, shards_of(team, work.shards, done),
                         {[&](const GgufShard& shard) { return run.place(shard.name); },
                          [&](const GgufShard& shard) { note(shard.name, io::Json::object()); }},
                         options);
  };
  steps.publish = [&](const io::Json&) {
    if (leads) run.publish(names);
  };
  return share_run(run, team, steps);
}

template <class Model>
GgufReport write_gguf(const std::filesystem::path& out, const std::filesystem::path& in,
                      const GgufOptions& options) {
  if (out.extension() != ".gguf")
    raise_option("`out`: expected a name ending in .gguf, got \"" + out.string() + "\"");
  const Team alone;
  const Team& team = options.team != nullptr ? *options.team : alone;
  if (team.size() > 1 && options.shard_size == 0)
    raise_option("`shard_size`: expected one, for parts that ranks can share, got none");
  require_gguf_options(in, options);
  const GgufMix mix =
      options.config.empty() ? gguf_mix(options.type) : read_gguf_mix(options.config);
  GgufWork work;
  on_all_ranks(team, [&] {
    work.input = gguf_input<Model>(in, options);
    work.importance = importance_for(*work.input, options);
    complete_entries(*work.input, mix, work.importance_file(), options);
    return std::string();
  });
  work.shards =
      gguf_shards(out, work.input->entries,
                  gguf_jobs(*work.input, mix, work.importance_file(), options), options.shard_size);
  for (const GgufShard& shard : work.shards)
    require_other_files(out.parent_path() / shard.name, *work.input, options);
  GgufReport report = report_of(work, out);
  if (options.shard_size == 0) write_gguf_file(work, out, options);
  else report.reused_shards = write_gguf_parts(work, out.parent_path(), options, team);
  return report;
}

}  // namespace tq::store::detail
