// SPDX-License-Identifier: MIT
// tq quantize IN OUT.gguf: a model as llama.cpp loads it; and what it loses, for tq select.

#include "conversion_talk.hpp"
#include "gguf_options.hpp"
#include "gguf_types.hpp"
#include "measured_layers.hpp"
#include "option_names.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "stored_model.hpp"

#include <tq/containers/tensor.hpp>
#include <tq/json/json.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/store/measure_gguf.hpp>
#include <tq/store/write_gguf.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

std::string gguf_type_name(const tq::GgufWritten& tensor) {
  return std::string(tq::layouts::gguf::info_of(tensor.type).name);
}

std::string gguf_mix_name(const GgufQuantizeOptions& options) {
  return options.how.config.empty() ? options.how.type : options.how.config.string();
}

void print_gguf_json(const tq::GgufReport& report, const GgufQuantizeOptions& options) {
  tq::io::Json tensors = tq::io::Json::array();
  for (const tq::GgufWritten& t : report.tensors) {
    tq::io::Json row{{"name", t.name},         {"shape", t.shape},
                     {"from", t.from},         {"type", gguf_type_name(t)},
                     {"bytes", t.bytes_after}, {"bytes_before", t.bytes_before}};
    if (!t.note.empty()) row["note"] = t.note;
    tensors.push_back(std::move(row));
  }
  tq::io::Json json{{"input", options.in},
                    {"output", options.out},
                    {"type", gguf_mix_name(options)},
                    {"method", options.how.method == tq::GgufMethod::ggml ? "ggml" : "best"},
                    {"tensors", std::move(tensors)},
                    {"dropped", report.dropped},
                    {"notes", with_option_names(report.notes)},
                    {"total",
                     {{"bytes_before", report.bytes_before()},
                      {"bytes_after", report.bytes_after()},
                      {"bits_per_weight", report.bits_per_weight()}}}};
  if (report.reused_shards)
    json["shards"] = {{"all", report.shards}, {"finished_before", *report.reused_shards}};
  print_json(json);
}

void print_gguf_rows(const tq::GgufReport& report, bool is_verbose) {
  Table table({{"tensor"}, {"shape"}, {"from"}, {"type"}, {"bytes", true}, {"note"}});
  for (const tq::GgufWritten& t : report.tensors)
    table.add({printable(t.name), tq::io::shape_text(t.shape), t.from, gguf_type_name(t),
               grouped(t.bytes_after), t.note});
  if (is_verbose) table.print();
  else table.print_first(most_rows);
}

void print_gguf_report(const tq::GgufReport& report, const GgufQuantizeOptions& options) {
  if (options.json) return print_gguf_json(report, options);
  if (options.talk.quiet) return;
  print_gguf_rows(report, options.talk.verbose);
  std::map<std::string, std::size_t> types;
  for (const tq::GgufWritten& t : report.tensors) ++types[gguf_type_name(t)];
  std::cout << report.tensors.size() << " tensors in " << printable(gguf_mix_name(options)) << " (";
  const char* comma = "";
  for (const auto& [name, count] : types) {
    std::cout << comma << count << ' ' << name;
    comma = ", ";
  }
  std::cout << "), " << fixed(report.bits_per_weight(), 2) << " bits per weight; "
            << grouped(report.bytes_before()) << " bytes before, " << grouped(report.bytes_after())
            << " after, " << fixed(saved_percent(report.bytes_before(), report.bytes_after()), 1)
            << " % saved\n";
  print_reused(report.shards, report.reused_shards);
  for (const std::string& name : report.dropped)
    std::cout << "tensor left out: " << printable(name) << '\n';
  for (const std::string& note : report.notes)
    std::cout << "note: " << printable_text(with_option_names(note)) << '\n';
}

std::vector<tq::layouts::gguf::Type> gguf_types_of(const SelectOptions& options) {
  std::vector<std::string> known{"f16", "bf16"};
  for (std::string& name : gguf_block_names()) known.push_back(std::move(name));
  std::vector<tq::layouts::gguf::Type> out;
  for (const std::string& name : options.types) {
    const tq::layouts::gguf::TypeInfo* const info = tq::layouts::gguf::find_type(name);
    if (info == nullptr || std::ranges::count(known, info->name) == 0)
      throw UsageError("--types: expected " + tq::joined_names(known) + ", got \"" + name + '"' +
                       tq::did_you_mean(name, known));
    if (std::ranges::count(out, info->type) != 0)
      throw UsageError("--types: expected each type once, got \"" + name + "\" twice");
    out.push_back(info->type);
  }
  return out;
}

tq::GgufOptions weight_options(const SelectOptions& options) {
  tq::GgufOptions how = options.gguf;
  how.names = options.names;
  how.requantize = options.requantize;
  how.jobs = options.jobs;
  return how;
}

}  // namespace

tq::GgufMeasurement measured_weights(const SelectOptions& options) {
  tq::GgufOptions how = weight_options(options);
  const std::vector<tq::layouts::gguf::Type> types = gguf_types_of(options);
  const ConversionTalk talk("measure", how);
  return tq::measure_gguf(options.file, types, how);
}

tq::GgufMeasurement sized_weights(const SelectOptions& options) {
  return tq::gguf_candidates(options.file, gguf_types_of(options), weight_options(options));
}

void quantize_gguf(const GgufQuantizeOptions& options, const Team& team) {
  show_progress(team.rank() == 0 && !options.json && !options.talk.quiet, options.talk.progress);
  tq::GgufOptions how = options.how;
  how.team = &team;
  const ConversionTalk talk("quantize", how);
  const tq::GgufReport report = tq::write_gguf(options.out, options.in, how);
  if (team.rank() == 0) print_gguf_report(report, options);
}

}  // namespace tool
