// SPDX-License-Identifier: MIT
// tq quantize: writes a model with its weights in fewer bits, and says what was lost.

#include "commands.hpp"
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
  const std::optional<std::size_t> reused =
      write_plan(model, plan, options.out, target,
                 {options.jobs, options.allow_nonfinite, options.overwrite, options.config}, team);
  if (team.rank() == 0) print_quantize_report(plan, options, reused);
}

}  // namespace tool
