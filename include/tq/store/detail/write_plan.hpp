// SPDX-License-Identifier: MIT
#pragma once
// The output of a conversion: one file; or shards that ranks share, that a later run
// goes on from, and their index.

#include <tq/error.hpp>
#include <tq/files/temporary_file.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/detail/old_models.hpp>
#include <tq/store/detail/output_names.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/detail/run_identity.hpp>
#include <tq/store/detail/shared_run.hpp>
#include <tq/store/detail/unfinished_run.hpp>
#include <tq/store/detail/write_shards.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/own_file.hpp>
#include <tq/store/same_file.hpp>
#include <tq/store/team.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tq::store::detail {

struct PlanWriting {
  std::size_t jobs = 1;  // threads
  bool allow_nonfinite = false;
  const Hessians* hessians = nullptr;
  bool overwrite = false;  // what is there from before
  std::string config{};    // a file that decided on schemes, or empty
  std::function<void(std::uint64_t, std::uint64_t)> progress{};  // as those of ConvertOptions
  std::function<void(const std::string&)> on_restart{};
  // Called on rank 0 when all tensors are on the disk, before the output appears; or empty.
  std::function<void()> before_publishing{};
};

// The settings that ConvertOptions and CheckpointOptions share.
template <class Options>
[[nodiscard]] PlanWriting writing_of(const Options& options) {
  PlanWriting writing;
  writing.jobs = options.jobs;
  writing.overwrite = options.overwrite;
  writing.progress = options.progress;
  writing.on_restart = options.on_restart;
  return writing;
}

// Every rank of the team calls it with the same plan; of one file, a single rank. At the end the
// jobs of rank 0 say what was lost. Returns the number of shards that a run before this one had
// finished, if shards are written. Throws: the same on every rank; error as write_shards,
// UnfinishedRun::begin, require_distinct_names, require_free_place and require_no_old_models;
// OptionError, naming `out`, where what is written is what is read. With `overwrite`, indexes of
// other models that the output would break go, with their shards.
template <class Model>
std::optional<std::size_t> write_plan(const Model& model, QuantizePlan& plan,
                                      const std::string& out, const QuantizeTarget& target,
                                      const PlanWriting& writing, const Team& team = Team());

[[nodiscard]] inline std::vector<std::filesystem::path> files_of(const Hessians* hessians) {
  return hessians == nullptr ? std::vector<std::filesystem::path>() : hessians->files();
}

// Appends a report, exactly as it was computed: numbers as their bits, after whether there is one.
inline void add_report(io::Json& numbers, const std::optional<WeightReport>& report) {
  const WeightReport w = report.value_or(WeightReport{});
  numbers.push_back(std::uint64_t{report.has_value()});
  for (const double x : {w.loss, w.loss_of_rounding, w.damping})
    numbers.push_back(std::bit_cast<std::uint64_t>(x));
  for (const std::uint64_t n :
       {std::uint64_t{w.rounded_rows}, w.changed_codes, w.tokens, std::uint64_t{w.dead_columns}})
    numbers.push_back(n);
}

// The report of `algorithm` from the first of these numbers on, which it leaves behind.
[[nodiscard]] inline std::optional<WeightReport> take_report(const std::string& algorithm,
                                                             std::span<const std::uint64_t>& from) {
  constexpr std::size_t count = 8;
  if (from.size() < count) raise(errc::malformed, "expected a report of an algorithm, got none");
  const auto n = from.first(count);
  from = from.subspan(count);
  if (n[0] == 0) return std::nullopt;
  return WeightReport{.algorithm = algorithm,
                      .loss = std::bit_cast<double>(n[1]),
                      .loss_of_rounding = std::bit_cast<double>(n[2]),
                      .rounded_rows = static_cast<std::size_t>(n[4]),
                      .changed_codes = n[5],
                      .tokens = n[6],
                      .dead_columns = static_cast<std::size_t>(n[7]),
                      .damping = std::bit_cast<double>(n[3])};
}

// Calls f(algorithm, report) for the algorithms of a job.
template <class Job, class F>
void for_each_algorithm(Job& job, F&& f) {
  if (job.algorithm) f(*job.algorithm, job.weights);
  if (!job.layers) return;
  for (auto& layer : job.layers->layers)
    if (layer.algorithm) f(*layer.algorithm, layer.report);
}

// The losses of a shard, exactly as they were computed: numbers as their bits.
inline io::Json losses_of(const OutputShard& shard) {
  io::Json list = io::Json::array();
  for (const QuantizeJob& job : shard.jobs) {
    const ErrorMetrics& m = job.metrics;
    io::Json numbers{m.count, job.nonfinite.nan, job.nonfinite.infinite};
    for (const double x : {m.mse, m.mae, m.max_abs, m.sqnr_db, m.cosine})
      numbers.push_back(std::bit_cast<std::uint64_t>(x));
    for_each_algorithm(job, [&](const WeightAlgorithm&, const std::optional<WeightReport>& report) {
      add_report(numbers, report);
    });
    list.push_back(std::move(numbers));
  }
  return list;
}

inline void set_losses(OutputShard& shard, const io::Json& list) {
  for (std::size_t i = 0; i < shard.jobs.size(); ++i) {
    const auto numbers = list.at(i).get<std::vector<std::uint64_t>>();
    QuantizeJob& job = shard.jobs[i];
    const auto real = [&](std::size_t k) { return std::bit_cast<double>(numbers.at(k)); };
    job.metrics = {real(3), real(4), real(5),
                   real(6), real(7), static_cast<std::size_t>(numbers.at(0))};
    job.nonfinite = {numbers.at(1), numbers.at(2)};
    auto left = std::span<const std::uint64_t>(numbers).subspan(8);
    for_each_algorithm(job,
                       [&](const WeightAlgorithm& algorithm, std::optional<WeightReport>& report) {
                         report = take_report(algorithm.name, left);
                       });
  }
}

inline std::string index_text(const ModelContents& model, const QuantizePlan& plan) {
  io::Json map = io::Json::object();
  std::uint64_t size = 0;
  for (const OutputShard& shard : plan.shards)
    for (const io::TensorDecl& t : shard.declarations(model)) {
      map[t.name] = shard.name;
      size += *t.bytes();
    }
  const io::Json index{{"metadata", {{"total_size", size}}}, {"weight_map", std::move(map)}};
  return index.dump(2) + "\n";
}

// Writes and notes the shards of one rank, with what they lost.
template <class Model>
void write_and_note(const Model& model, QuantizePlan& plan, UnfinishedRun& run,
                    const PlanWriting& writing, const Team& team, const io::Json& done,
                    const NoteShard& note) {
  const ShardPlaces<OutputShard> places{
      [&](const OutputShard& shard) { return run.place(shard.name); },
      [&](const OutputShard& shard) { note(shard.name, losses_of(shard)); }};
  write_shards(model, shards_of(team, plan.shards, done), places,
               {writing.jobs, writing.allow_nonfinite, writing.hessians, writing.progress});
}

// Returns the number of shards that a run before this one had finished.
template <class Model>
std::size_t write_folder(const Model& model, QuantizePlan& plan, const QuantizeTarget& target,
                         const PlanWriting& writing, const Team& team) {
  const ModelContents& contents = model.contents();
  const bool leads = team.rank() == 0;
  UnfinishedRun run(
      target.folder, target.file,
      leads ? identity_of(contents, plan, writing.config, files_of(writing.hessians)) : io::Json());
  const std::vector<std::string> names = names_of_shards(plan.shards);
  RunSteps steps;
  steps.begin = [&] {
    if (!writing.overwrite) require_no_old_models(old_models(target, plan, contents), target);
    return begin_run(run, names, writing.overwrite, writing.on_restart);
  };
  steps.work = [&](const io::Json& done, const NoteShard& note) {
    write_and_note(model, plan, run, writing, team, done, note);
  };
  steps.publish = [&](const io::Json& losses) {
    for (OutputShard& shard : plan.shards) set_losses(shard, losses.at(shard.name));
    if (!leads) return;
    if (writing.before_publishing) writing.before_publishing();
    run.publish(names, index_text(contents, plan), old_models(target, plan, contents));
  };
  return share_run(run, team, steps);
}

// Throws: errc::bad_argument, unless `overwrite`, where the file is what engines load and the
// config.json beside it tells them how its weights are quantized, which would not hold for others.
inline void require_no_engine_weights(const std::filesystem::path& file, bool overwrite) {
  const std::filesystem::path config = file.parent_path() / "config.json";
  std::error_code code;
  if (overwrite || file.filename() != "model.safetensors" || !is_there(file) ||
      !std::filesystem::is_regular_file(config, code))
    return;
  const io::Json json = io::Json::parse(io::read_text(config), nullptr, false);
  for (const char* const key : {"quantization_config", "quantization"})
    if (json.is_object() && json.contains(key))
      tq::detail::raise_text(errc::bad_argument, {file.string(), ": ",
                                                  occupied_by(std::string("weights that ") + key +
                                                              " of config.json describes")});
}

template <class Model>
void write_one_file(const Model& model, QuantizePlan& plan, const std::string& out,
                    const QuantizeTarget& target, const PlanWriting& writing) {
  const OldModels old = old_models(target, plan, model.contents());
  if (!writing.overwrite) require_no_old_models(old, target);
  require_free_place(target.path(), writing.overwrite);
  if (!writing.before_publishing) require_no_engine_weights(target.path(), writing.overwrite);
  std::error_code code;
  const bool makes_folder = !target.folder.empty() && out.ends_with('/') &&
                            std::filesystem::create_directories(target.folder, code);
  OutputShard* const all = &plan.shards.front();
  ShardPlaces<OutputShard> places{[&](const OutputShard&) { return target.path(); },
                                  [](const OutputShard&) {}};
  // A file with a name of its own in `out` may be a new shard of an old model.
  if (target.is_folder || writing.before_publishing)
    places.publishing = [&] {
      if (writing.before_publishing) writing.before_publishing();
      if (target.is_folder) old.remove_indexes();
    };
  try {
    write_shards(model, {&all, 1}, places,
                 {writing.jobs, writing.allow_nonfinite, writing.hessians, writing.progress});
  } catch (const error&) {
    if (makes_folder) std::filesystem::remove(target.folder, code);
    throw;
  }
  mark_as_own(target.path());
  if (target.is_folder) old.remove_shards();
}

template <class Model>
std::optional<std::size_t> write_plan(const Model& model, QuantizePlan& plan,
                                      const std::string& out, const QuantizeTarget& target,
                                      const PlanWriting& writing, const Team& team) {
  require_other_files(out, target, plan, model.contents(), writing.config,
                      files_of(writing.hessians));
  if (target.is_sharded) require_distinct_names(names_of_shards(plan.shards), target.file);
  static_cast<void>(io::remove_abandoned_files(target.folder));
  if (target.is_sharded) return write_folder(model, plan, target, writing, team);
  write_one_file(model, plan, out, target, writing);
  return std::nullopt;
}

}  // namespace tq::store::detail
