// SPDX-License-Identifier: MIT
// Precision for every matrix of a model by what it does to the model, against the same scheme for
// all of them in as many bytes.
//     mixed_precision [--quick] [folder of the data]

#include "common/encoding.hpp"
#include "common/quick_main.hpp"
#include "stories/table.hpp"
#include "task.hpp"

#include <tq/scheme/named_schemes.hpp>
#include <tq/select/measured.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/select/probed.hpp>
#include <tq/select/refined.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

std::vector<tq::NamedScheme> schemes(bool quick) {
  std::vector<std::string> names{"int8", "int6", "int5", "int4_g32", "int3_g32", "uint2_g32"};
  if (!quick)
    names = {"int8_g32", "int8", "int6_g32", "int6",      "int5_g32", "int5",     "uint4_g32",
             "int4_g32", "nf4",  "int4",     "uint3_g32", "int3_g32", "uint2_g32"};
  std::vector<tq::NamedScheme> list;
  for (const std::string& name : names) list.push_back({name, tq::named_scheme(name)});
  return list;
}

// A model whose weights go through schemes.
class Trial {
 public:
  Trial(const Task& task, const std::vector<tq::NamedScheme>& schemes)
      : task_(task), schemes_(schemes) {}

  // Every matrix in every scheme: bytes, and what it does to the model alone.
  tq::PrecisionModel measured() {
    tq::PrecisionModel model;
    for (const Weights& w : task_.weights)
      model.nodes.push_back(tq::measured_node(coder_, w.name, w.values, w.shape, schemes_));
    std::vector<Weights> weights = task_.weights;
    tq::probe_errors(model, 0, [&](std::size_t i, const tq::PrecisionCandidate& c) {
      weights[i].values = rounded(i, c.scheme);
      const Score score = task_.score(weights, Data::to_select);
      weights[i].values = task_.weights[i].values;
      return score.divergence;
    });
    return model;
  }

  Score score(const tq::PrecisionSelection& selection, Data on) {
    std::vector<Weights> weights = task_.weights;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (const std::string& scheme = selection.nodes[i].choice.scheme; scheme != tq::float_scheme)
        weights[i].values = rounded(i, scheme);
    return task_.score(weights, on);
  }

 private:
  // The weights as they come back from a scheme.
  const std::vector<float>& rounded(std::size_t i, const std::string& scheme) {
    std::vector<float>& back = rounded_[{i, scheme}];
    const Weights& w = task_.weights[i];
    if (!back.empty()) return back;
    back.resize(w.values.size());
    (void)tq::measured_candidate(coder_, {scheme, tq::named_scheme(scheme)}, w.values, w.shape,
                                 back);
    return back;
  }

  const Task& task_;
  const std::vector<tq::NamedScheme>& schemes_;
  examples::PieceCoder coder_;
  std::map<std::pair<std::size_t, std::string>, std::vector<float>> rounded_;
};

// How many selections diverge less, as much, and more than the uniform scheme of no fewer bytes.
struct Tally {
  int better = 0, same = 0, worse = 0;
};

void add_rows(const Task& task, const std::vector<tq::NamedScheme>& schemes, Table& table,
              Tally& tally) {
  Trial trial(task, schemes);
  const tq::PrecisionSelector selector(trial.measured());
  std::vector<tq::PrecisionSelection> uniform;
  for (const tq::NamedScheme& scheme : schemes) uniform.push_back(selector.uniform(scheme.name));
  std::stable_sort(uniform.begin(), uniform.end(),
                   [](const auto& a, const auto& b) { return a.cost.bytes > b.cost.bytes; });
  for (const tq::PrecisionSelection& same : uniform) {
    tq::PrecisionCriteria criteria{tq::PrecisionGoal::custom};
    criteria.max_bytes = same.cost.bytes;
    const auto loss = [&](const tq::PrecisionSelection& s) {
      return trial.score(s, Data::to_select).divergence;
    };
    const tq::ValidatedPrecision mixed = tq::refined(
        selector, tq::validated(selector, selector.select(criteria), loss), same.cost.bytes, loss);
    const Score a = trial.score(same, Data::to_judge),
                b = trial.score(mixed.selection, Data::to_judge);
    ++(b.divergence < a.divergence    ? tally.better
       : b.divergence == a.divergence ? tally.same
                                      : tally.worse);
    const std::string& name = same.nodes.front().choice.scheme;
    table.add({task.name, name, fixed(same.bits_per_weight(), 3),
               fixed(mixed.selection.bits_per_weight(), 3), fixed(1e3 * a.divergence, 3),
               fixed(1e3 * b.divergence, 3), task.metric, fixed(a.metric, task.digits),
               fixed(b.metric, task.digits)});
  }
}

int run(const std::filesystem::path& data, bool quick) {
  const std::vector<tq::NamedScheme> list = schemes(quick);
  Table table({"model", "uniform", "bits", "bits selected", "1000 x divergence", "selected",
               "metric", "uniform", "selected"});
  Tally tally;
  for (const auto& task : {digits_task, anomaly_task}) add_rows(task(data), list, table, tally);
  if (!quick) add_rows(stories_task(data), list, table, tally);
  std::cout << "One scheme for all matrices, and a scheme for each that was selected to take no "
               "more bytes:\n\n"
            << table
            << "\nbits are those of a weight, scales and zero points included. divergence is how "
               "far the outputs are from those of\nthe float model: Kullback-Leibler, of ad01 the "
               "mean squared difference. Schemes were selected by it on other\ndata than those "
               "of the table. "
            << tally.better << " selections diverge less, " << tally.same << " as much, "
            << tally.worse << " more.\n";
  return tally.better > tally.same + tally.worse ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::quick_main("mixed_precision", argc, argv, "", run);
}
