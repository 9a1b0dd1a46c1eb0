// SPDX-License-Identifier: MIT
#include "quantize_report.hpp"

#include "kind_table.hpp"
#include "loss_report.hpp"
#include "output.hpp"
#include "stored_model.hpp"

#include <tq/json/json.hpp>
#include <tq/model/summary.hpp>

#include <cstddef>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::ConversionReport;
using tq::ConversionTotals;
using tq::ConvertedTensor;

WeightReports weight_reports(const ConversionReport& report) {
  WeightReports reports;
  for (const ConvertedTensor& job : report.tensors)
    if (job.weights) reports.emplace_back(job.source->name, *job.weights);
  return reports;
}

tq::io::Json to_json(const ConvertedTensor& job) {
  const StoredTensor& t = *job.source;
  tq::io::Json entry{{"name", t.name},
                     {"shape", t.shape},
                     {"dtype", std::string(to_string(t.dtype))},
                     {"quantized", job.is_quantized()},
                     {"bits_per_weight", job.bits_per_weight()},
                     {"bytes_before", t.bytes},
                     {"bytes_after", job.bytes_after()}};
  if (!job.decided_by.empty()) entry["decided_by"] = job.decided_by;
  if (!job.is_quantized()) {
    entry["reason"] = job.copied;
    return entry;
  }
  entry["spec"] = tq::io::spec_to_json(job.encoding->spec);
  entry["error"] = tool::to_json(job.metrics);
  if (job.weights) entry["algorithm"] = tool::to_json(*job.weights);
  entry["nan"] = job.nonfinite.nan;
  entry["infinite"] = job.nonfinite.infinite;
  return entry;
}

std::vector<std::string> left_out(const ConversionReport& report) {
  std::vector<std::string> names = report.unnameable;
  for (std::string& name : names_of(report.left_out)) names.push_back(std::move(name));
  return names;
}

// The tensors of each kind that stay in float, and those that would grow.
std::map<tq::NodeKind, std::vector<std::string>> kept(const ConversionReport& report) {
  std::map<tq::NodeKind, std::vector<std::string>> names;
  for (const ConvertedTensor& job : report.tensors) {
    const StoredTensor& t = *job.source;
    const bool is_weight = t.shape.size() > 1 || t.kind == tq::NodeKind::position;
    if (!is_weight || !is_quantizable(t.dtype)) continue;
    if (std::vector<std::string>& of_kind = names[t.kind]; !job.is_quantized())
      of_kind.push_back(t.name);
  }
  return names;
}

std::size_t count_growing(const ConversionReport& report) {
  std::size_t count = 0;
  for (const ConvertedTensor& job : report.tensors) count += job.copied.starts_with("would grow");
  return count;
}

tq::io::Json kept_to_json(const ConversionReport& report) {
  tq::io::Json out = tq::io::Json::object();
  const auto names = kept(report);
  for (const tq::NodeKind kind : tq::default_float_kinds) {
    const auto found = names.find(kind);
    out[std::string(to_string(kind))] =
        found == names.end() ? tq::io::Json::array() : tq::io::Json(found->second);
  }
  return out;
}

void print_json_report(const ConversionReport& report, const QuantizeOptions& options) {
  tq::io::Json list = tq::io::Json::array();
  for (const ConvertedTensor& job : report.tensors) list.push_back(to_json(job));
  const ConversionTotals totals = report.totals();
  const bool has_config = !options.config.empty();
  tq::io::Json json{{"input", options.in},
                    {"output", options.out},
                    {"config", has_config ? tq::io::Json(options.config) : tq::io::Json()},
                    {"spec", has_config ? tq::io::Json() : tq::io::spec_to_json(options.spec)},
                    {"cast_without_scales", !has_config && options.spec.is_cast()},
                    {"left_out", left_out(report)},
                    {"copied_unread", names_of(report.copied_unread)},
                    {"kept", kept_to_json(report)},
                    {"notes", report.notes},
                    {"files_not_copied", report.files_not_copied},
                    {"tensors", std::move(list)},
                    {"total",
                     {{"tensors", totals.tensors},
                      {"quantized", totals.quantized},
                      {"bytes_before", totals.bytes_before},
                      {"bytes_after", totals.bytes_after},
                      {"saved", saved_percent(totals.bytes_before, totals.bytes_after) / 100},
                      {"bits_per_weight", totals.bits_per_weight()}}}};
  if (const WeightReports reports = weight_reports(report); !reports.empty())
    json["total"]["algorithm"] = losses_to_json(reports);
  if (report.reused_shards)
    json["shards"] = {{"all", report.shards}, {"finished_before", *report.reused_shards}};
  print_json(json);
}

// How a tensor is stored.
std::string kind_of(const ConvertedTensor& job) {
  return job.is_quantized()
             ? to_string(job.encoding->spec)
             : std::string(to_string(job.source->dtype)) + ", copied (" + job.copied + ")";
}

void print_kinds(const ConversionReport& report) {
  KindTable table("scheme");
  for (const ConvertedTensor& job : report.tensors) {
    KindRow row{kind_of(job), job.source->name, job.source->elements(), job.bytes_after()};
    if (job.is_quantized()) {
      row.sqnr_db = job.metrics.sqnr_db;
      row.max_error = job.metrics.max_abs;
    }
    table.add(row);
  }
  table.print();
}

void print_table(const ConversionReport& report, const QuantizeOptions& options) {
  std::vector<Table::Column> columns{{"tensor"},        {"shape"},
                                     {"scheme"},        {"bits/weight", true},
                                     {"SQNR dB", true}, {"max error", true}};
  if (options.allow_nonfinite) columns.push_back({"NaN/Inf", true});
  Table table(std::move(columns));
  for (const ConvertedTensor& job : report.tensors) {
    const StoredTensor& t = *job.source;
    const bool is_quantized = job.is_quantized();
    std::vector<std::string> row{printable(t.name),
                                 tq::io::shape_text(t.shape),
                                 kind_of(job),
                                 fixed(job.bits_per_weight(), 2),
                                 is_quantized ? fixed(job.metrics.sqnr_db, 2) : "-",
                                 is_quantized ? short_up(job.metrics.max_abs) : "-"};
    if (options.allow_nonfinite)
      row.push_back(job.nonfinite.all() == 0 ? "-" : to_string(job.nonfinite));
    table.add(row);
  }
  table.print();
}

// Notes on what the table leaves out.
void print_notes(const ConversionReport& report, const ConversionTotals& totals,
                 const QuantizeOptions& options) {
  if (totals.nonfinite.all() != 0)
    std::cout << grouped(totals.nonfinite.nan) << " NaN and " << grouped(totals.nonfinite.infinite)
              << " infinite values: SQNR and errors are those of the finite ones.\n";
  if (options.config.empty() && options.spec.is_cast())
    std::cout << options.spec.type
              << " is a cast without scales; --granularity per_tensor, per_channel and so on have "
                 "scales.\n";
  auto names = kept(report);
  for (auto& [kind, of_kind] : names)
    if (!of_kind.empty()) of_kind[0] = printable(of_kind[0]);
  std::cout << tq::kept_text(names);
  if (const std::size_t growing = count_growing(report); growing != 0)
    std::cout << "; " << growing << " that would grow";
  std::cout << '\n';
  for (const std::string& note : report.notes) std::cout << note << '\n';
  for (const std::string& name : report.unnameable)
    std::cout << "left out, since no tensor can have this name in a safetensors file: "
              << printable(name) << '\n';
  for (const tq::io::OtherMember& other : report.copied_unread) print_copied(other);
  print_others(report.left_out);
  print_left_behind(report.files_not_copied, options.in);
  print_reused(report.shards, report.reused_shards);
}

}  // namespace

void print_quantize_report(const ConversionReport& report, const QuantizeOptions& options) {
  if (options.json) return print_json_report(report, options);
  if (options.talk.quiet) return;
  const ConversionTotals totals = report.totals();
  if (totals.tensors > most_rows && !options.talk.verbose) print_kinds(report);
  else print_table(report, options);
  print_losses(weight_reports(report), options.talk);
  std::cout << '\n' << totals.quantized << " of " << totals.tensors << " tensors quantized";
  if (totals.weights != 0)
    std::cout << " to " << fixed(totals.bits_per_weight(), 2) << " bits per weight";
  std::cout << "; " << grouped(totals.bytes_before) << " bytes before, "
            << grouped(totals.bytes_after) << " after, "
            << fixed(saved_percent(totals.bytes_before, totals.bytes_after), 1) << " % saved\n";
  print_notes(report, totals, options);
}

}  // namespace tool
