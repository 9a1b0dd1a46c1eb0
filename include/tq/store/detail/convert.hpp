// SPDX-License-Identifier: MIT
#pragma once
// The steps of convert_model and dequantize_model.

#include <tq/containers/npy.hpp>
#include <tq/error.hpp>
#include <tq/files/temporary_file.hpp>
#include <tq/store/conversion_report.hpp>
#include <tq/store/convert_options.hpp>
#include <tq/store/copy_reasons.hpp>
#include <tq/store/detail/left_files.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/detail/quantize_target.hpp>
#include <tq/store/detail/scheme_choice.hpp>
#include <tq/store/detail/tensor_quantizer.hpp>
#include <tq/store/detail/write_plan.hpp>
#include <tq/store/in_memory.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/own_file.hpp>
#include <tq/store/same_file.hpp>
#include <tq/store/team.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// Takes the plan apart: a model may have millions of tensors.
[[nodiscard]] inline ConversionReport report_of(std::shared_ptr<const ModelContents> model,
                                                QuantizePlan plan) {
  ConversionReport report;
  report.model = std::move(model);
  report.shards = plan.shards.size();
  report.tensors.reserve(report.model->tensors().size());
  for (OutputShard& shard : plan.shards) {
    for (QuantizeJob& job : shard.jobs)
      report.tensors.push_back(static_cast<ConvertedTensor&&>(job));
    shard.jobs = {};
    for (const io::OtherMember* other : shard.raw) report.copied_unread.push_back(*other);
  }
  report.left_out = std::move(plan.others);
  report.unnameable = std::move(plan.omitted);
  report.notes = std::move(plan.notes);
  return report;
}

template <class Model>
[[nodiscard]] ConversionReport convert(const std::string& in, const std::string& asked,
                                       const SchemeSource& source, const ConvertOptions& options) {
  const Team alone;
  const Team& team = options.team != nullptr ? *options.team : alone;
  const std::string out = target_name(asked, in);
  std::optional<Model> opened;
  on_all_ranks(team, [&] {
    opened.emplace(in);
    return std::string();
  });
  const Model& model = *opened;
  const QuantizeTarget target = quantize_target(out, model.contents());
  if (team.size() > 1 && !target.is_sharded)
    raise_option(
        "`out`: expected a folder or an .index.json, whose shards ranks can share, got \"" + asked +
        "\"");
  require_unquantized(model.contents(), in);
  QuantizePlan plan = plan_quantize(model.contents(), source, options, target.is_sharded);
  PlanWriting writing = writing_of(options);
  writing.allow_nonfinite = options.allow_nonfinite;
  writing.hessians = options.hessians;
  writing.config = source.file;
  const std::optional<std::size_t> reused = write_plan(model, plan, out, target, writing, team);
  ConversionReport report = report_of(model.shared_contents(), std::move(plan));
  report.file = target.path();
  report.reused_shards = reused;
  if (team.rank() == 0) report.files_not_copied = files_left_behind(in, model.contents(), out);
  return report;
}

// A GGUF file of floats becomes a file of floats that other programs read.
inline void require_quantized(const ModelContents& model, const std::string& in,
                              const ConvertOptions& options) {
  if (!model.unreadable().empty() && !options.skip_unreadable)
    tq::detail::raise_text(errc::unsupported, {in, ": ", model.unreadable(), skip_hint});
  if (!model.is_described() && model.files().front().extension() != ".gguf" &&
      std::none_of(model.tensors().begin(), model.tensors().end(),
                   [](const StoredTensor& t) { return t.foreign || !t.blocks.empty(); }))
    tq::detail::raise_expected(
        errc::bad_argument, in,
        {"a model quantized by tq, or weights as other programs quantize them"},
        {"neither \"tq\" metadata nor such weights"});
}

// A .npy file has one tensor, so tensors of types that are not read are left out.
template <class Model>
void write_one_array(Model& model, QuantizePlan& plan, const std::string& path, bool overwrite) {
  require_free_place(path, overwrite);
  static_cast<void>(io::remove_abandoned_files(std::filesystem::path(path).parent_path()));
  OutputShard& all = plan.shards.front();
  for (const io::OtherMember* other : std::exchange(all.raw, {})) plan.others.push_back(*other);
  std::size_t count = 0;
  for (const QuantizeJob& job : all.jobs) count += job.declarations(model.contents()).size();
  if (count != 1)
    tq::detail::raise_expected(errc::bad_argument, path, {"one tensor for a .npy file"}, {count});
  const QuantizeJob& job = all.jobs.front();
  in_memory(*job.source, [&] {
    if (job.is_decoded)
      return io::write_npy(path, hinting_skip([&] { return model.read(*job.source); }),
                           io::Links::replaced);
    const PartPlace part = model.places(*job.source).front();
    const auto bytes = model.bytes(*part.in, part.begin, static_cast<std::size_t>(part.size()));
    const io::TensorDecl& declared = part.declaration;
    io::write_npy(path,
                  {declared.name, declared.dtype, declared.shape, {bytes.begin(), bytes.end()}},
                  io::Links::replaced);
  });
  mark_as_own(path);
}

template <class Model>
[[nodiscard]] ConversionReport deconvert(const std::string& in, const std::string& asked,
                                         const ConvertOptions& options) {
  const bool is_array = asked.ends_with(".npy");
  const std::string out = is_array ? asked : target_name(asked, in, ".npy, ");
  Model model(in);
  const QuantizeTarget target =
      is_array ? QuantizeTarget{{}, out} : quantize_target(out, model.contents());
  if (!target.is_sharded)
    require_other_file("`out`", target.path().string(), model.files(), "`in`");
  require_quantized(model.contents(), in, options);
  QuantizePlan plan = plan_dequantize(model, options, target.is_sharded);
  std::optional<std::size_t> reused;
  if (is_array) write_one_array(model, plan, asked, options.overwrite);
  else reused = write_plan(model, plan, out, target, writing_of(options));
  ConversionReport report = report_of(model.shared_contents(), std::move(plan));
  report.file = target.path();
  report.reused_shards = reused;
  report.files_not_copied = files_left_behind(in, model.contents(), out);
  return report;
}

}  // namespace tq::store::detail
