// SPDX-License-Identifier: MIT
// tq select --for llama.cpp: a type of GGUF files for every weight.
#include "commands.hpp"
#include "engine_selection.hpp"
#include "gguf_options.hpp"
#include "kind_table.hpp"
#include "measured_layers.hpp"
#include "option_names.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "precision.hpp"
#include "progress.hpp"
#include "selection.hpp"
#include "state_file.hpp"

#include <tq/json/json_text.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/select/precision_selector.hpp>
#include <tq/store/gguf_mix_json.hpp>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// A weight in the type that was chosen for it.
struct ChosenType {
  const tq::SelectedPrecision* node;
  std::string type;
  double error;  // sum d^2 / sum w^2 of the weight
};

std::vector<ChosenType> chosen_types(const tq::PrecisionSelection& selection,
                                     const tq::GgufMeasurement& measured) {
  std::vector<ChosenType> out;
  for (std::size_t i = 0; i < selection.nodes.size(); ++i) {
    const tq::PrecisionCandidate& c = selection.nodes[i].choice;
    const std::string_view kept = tq::layouts::gguf::info_of(measured.kept[i]).name;
    out.push_back({&selection.nodes[i], c.scheme == tq::float_scheme ? std::string(kept) : c.scheme,
                   c.error == 0 ? 0 : c.error / measured.shares[i]});
  }
  return out;
}

// The command that writes the choice.
std::string gguf_command_of(const SelectOptions& options) {
  std::string line = "tq quantize " + quoted(options.file) + " OUT.gguf --config " +
                     quoted(options.out) + name_options(options.names);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) line += std::string(option) + quoted(value);
  };
  if (options.gguf.method == tq::GgufMethod::ggml) line += " --method ggml";
  add(" --imatrix ", options.gguf.imatrix.string());
  add(" --mapping ", options.gguf.mapping.string());
  add(" --metadata ", options.gguf.metadata.string());
  if (options.requantize) line += " --requantize";
  return line;
}

// Throws: UsageError for an output that is a file of the model, or another input.
void require_gguf_output(const SelectOptions& options) {
  for (const auto& [file, option] :
       {std::pair(options.gguf.mapping, "--mapping"), std::pair(options.gguf.imatrix, "--imatrix")})
    if (!file.empty()) require_other_file("-o", options.out, {file}, option);
  if (is_gguf_name(options.file)) return;  // the output is a .json file
  const StoredModel model(options.file);
  require_other_file("-o", options.out, model.files(), "MODEL");
  require_no_configuration("-o", options.out, model.contents());
}

// Throws: UsageError for a size that no choice of types has.
void require_reachable_gguf(const SelectOptions& options, const tq::GgufMeasurement& sizes) {
  const tq::PrecisionSelector selector(sizes.weights);
  const std::uint64_t fewest = selector.frontier().fewest_bytes().cost.bytes;
  const auto reach = [&] {
    const auto bytes = [&](const tq::PrecisionSelection& s) {
      return s.cost.bytes + sizes.other_bytes;
    };
    return uniform_sizes(selector, bytes);
  };
  require_reachable(options, {fewest, weights_of(sizes.weights), fewest + sizes.other_bytes,
                              sizes.other_bytes, "keys, other tensors and padding", reach});
}

void print_gguf_table(const std::vector<ChosenType>& chosen, double all, bool is_verbose) {
  if (chosen.size() > most_rows && !is_verbose) {
    KindTable table("type");
    for (const ChosenType& c : chosen)
      table.add({c.type, c.node->name, c.node->weights, c.node->choice.bytes, sqnr_of(c.error)});
    return table.print();
  }
  Table table({{"tensor"}, {"type"}, {"bits/weight", true}, {"SQNR dB", true}, {"error %", true}});
  for (const ChosenType& c : chosen)
    table.add({printable(c.node->name), c.type,
               fixed(bits_per_weight(c.node->choice.bytes, c.node->weights), 3),
               fixed(sqnr_of(c.error), 2),
               fixed(all > 0 ? 100 * c.node->choice.error / all : 0, 1)});
  table.print();
}

void print_gguf_selection(const tq::PrecisionSelection& selection,
                          const tq::GgufMeasurement& measured, const SelectOptions& options) {
  print_gguf_table(chosen_types(selection, measured), selection.cost.error, options.talk.verbose);
  std::cout << '\n'
            << selection.nodes.size() << " tensors, " << grouped(selection.weights)
            << " weights: " << fixed(selection.bits_per_weight(), 3) << " bits per weight, SQNR "
            << fixed(selection.sqnr_db(), 2) << " dB; the file will have "
            << grouped(selection.cost.bytes + measured.other_bytes) << " bytes, "
            << grouped(measured.other_bytes) << " of them for keys and other tensors.\n";
  print_proof(selection, options);
  std::cout << "SQNR of all is that of sum d^2 / sum w^2 over all weights; error % is a share of "
               "sum d^2.\n";
  for (const std::string& note : measured.notes)
    std::cout << "note: " << printable_text(with_option_names(note)) << '\n';
  std::cout << "The mix is in " << options.out << ".\n" << gguf_command_of(options) << '\n';
}

void print_gguf_selection_json(const tq::PrecisionSelection& selection,
                               const tq::GgufMeasurement& measured, const SelectOptions& options) {
  tq::io::Json tensors = tq::io::Json::array();
  for (const ChosenType& c : chosen_types(selection, measured)) {
    tq::io::Json row{{"name", c.node->name},
                     {"type", c.type},
                     {"bytes", c.node->choice.bytes},
                     {"bits_per_weight", bits_per_weight(c.node->choice.bytes, c.node->weights)},
                     {"error", c.error},
                     {"confidence", c.node->confidence}};
    put_number(row, "sqnr_db", sqnr_of(c.error));
    tensors.push_back(std::move(row));
  }
  tq::io::Json total = total_to_json(selection, measured.other_bytes);
  const double count = static_cast<double>(std::max<std::size_t>(1, selection.nodes.size()));
  total["error"] = selection.cost.error / count;
  total["bound"] = selection.bound / count;
  print_json({{"file", options.file},
              {"output", options.out},
              {"for", options.engine},
              {"format", "gguf"},
              {"tensors", std::move(tensors)},
              {"dropped", measured.dropped},
              {"notes", with_option_names(measured.notes)},
              {"command", gguf_command_of(options)},
              {"total", std::move(total)}});
}

}  // namespace

void select_gguf(const SelectOptions& options) {
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  static_cast<void>(goal_of(options));
  require_sense(options);
  require_no_others(options);
  if (options.tensor_parallel != 1)
    throw UsageError("--tensor-parallel: expected none beside --for llama.cpp");
  require_gguf_output(options);
  TextFiles output;
  output.open(options.out, options.overwrite);
  require_reachable_gguf(options, sized_weights(options));
  const tq::GgufMeasurement measured = measured_weights(options);
  require_reachable_gguf(options, measured);  // without types that cannot hold the values
  const tq::PrecisionSelector selector(measured.weights);
  const tq::PrecisionSelection selection =
      selector.select(criteria_of(options, measured.other_bytes));
  output.write(0, tq::gguf_mix_json(measured, selection).dump(2) + "\n");
  output.commit();
  if (options.json) return print_gguf_selection_json(selection, measured, options);
  if (!options.talk.quiet) print_gguf_selection(selection, measured, options);
}

}  // namespace tool
