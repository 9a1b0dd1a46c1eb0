// SPDX-License-Identifier: MIT
#include "loss_report.hpp"

#include "output.hpp"

#include <cstddef>
#include <iostream>

namespace tool {

namespace {

// Sums over all weights.
struct Losses {
  std::size_t weights = 0, measured = 0, fallbacks = 0;
  double loss = 0, loss_of_rounding = 0;
};

// False for algorithms that know no activations.
bool has_loss(const tq::WeightReport& report) { return !report.is_fallback && report.tokens != 0; }

Losses losses(const WeightReports& reports) {
  Losses sum;
  for (const auto& [name, report] : reports) {
    ++(report.is_fallback ? sum.fallbacks : sum.weights);
    sum.measured += has_loss(report);
    sum.loss += report.loss;
    sum.loss_of_rounding += report.loss_of_rounding;
  }
  return sum;
}

void print_table(const WeightReports& reports, const Talk& talk) {
  Table table({{"tensor"},
               {"algorithm"},
               {"loss", true},
               {"of rounding", true},
               {"tokens", true},
               {"dead columns", true},
               {"damping", true}});
  for (const auto& [name, w] : reports)
    if (has_loss(w))
      table.add({printable(name), w.algorithm, short_number(w.loss),
                 short_number(w.loss_of_rounding), grouped(w.tokens), grouped(w.dead_columns),
                 short_number(w.damping)});
    else
      table.add({printable(name), w.algorithm + (w.is_fallback ? " (fallback)" : ""), "-", "-", "-",
                 "-", "-"});
  std::cout << '\n';
  if (talk.verbose) table.print();
  else table.print_first(most_rows);
  std::cout << '\n';
}

}  // namespace

tq::io::Json to_json(const tq::WeightReport& report) {
  tq::io::Json out{{"name", report.algorithm}, {"fallback", report.is_fallback}};
  if (!has_loss(report)) return out;
  out["loss"] = report.loss;
  out["loss_of_rounding"] = report.loss_of_rounding;
  out["rounded_rows"] = report.rounded_rows;
  out["changed_codes"] = report.changed_codes;
  out["tokens"] = report.tokens;
  out["dead_columns"] = report.dead_columns;
  out["damping"] = report.damping;
  return out;
}

tq::io::Json losses_to_json(const WeightReports& reports) {
  const Losses sum = losses(reports);
  return {{"weights", sum.weights},
          {"fallbacks", sum.fallbacks},
          {"loss", sum.loss},
          {"loss_of_rounding", sum.loss_of_rounding}};
}

void print_losses(const WeightReports& reports, const Talk& talk) {
  if (reports.empty()) return;
  print_table(reports, talk);
  const Losses sum = losses(reports);
  if (sum.measured != 0)
    std::cout << sum.measured << " weights with a loss of " << short_number(sum.loss)
              << ", by rounding " << short_number(sum.loss_of_rounding) << '\n';
  if (sum.fallbacks != 0)
    std::cout << sum.fallbacks << " weights without activations, rounded to nearest\n";
}

}  // namespace tool
