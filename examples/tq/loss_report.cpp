// SPDX-License-Identifier: MIT
#include "loss_report.hpp"

#include "output.hpp"

#include <cstddef>
#include <iostream>

namespace tool {

namespace {

struct LossSum {
  std::size_t weights = 0;
  double loss = 0, loss_of_rounding = 0;

  void add(const tq::WeightReport& report) {
    ++weights;
    loss += report.loss;
    loss_of_rounding += report.loss_of_rounding;
  }
};

// Sums over all weights.
struct Losses {
  LossSum outputs, errors;  // by algorithms that know activations, and by others
  std::size_t fallbacks = 0;
};

Losses losses(const WeightReports& reports) {
  Losses sum;
  for (const auto& [name, report] : reports)
    if (report.is_fallback) ++sum.fallbacks;
    else (report.tokens != 0 ? sum.outputs : sum.errors).add(report);
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
    if (w.is_fallback)
      table.add({printable(name), w.algorithm + " (fallback)", "-", "-", "-", "-", "-"});
    else if (w.tokens == 0)
      table.add({printable(name), w.algorithm, short_number(w.loss),
                 short_number(w.loss_of_rounding), "-", "-", "-"});
    else
      table.add({printable(name), w.algorithm, short_number(w.loss),
                 short_number(w.loss_of_rounding), grouped(w.tokens), grouped(w.dead_columns),
                 short_number(w.damping)});
  std::cout << '\n';
  if (talk.verbose) table.print();
  else table.print_first(most_rows);
  std::cout << '\n';
}

}  // namespace

tq::io::Json to_json(const tq::WeightReport& report) {
  tq::io::Json out{{"name", report.algorithm}, {"fallback", report.is_fallback}};
  if (report.is_fallback) return out;
  out["loss"] = report.loss;
  out["loss_of_rounding"] = report.loss_of_rounding;
  if (report.tokens == 0) return out;
  out["rounded_rows"] = report.rounded_rows;
  out["changed_codes"] = report.changed_codes;
  out["tokens"] = report.tokens;
  out["dead_columns"] = report.dead_columns;
  out["damping"] = report.damping;
  return out;
}

tq::io::Json losses_to_json(const WeightReports& reports) {
  const Losses sum = losses(reports);
  return {{"weights", sum.outputs.weights + sum.errors.weights},
          {"fallbacks", sum.fallbacks},
          {"loss", sum.outputs.loss},
          {"loss_of_rounding", sum.outputs.loss_of_rounding},
          {"absolute_error", sum.errors.loss},
          {"absolute_error_of_rounding", sum.errors.loss_of_rounding}};
}

void print_losses(const WeightReports& reports, const Talk& talk) {
  if (reports.empty()) return;
  print_table(reports, talk);
  const Losses sum = losses(reports);
  const auto print = [](const LossSum& of, const char* unit) {
    if (of.weights != 0)
      std::cout << of.weights << " weights with " << unit << short_number(of.loss)
                << ", by rounding " << short_number(of.loss_of_rounding) << '\n';
  };
  print(sum.outputs, "a loss of ");
  print(sum.errors, "absolute errors that add up to ");
  if (sum.fallbacks != 0)
    std::cout << sum.fallbacks << " weights by the fallback, rounded to nearest\n";
}

}  // namespace tool
