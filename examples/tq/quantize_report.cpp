// SPDX-License-Identifier: MIT
#include "quantize_report.hpp"

#include "kind_table.hpp"
#include "left_files.hpp"
#include "output.hpp"

#include <tq/json/json.hpp>
#include <tq/model/summary.hpp>

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// Calls f(job) for the tensors, in the order of the input.
template <class F>
void for_each_job(const QuantizePlan& plan, F&& f) {
  for (const OutputShard& shard : plan.shards)
    for (const QuantizeJob& job : shard.jobs) f(job);
}

tq::io::Json to_json(const QuantizeJob& job) {
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
  entry["nan"] = job.nonfinite.nan;
  entry["infinite"] = job.nonfinite.infinite;
  return entry;
}

std::vector<std::string> left_out(const QuantizePlan& plan) {
  std::vector<std::string> names = plan.omitted;
  for (std::string& name : names_of(plan.others)) names.push_back(std::move(name));
  return names;
}

// The tensors of each kind that stay in float, and those that would grow.
std::map<tq::NodeKind, std::vector<std::string>> kept(const QuantizePlan& plan) {
  std::map<tq::NodeKind, std::vector<std::string>> names;
  for_each_job(plan, [&](const QuantizeJob& job) {
    const StoredTensor& t = *job.source;
    const bool is_weight = t.shape.size() > 1 || t.kind == tq::NodeKind::position;
    if (!is_weight || !is_quantizable(t.dtype)) return;
    if (std::vector<std::string>& of_kind = names[t.kind]; !job.is_quantized())
      of_kind.push_back(t.name);
  });
  return names;
}

std::size_t count_growing(const QuantizePlan& plan) {
  std::size_t count = 0;
  for_each_job(plan,
               [&](const QuantizeJob& job) { count += job.copied.starts_with("would grow"); });
  return count;
}

tq::io::Json kept_to_json(const QuantizePlan& plan) {
  tq::io::Json out = tq::io::Json::object();
  const auto names = kept(plan);
  for (const tq::NodeKind kind : tq::default_float_kinds) {
    const auto found = names.find(kind);
    out[std::string(to_string(kind))] =
        found == names.end() ? tq::io::Json::array() : tq::io::Json(found->second);
  }
  return out;
}

// The names of tensors that are copied without being read.
std::vector<std::string> copied_unread(const QuantizePlan& plan) {
  std::vector<std::string> names;
  for (const OutputShard& shard : plan.shards)
    for (const tq::io::OtherMember* other : shard.raw) names.push_back(other->name);
  return names;
}

// The sums of all tensors.
struct Totals {
  std::uint64_t before = 0, after = 0, weights = 0, weight_bytes = 0;
  std::size_t tensors = 0, quantized = 0;
  NonFiniteCounts nonfinite;

  explicit Totals(const QuantizePlan& plan) {
    for_each_job(plan, [&](const QuantizeJob& job) {
      ++tensors;
      before += job.source->bytes;
      after += job.bytes_after();
      nonfinite.add(job.nonfinite);
      if (!job.is_quantized()) return;
      ++quantized;
      weights += job.source->elements();
      weight_bytes += job.bytes_after();
    });
    for (const OutputShard& shard : plan.shards)
      for (const tq::io::OtherMember* other : shard.raw) {
        before += other->raw->size_bytes;
        after += other->raw->size_bytes;
      }
  }
  [[nodiscard]] double bits_per_weight() const {
    return weights == 0 ? 0.0
                        : 8.0 * static_cast<double>(weight_bytes) / static_cast<double>(weights);
  }
};

void print_json_report(const QuantizePlan& plan, const QuantizeOptions& options,
                       const QuantizeNotes& notes) {
  tq::io::Json list = tq::io::Json::array();
  for_each_job(plan, [&](const QuantizeJob& job) { list.push_back(to_json(job)); });
  const Totals totals(plan);
  const bool has_config = !options.config.empty();
  tq::io::Json report{{"input", options.in},
                      {"output", options.out},
                      {"config", has_config ? tq::io::Json(options.config) : tq::io::Json()},
                      {"spec", has_config ? tq::io::Json() : tq::io::spec_to_json(options.spec)},
                      {"cast_without_scales", !has_config && options.spec.is_cast()},
                      {"left_out", left_out(plan)},
                      {"copied_unread", copied_unread(plan)},
                      {"kept", kept_to_json(plan)},
                      {"notes", plan.notes},
                      {"files_not_copied", notes.left_behind},
                      {"tensors", std::move(list)},
                      {"total",
                       {{"tensors", totals.tensors},
                        {"quantized", totals.quantized},
                        {"bytes_before", totals.before},
                        {"bytes_after", totals.after},
                        {"saved", saved_percent(totals.before, totals.after) / 100},
                        {"bits_per_weight", totals.bits_per_weight()}}}};
  if (notes.reused)
    report["shards"] = {{"all", plan.shards.size()}, {"finished_before", *notes.reused}};
  print_json(report);
}

// How a tensor is stored.
std::string kind_of(const QuantizeJob& job) {
  return job.is_quantized()
             ? to_string(job.encoding->spec)
             : std::string(to_string(job.source->dtype)) + ", copied (" + job.copied + ")";
}

void print_kinds(const QuantizePlan& plan) {
  KindTable table("scheme");
  for_each_job(plan, [&](const QuantizeJob& job) {
    KindRow row{kind_of(job), job.source->name, job.source->elements(), job.bytes_after()};
    if (job.is_quantized()) {
      row.sqnr_db = job.metrics.sqnr_db;
      row.max_error = job.metrics.max_abs;
    }
    table.add(row);
  });
  table.print();
}

void print_table(const QuantizePlan& plan, const QuantizeOptions& options) {
  std::vector<Table::Column> columns{{"tensor"},        {"shape"},
                                     {"scheme"},        {"bits/weight", true},
                                     {"SQNR dB", true}, {"max error", true}};
  if (options.allow_nonfinite) columns.push_back({"NaN/Inf", true});
  Table table(std::move(columns));
  for_each_job(plan, [&](const QuantizeJob& job) {
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
  });
  table.print();
}

// What the table does not say of itself.
void print_notes(const QuantizePlan& plan, const Totals& totals, const QuantizeOptions& options,
                 const QuantizeNotes& notes) {
  if (totals.nonfinite.all() != 0)
    std::cout << grouped(totals.nonfinite.nan) << " NaN and " << grouped(totals.nonfinite.infinite)
              << " infinite values: SQNR and errors are those of the finite ones.\n";
  if (options.config.empty() && options.spec.is_cast())
    std::cout << options.spec.type
              << " is a cast without scales; --granularity per_tensor, per_channel and so on have "
                 "scales.\n";
  auto names = kept(plan);
  for (auto& [kind, of_kind] : names)
    if (!of_kind.empty()) of_kind[0] = printable(of_kind[0]);
  std::cout << tq::kept_text(names);
  if (const std::size_t growing = count_growing(plan); growing != 0)
    std::cout << "; " << growing << " that would grow";
  std::cout << '\n';
  for (const std::string& note : plan.notes) std::cout << note << '\n';
  for (const std::string& name : plan.omitted)
    std::cout << "left out, since no tensor can have this name in a safetensors file: "
              << printable(name) << '\n';
  for (const OutputShard& shard : plan.shards)
    for (const tq::io::OtherMember* other : shard.raw) print_copied(*other);
  print_others(plan.others);
  print_left_behind(notes.left_behind, options.in);
  print_reused(plan.shards.size(), notes.reused);
}

}  // namespace

void print_quantize_report(const QuantizePlan& plan, const QuantizeOptions& options,
                           const QuantizeNotes& notes) {
  if (options.json) return print_json_report(plan, options, notes);
  if (options.talk.quiet) return;
  const Totals totals(plan);
  if (totals.tensors > most_rows && !options.talk.verbose) print_kinds(plan);
  else print_table(plan, options);
  std::cout << '\n' << totals.quantized << " of " << totals.tensors << " tensors quantized";
  if (totals.weights != 0)
    std::cout << " to " << fixed(totals.bits_per_weight(), 2) << " bits per weight";
  std::cout << "; " << grouped(totals.before) << " bytes before, " << grouped(totals.after)
            << " after, " << fixed(saved_percent(totals.before, totals.after), 1) << " % saved\n";
  print_notes(plan, totals, options, notes);
}

}  // namespace tool
