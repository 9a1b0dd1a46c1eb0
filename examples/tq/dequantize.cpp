// SPDX-License-Identifier: MIT
// tq dequantize: writes a quantized model back in the types it had, in one file or in shards.

#include "commands.hpp"
#include "left_files.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "progress.hpp"
#include "quantize_plan.hpp"
#include "quantize_report.hpp"
#include "quantize_target.hpp"
#include "stored_model.hpp"
#include "write_plan.hpp"

#include <tq/containers/npy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::errc;

void require_quantized(const StoredModel& model, const DequantizeOptions& options) {
  if (!model.unreadable().empty() && !options.skip_unreadable)
    throw tq::error(errc::unsupported, options.in + ": " + model.unreadable() + skip_hint);
  if (!model.has_description() &&
      std::none_of(model.tensors().begin(), model.tensors().end(),
                   [](const StoredTensor& t) { return t.foreign != nullptr; }))
    throw tq::error(errc::bad_argument,
                    options.in +
                        ": expected a model quantized by tq, or weights as other programs "
                        "quantize them, got neither \"tq\" metadata nor such weights");
}

// A tensor of the output, and of which of the input it is made.
struct Output {
  tq::io::TensorDecl declaration;
  const QuantizeJob* job;

  // Why it is a part of a weight that cannot be read, or empty.
  [[nodiscard]] const std::string& reason() const { return job->copied; }
};

std::vector<Output> outputs_of(const StoredModel& model, const QuantizePlan& plan) {
  std::vector<Output> out;
  for (const OutputShard& shard : plan.shards)
    for (const QuantizeJob& job : shard.jobs)
      for (tq::io::TensorDecl& declared : job.declarations(model))
        out.push_back({std::move(declared), &job});
  return out;
}

// Such a file has one tensor, so those of types that are not read are left out.
void write_one_array(StoredModel& model, QuantizePlan& plan, const std::string& path) {
  remove_leftovers(path);
  OutputShard& all = plan.shards.front();
  for (const tq::io::OtherMember* other : std::exchange(all.raw, {})) plan.others.push_back(*other);
  const std::vector<Output> outputs = outputs_of(model, plan);
  if (outputs.size() != 1)
    throw tq::error(errc::bad_argument, path + ": expected one tensor for a .npy file, got " +
                                            std::to_string(outputs.size()));
  const QuantizeJob& job = all.jobs.front();
  in_memory(*job.source, [&] {
    if (job.is_decoded)
      return tq::io::write_npy(path, hinting_skip([&] { return model.read(*job.source); }));
    const PartPlace part = model.places(*job.source).front();
    const auto bytes = model.bytes(*part.in, part.begin, static_cast<std::size_t>(part.size()));
    const tq::io::TensorDecl& declared = part.declaration;
    tq::io::write_npy(
        path, {declared.name, declared.dtype, declared.shape, {bytes.begin(), bytes.end()}});
  });
}

struct Totals {
  std::size_t dequantized = 0;
  std::uint64_t before = 0, after = 0;

  explicit Totals(const QuantizePlan& plan) {
    for (const OutputShard& shard : plan.shards) {
      before += shard.bytes_before();
      for (const QuantizeJob& job : shard.jobs) {
        after += job.bytes_after();
        dequantized += job.is_decoded ? 1 : 0;
      }
      for (const tq::io::OtherMember* other : shard.raw) after += other->raw->size_bytes;
    }
  }
};

void print_json_report(const QuantizePlan& plan, const std::vector<Output>& outputs,
                       const DequantizeOptions& options, const QuantizeNotes& notes) {
  const Totals total(plan);
  tq::io::Json list = tq::io::Json::array();
  for (const Output& output : outputs) {
    list.push_back({{"name", output.declaration.name},
                    {"dtype", std::string(to_string(output.declaration.dtype))},
                    {"shape", output.declaration.shape},
                    {"dequantized", output.job->is_decoded}});
    if (!output.reason().empty()) list.back()["reason"] = output.reason();
  }
  tq::io::Json report{{"input", options.in},
                      {"output", options.out},
                      {"tensors", std::move(list)},
                      {"left_out", names_of(plan.others)},
                      {"files_not_copied", notes.left_behind},
                      {"total",
                       {{"tensors", outputs.size()},
                        {"dequantized", total.dequantized},
                        {"bytes_before", total.before},
                        {"bytes_after", total.after}}}};
  if (notes.reused)
    report["shards"] = {{"all", plan.shards.size()}, {"finished_before", *notes.reused}};
  print_json(report);
}

void print_report(const QuantizePlan& plan, const std::vector<Output>& outputs,
                  std::optional<std::size_t> reused) {
  const Totals total(plan);
  std::cout << total.dequantized << " of " << outputs.size() << " tensors dequantized; "
            << grouped(total.before) << " bytes before, " << grouped(total.after) << " after\n";
  print_reused(plan.shards.size(), reused);
  for (const Output& output : outputs)
    if (!output.reason().empty())
      std::cout << "copied, as the weight it is part of cannot be read: "
                << printable(output.declaration.name) << '\n';
  for (const OutputShard& shard : plan.shards)
    for (const tq::io::OtherMember* other : shard.raw) print_copied(*other);
  print_others(plan.others);
}

}  // namespace

void dequantize(const DequantizeOptions& options) {
  const bool is_array = options.out.ends_with(".npy");
  show_progress(!options.json && !options.talk.quiet, options.talk.progress);
  const std::string out = is_array ? options.out : target_name(options.out, options.in, ".npy, ");
  StoredModel model(options.in);
  const QuantizeTarget target = is_array ? QuantizeTarget{{}, out} : quantize_target(out, model);
  if (!target.is_sharded) require_other_file("OUT", target.path(), model.files(), "IN");
  require_quantized(model, options);
  QuantizePlan plan = plan_dequantize(model, options, target.is_sharded);
  std::optional<std::size_t> reused;
  if (is_array) write_one_array(model, plan, options.out);
  else reused = write_plan(model, plan, out, target, {options.jobs, false, options.overwrite});
  const std::vector<Output> outputs = outputs_of(model, plan);
  const std::vector<std::string> left = files_left_behind(options.in, model, out);
  if (options.json) return print_json_report(plan, outputs, options, {reused, left});
  if (options.talk.quiet) return;
  print_report(plan, outputs, reused);
  print_left_behind(left, options.in);
}

}  // namespace tool
