// SPDX-License-Identifier: MIT
// tq quantize: writes a model with its weights in fewer bits, and says what was lost.

#include "commands.hpp"
#include "output_files.hpp"
#include "quantize_plan.hpp"
#include "quantize_report.hpp"
#include "quantize_shards.hpp"
#include "quantize_target.hpp"
#include "stored_model.hpp"
#include "write_shards.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace tool {

namespace {

void write_one_file(const StoredModel& model, QuantizePlan& plan, const QuantizeTarget& target,
                    const QuantizeOptions& options) {
  std::error_code code;
  const bool makes_folder = !target.folder.empty() && options.out.ends_with('/') &&
                            std::filesystem::create_directories(target.folder, code);
  OutputShard* const all = &plan.shards.front();
  try {
    write_shards(model, {&all, 1},
                 {[&](const OutputShard&) { return target.path(); }, [](const OutputShard&) {}},
                 {options.jobs, options.allow_nonfinite});
  } catch (const tq::error&) {
    if (makes_folder) std::filesystem::remove(target.folder, code);
    throw;
  }
}

}  // namespace

void quantize(const QuantizeOptions& options, const Team& team) {
  require_target_name(options.out);
  std::optional<StoredModel> opened;
  on_all_ranks(team, [&] {
    opened.emplace(options.in);
    return std::string();
  });
  const StoredModel& model = *opened;
  const QuantizeTarget target = quantize_target(options.out, model);
  if (team.size() > 1 && !target.is_sharded)
    throw UsageError(
        "OUT: expected a folder or an .index.json, whose shards ranks can share, got \"" +
        options.out + "\"");
  require_unquantized(model, options.in);
  QuantizePlan plan = plan_quantize(model, options, target.is_sharded);
  require_other_files(options.out, target, plan, model);
  remove_leftovers(target.path());
  std::optional<std::size_t> reused;
  if (target.is_sharded) reused = quantize_shards(model, plan, target, options, team);
  else write_one_file(model, plan, target, options);
  if (team.rank() == 0) print_quantize_report(plan, options, reused);
}

}  // namespace tool
