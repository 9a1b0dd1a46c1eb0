// SPDX-License-Identifier: MIT
// tq sensitivity: what every scheme would lose in every tensor, the worst first.
#include "commands.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "precision.hpp"
#include "progress.hpp"
#include "state_file.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

namespace tool {

namespace {

struct SensitivityRow {
  const StoredTensor* tensor;
  const tq::PrecisionNode* node;
  const tq::PrecisionCandidate* candidate;

  [[nodiscard]] double bits() const { return bits_per_weight(candidate->bytes, node->weights); }
};

// Rows of every scheme but float.
std::vector<SensitivityRow> rows_of(const MeasuredPrecision& measured, const PrecisionPlan& plan) {
  std::vector<SensitivityRow> rows;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    for (const tq::PrecisionCandidate& c : measured.model.nodes[i].candidates)
      if (c.scheme != tq::float_scheme)
        rows.push_back({plan.tensors[i], &measured.model.nodes[i], &c});
  std::stable_sort(rows.begin(), rows.end(), [](const SensitivityRow& a, const SensitivityRow& b) {
    return a.candidate->error > b.candidate->error;
  });
  return rows;
}

tq::io::Json json_of(const SensitivityRow& row) {
  tq::io::Json out{{"name", row.tensor->name},        {"shape", row.tensor->shape},
                   {"scheme", row.candidate->scheme}, {"bytes", row.candidate->bytes},
                   {"bits_per_weight", row.bits()},   {"error", row.candidate->error}};
  put_number(out, "sqnr_db", sqnr_of(row.candidate->error));
  if (row.candidate->seconds > 0) {
    out["seconds"] = row.candidate->seconds;
    out["work"] = std::string(to_string(row.candidate->timed));
  }
  return out;
}

}  // namespace

void sensitivity(const SensitivityOptions& options) {
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  if (!options.profile.empty()) require_extension("--profile", options.profile, {".json"});
  StoredModel model(options.file);
  if (!options.profile.empty()) {
    remove_leftovers(options.profile);
    require_other_file("--profile", options.profile, model.files(), "MODEL");
    require_no_configuration("--profile", options.profile, model.contents());
  }
  const PrecisionPlan plan = precision_plan(model, options);
  const Times times = options.profile.empty() ? Times::none : Times::measured;
  if (times == Times::measured) require_schemes(plan, "--profile");
  TextFiles output;
  if (!options.profile.empty()) output.open(options.profile, options.overwrite);
  const MeasuredPrecision measured = measured_precision(model, plan, options, times);
  if (!options.profile.empty()) {
    output.write(
        0, tq::io::time_profile_to_json(profile_of(measured.model, plan, options)).dump(2) + "\n");
    output.commit();
  }
  const std::vector<SensitivityRow> rows = rows_of(measured, plan);
  if (options.json) {
    tq::io::Json list = tq::io::Json::array();
    for (const SensitivityRow& row : rows) list.push_back(json_of(row));
    return print_json(
        {{"file", options.file}, {"rows", std::move(list)}, {"cannot", measured.cannot}});
  }
  if (options.talk.quiet) return;
  Table table({{"tensor"},
               {"shape"},
               {"scheme"},
               {"bits/weight", true},
               {"SQNR dB", true},
               {"error", true}});
  for (const SensitivityRow& row : rows)
    table.add({printable(row.tensor->name), tq::io::shape_text(row.tensor->shape),
               row.candidate->scheme, fixed(row.bits(), 3), fixed(sqnr_of(row.candidate->error), 2),
               short_number(row.candidate->error)});
  if (options.talk.verbose) table.print();
  else table.print_first(most_rows);
  std::cout << '\n'
            << plan.tensors.size()
            << " tensors, the largest error first. error is that of the "
               "weights, sum d^2 / sum w^2.\n";
  for (const std::string& reason : measured.cannot)
    std::cout << "cannot: " << printable(reason) << '\n';
}

}  // namespace tool
