// SPDX-License-Identifier: MIT
// tq quantize: writes a model with its weights in fewer bits, and says what was lost.

#include "commands.hpp"
#include "left_files.hpp"
#include "progress.hpp"
#include "quantize_plan.hpp"
#include "quantize_report.hpp"
#include "quantize_target.hpp"
#include "stored_model.hpp"
#include "write_plan.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace tool {

void quantize(const QuantizeOptions& options, const Team& team) {
  show_progress(team.rank() == 0 && !options.json && !options.talk.quiet, options.talk.progress);
  const std::string out = target_name(options.out, options.in);
  std::optional<StoredModel> opened;
  on_all_ranks(team, [&] {
    opened.emplace(options.in);
    return std::string();
  });
  const StoredModel& model = *opened;
  const QuantizeTarget target = quantize_target(out, model);
  if (team.size() > 1 && !target.is_sharded)
    throw UsageError(
        "OUT: expected a folder or an .index.json, whose shards ranks can share, got \"" +
        options.out + "\"");
  require_unquantized(model, options.in);
  QuantizePlan plan = plan_quantize(model, options, target.is_sharded);
  const std::optional<std::size_t> reused = write_plan(
      model, plan, out, target, {options.jobs, options.allow_nonfinite, options.overwrite}, team);
  if (team.rank() == 0)
    print_quantize_report(plan, options, {reused, files_left_behind(options.in, model, out)});
}

}  // namespace tool
