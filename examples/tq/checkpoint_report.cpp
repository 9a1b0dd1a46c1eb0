// SPDX-License-Identifier: MIT
#include "checkpoint_report.hpp"

#include "checkpoint_choice.hpp"
#include "loss_report.hpp"
#include "output.hpp"

#include <tq/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// The type of all layers, or that they have several.
std::string type_of(const CheckpointChoice& choice) {
  return choice.schemes.empty() ? choice.type : "mixed";
}

// The layers with an algorithm, in the order of the file.
WeightReports weight_reports(const tq::CheckpointReport& report) {
  WeightReports reports;
  for (const std::string& module : report.quantized)
    if (const auto found = report.algorithms.find(module); found != report.algorithms.end())
      reports.emplace_back(module, found->second);
  return reports;
}

void print_json_report(const tq::CheckpointReport& report, const QuantizeOptions& options) {
  tq::io::Json left = tq::io::Json::array(), load = tq::io::Json::object();
  for (const tq::io::LeftModule& m : report.left)
    left.push_back({{"module", m.module}, {"reason", m.reason}});
  for (const LoadingLine& line : loading_lines(*options.checkpoint, options.out))
    load[line.engine] = line.line;
  tq::io::Json json{{"input", options.in},
                    {"output", options.out},
                    {"format", report.format},
                    {"type", type_of(*options.checkpoint)},
                    {"quantized", report.quantized},
                    {"left", std::move(left)},
                    {"dropped", report.dropped},
                    {"notes", report.notes},
                    {"files_copied", report.copied},
                    {"files_not_copied", report.not_copied},
                    {"load", std::move(load)},
                    {"total",
                     {{"quantized", report.quantized.size()},
                      {"bytes_before", report.bytes_before},
                      {"bytes_after", report.bytes_after},
                      {"saved", saved_percent(report.bytes_before, report.bytes_after) / 100},
                      {"bits_per_weight", report.bits_per_weight()}}}};
  if (const WeightReports reports = weight_reports(report); !reports.empty()) {
    tq::io::Json& layers = json["algorithms"] = tq::io::Json::object();
    for (const auto& [module, of_layer] : reports) layers[module] = tool::to_json(of_layer);
    json["total"]["algorithm"] = losses_to_json(reports);
  }
  if (report.reused_shards)
    json["shards"] = {{"all", report.shards}, {"finished_before", *report.reused_shards}};
  print_json(json);
}

// "router: model.layers.0.mlp.gate, model.layers.1.mlp.gate and 46 more", a line for each reason.
void print_left(const std::vector<tq::io::LeftModule>& left, bool is_verbose) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const tq::io::LeftModule& m : left) {
    auto group = std::ranges::find(groups, m.reason, [](const auto& g) { return g.first; });
    if (group == groups.end()) group = groups.insert(group, {m.reason, {}});
    group->second.push_back(m.module);
  }
  const std::size_t most = is_verbose ? left.size() : 3;
  for (const auto& [reason, modules] : groups) {
    std::cout << "left in float (" << reason << "):";
    for (std::size_t i = 0; i < std::min(most, modules.size()); ++i)
      std::cout << (i == 0 ? " " : ", ") << printable(modules[i]);
    if (modules.size() > most) std::cout << " and " << modules.size() - most << " more";
    std::cout << '\n';
  }
}

void print_names(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::cout << what;
  for (std::size_t i = 0; i < names.size(); ++i)
    std::cout << (i == 0 ? " " : ", ") << printable(names[i]);
  std::cout << '\n';
}

}  // namespace

void print_checkpoint_report(const tq::CheckpointReport& report, const QuantizeOptions& options) {
  if (options.json) return print_json_report(report, options);
  if (options.talk.quiet) return;
  if (!report.algorithms.empty()) {
    print_losses(weight_reports(report), options.talk);
    std::cout << '\n';
  }
  std::cout << report.quantized.size() << " linear layers in " << report.format << ' '
            << type_of(*options.checkpoint) << ", " << fixed(report.bits_per_weight(), 2)
            << " bits per weight; " << grouped(report.bytes_before) << " bytes before, "
            << grouped(report.bytes_after) << " after, "
            << fixed(saved_percent(report.bytes_before, report.bytes_after), 1) << " % saved\n";
  print_left(report.left, options.talk.verbose);
  print_names("tensors left out:", report.dropped);
  print_names("files carried over: config.json,", report.copied);
  print_names("files left out:", report.not_copied);
  print_reused(report.shards, report.reused_shards);
  for (const std::string& note : report.notes) std::cout << "note: " << note << '\n';
  for (const LoadingLine& line : loading_lines(*options.checkpoint, options.out))
    std::cout << line.engine << ": " << line.line << '\n';
}

}  // namespace tool
