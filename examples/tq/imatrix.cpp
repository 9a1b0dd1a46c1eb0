// SPDX-License-Identifier: MIT
// tq imatrix: the importance of the inputs of weights, for GGUF files.
#include "importance_report.hpp"
#include "output_files.hpp"

#include <tq/files/atomic_file.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/activation_files.hpp>
#include <tq/store/gguf_mapping.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/measure_importance.hpp>
#include <tq/store/own_file.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// Sentences about names and experts that may be mistakes.
std::vector<std::string> importance_notes(const tq::MeasuredImportance& made,
                                          const tq::ImportanceSums& sums) {
  std::vector<std::string> notes;
  std::size_t other = 0, unseen = 0;
  std::string first;
  for (const auto& layer : made.layers)
    if (!layer.is_in_mapping && other++ == 0) first = layer.name;
  if (other != 0)
    notes.push_back("the mapping does not have " + std::to_string(other) +
                    " names, which are kept; the first is " + tq::io::shown(first));
  for (const auto& [name, weight] : sums.weights)
    if (const auto n = std::ranges::count(weight.counts, 0u); n != 0 && unseen++ == 0)
      first = name + " (" + std::to_string(n) + " of " + std::to_string(weight.counts.size()) + ")";
  if (unseen != 0)
    notes.push_back("no tokens of matrices in " + std::to_string(unseen) +
                    " weights, whose inputs weigh the same; the first is " + first);
  return notes;
}

}  // namespace

void imatrix(const ImatrixOptions& options) {
  const tq::ImportanceForm form = importance_form("-o", options.out);
  if (!options.start.empty()) require_other_file("-o", options.out, {options.start}, "--continue");
  require_other_file("-o", options.out, tq::activation_files(options.data), "DATA");
  require_place(options.out, options.overwrite);
  const tq::GgufMapping mapping =
      options.mapping.empty() ? tq::gguf_llama_mapping() : tq::read_gguf_mapping(options.mapping);
  tq::ImportanceSums sums;
  if (!options.start.empty()) sums = tq::read_importance_sums(options.start);
  const tq::MeasuredImportance made = tq::measure_importance(options.data, mapping);
  sums.merge(made.sums);
  tq::write_importance(options.out, sums, form, tq::io::Links::replaced);
  tq::store::mark_as_own(options.out);
  ImportanceReport report{options.data, options.out, sums};
  for (const auto& layer : made.layers) {
    report.from[layer.weight].push_back(layer.name);
    report.left_out[layer.weight] += layer.left_out;
  }
  report.notes = importance_notes(made, sums);
  report.print(options.json, options.talk);
}

}  // namespace tool
