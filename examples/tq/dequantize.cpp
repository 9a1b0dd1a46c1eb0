// SPDX-License-Identifier: MIT
// tq dequantize: writes a quantized model back in the types it had, in one file or in shards.

#include "commands.hpp"
#include "conversion_talk.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "stored_model.hpp"

#include <tq/store/dequantize_model.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// A tensor of the output, and of which of the input it is made.
struct Output {
  tq::io::TensorDecl declaration;
  const tq::ConvertedTensor* from;

  // Why it is a part of a weight that cannot be read, or empty.
  [[nodiscard]] const std::string& reason() const { return from->copied; }
};

std::size_t decoded_of(const std::vector<Output>& outputs) {
  return static_cast<std::size_t>(
      std::ranges::count_if(outputs, [](const Output& o) { return o.from->is_decoded; }));
}

std::vector<Output> outputs_of(const tq::ConversionReport& report) {
  std::vector<Output> out;
  std::set<const tq::io::TensorDecl*> stacks;
  for (const tq::ConvertedTensor& t : report.tensors) {
    if (t.stack) {
      if (stacks.insert(t.stack.get()).second) out.push_back({*t.stack, &t});
      continue;
    }
    if (t.is_decoded) {
      out.push_back({{t.source->name, t.source->dtype, t.source->shape}, &t});
      continue;
    }
    if (t.source->shares_parts()) continue;
    for (tq::store::PartPlace& part : report.model->places(*t.source))
      out.push_back({std::move(part.declaration), &t});
  }
  return out;
}

void print_json_report(const tq::ConversionReport& report, const DequantizeOptions& options) {
  const tq::ConversionTotals total = report.totals();
  const std::vector<Output> outputs = outputs_of(report);
  tq::io::Json list = tq::io::Json::array();
  for (const Output& output : outputs) {
    list.push_back({{"name", output.declaration.name},
                    {"dtype", std::string(to_string(output.declaration.dtype))},
                    {"shape", output.declaration.shape},
                    {"dequantized", output.from->is_decoded}});
    if (!output.reason().empty()) list.back()["reason"] = output.reason();
  }
  tq::io::Json json{{"input", options.in},
                    {"output", options.out},
                    {"tensors", std::move(list)},
                    {"left_out", names_of(report.left_out)},
                    {"notes", report.notes},
                    {"files_not_copied", report.files_not_copied},
                    {"total",
                     {{"tensors", outputs.size()},
                      {"dequantized", decoded_of(outputs)},
                      {"bytes_before", total.bytes_before},
                      {"bytes_after", total.bytes_after}}}};
  if (report.reused_shards)
    json["shards"] = {{"all", report.shards}, {"finished_before", *report.reused_shards}};
  print_json(json);
}

void print_report(const tq::ConversionReport& report) {
  const tq::ConversionTotals total = report.totals();
  const std::vector<Output> outputs = outputs_of(report);
  std::cout << decoded_of(outputs) << " of " << outputs.size() << " tensors dequantized; "
            << grouped(total.bytes_before) << " bytes before, " << grouped(total.bytes_after)
            << " after\n";
  print_reused(report.shards, report.reused_shards);
  for (const std::string& note : report.notes) std::cout << note << '\n';
  for (const Output& output : outputs)
    if (!output.reason().empty())
      std::cout << "copied, as the weight it is part of cannot be read: "
                << printable(output.declaration.name) << '\n';
  for (const tq::io::OtherMember& other : report.copied_unread) print_copied(other);
  print_others(report.left_out);
}

tq::ConversionReport converted(const DequantizeOptions& options) {
  tq::ConvertOptions how;
  how.skip_unreadable = options.skip_unreadable;
  how.jobs = options.jobs;
  how.overwrite = options.overwrite;
  const ConversionTalk talk("dequantize", how);
  return tq::dequantize_model(options.in, options.out, how);
}

}  // namespace

void dequantize(const DequantizeOptions& options) {
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  const tq::ConversionReport report = converted(options);
  if (options.json) return print_json_report(report, options);
  if (options.talk.quiet) return;
  print_report(report);
  print_left_behind(report.files_not_copied, options.in);
}

}  // namespace tool
