// SPDX-License-Identifier: MIT
#pragma once
// How write_gguf quantizes tensors band by band, and writes them.

#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/detail/gguf_bands.hpp>
#include <tq/store/detail/gguf_bytes.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/gguf_model_input.hpp>
#include <tq/store/detail/gguf_plan.hpp>
#include <tq/store/detail/in_order.hpp>
#include <tq/store/detail/progress.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/gguf_mapping.hpp>
#include <tq/store/gguf_mix.hpp>
#include <tq/store/gguf_options.hpp>
#include <tq/store/gguf_report.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/option_error.hpp>
#include <tq/store/own_file.hpp>
#include <tq/store/same_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tq::store::detail {

// Quantizes or copies tensors, one after the other, in memory that is kept.
class GgufTensorWriter {
 public:
  GgufTensorWriter(const GgufInput& input, GgufMethod method, io::GgufWriter& out,
                   std::mutex& writing)
      : bands_(input), method_(method), out_(out), writing_(writing) {}

  void write(const GgufJob& job) {
    if (job.is_copied()) return copy(job);
    bands_.for_each(job, [&](std::span<const float> x, std::span<const float> importance) {
      blocks_.resize(gguf_band_bytes(job.type, x.size()));
      encode_gguf(job.type, method_, x, blocks_, importance);
      append(job, std::as_bytes(std::span<const std::uint8_t>(blocks_)));
    });
  }

 private:
  void copy(const GgufJob& job) {
    const std::uint64_t all = job.bytes(), block = layouts::gguf::info_of(job.type).bytes,
                        most = GgufBands::band / block * block;
    for (std::uint64_t at = 0; at < all; at += most) {
      bytes_.resize(static_cast<std::size_t>(std::min(most, all - at)));
      bands_.reader().copy(*job.item, at, bytes_);
      append(job, bytes_);
    }
  }
  void append(const GgufJob& job, std::span<const std::byte> bytes) {
    const std::lock_guard lock(writing_);
    out_.append(job.item->to.name, bytes);
  }

  GgufBands bands_;
  GgufMethod method_;
  io::GgufWriter& out_;
  std::mutex& writing_;
  std::vector<std::uint8_t> blocks_;
  std::vector<std::byte> bytes_;
};

template <class Model>
[[nodiscard]] std::unique_ptr<GgufInput> gguf_input(const std::filesystem::path& in,
                                                    const GgufOptions& options) {
  require_there(in);
  if (in.extension() == ".gguf") {
    if (!options.mapping.empty())
      raise_option("`mapping`: expected none for a GGUF file, which has its names");
    return std::make_unique<GgufFileInput>(in);
  }
  require_config_file(in);
  const GgufMapping mapping =
      options.mapping.empty() ? gguf_llama_mapping() : read_gguf_mapping(options.mapping);
  return std::make_unique<GgufModelInput<Model>>(in, mapping);
}

inline void write_gguf_tensors(const GgufInput& input, std::span<const GgufJob> jobs,
                               io::GgufWriter& writer, const GgufOptions& options) {
  std::uint64_t all = 0;
  for (const GgufJob& job : jobs) all += job.bytes();
  Progress progress(options.progress, all);
  std::mutex writing;
  const std::vector<std::uint64_t> costs(jobs.size(), 0);  // a band is small
  run_in_order(options.jobs, costs, 0, [&] {
    return [&, tensors = std::make_shared<GgufTensorWriter>(input, options.method, writer,
                                                            writing)](std::size_t i) {
      naming(jobs[i].item->to.name, [&] { tensors->write(jobs[i]); });
      progress.add(jobs[i].bytes());
    };
  });
}

// Throws: OptionError where the output would replace a file that the options name.
inline void require_other_files(const std::filesystem::path& out, const GgufOptions& options) {
  const auto require = [&](const std::filesystem::path& file, const char* option) {
    if (!file.empty()) require_other_file("`out`", out.string(), {file}, option);
  };
  require(options.config, "`config`");
  require(options.imatrix, "`imatrix`");
  require(options.mapping, "`mapping`");
  require(options.metadata, "`metadata`");
}

template <class Model>
GgufReport write_gguf(const std::filesystem::path& out, const std::filesystem::path& in,
                      const GgufOptions& options) {
  if (out.extension() != ".gguf")
    raise_option("`out`: expected a name ending in .gguf, got \"" + out.string() + "\"");
  const GgufMix mix =
      options.config.empty() ? gguf_mix(options.type) : read_gguf_mix(options.config);
  const std::unique_ptr<GgufInput> input = gguf_input<Model>(in, options);
  require_other_file("`out`", out.string(), input->files(), "`in`");
  require_other_files(out, options);
  const std::optional<ImportanceFile> read = importance_for(*input, options);
  const ImportanceFile* const importance = read ? &*read : nullptr;
  complete_entries(*input, mix, importance, options);
  const std::vector<GgufJob> jobs = gguf_jobs(*input, mix, importance, options);
  require_free_place(out, options.overwrite);
  static_cast<void>(io::remove_abandoned_files(out.parent_path()));

  GgufReport report{out, {}, input->dropped, input->notes};
  std::vector<io::GgufTensorDecl> declarations;
  for (const GgufJob& job : jobs) {
    const GgufItem& item = *job.item;
    declarations.push_back({item.to.name, job.type, item.to.shape});
    report.tensors.push_back({item.to.name, item.to.shape, item.from_type, job.type, job.note,
                              item.from_bytes, job.bytes()});
  }
  if (importance != nullptr) note_missing_importance(jobs, report);
  io::GgufWriter writer(out, input->entries, declarations, io::Links::replaced);
  write_gguf_tensors(*input, jobs, writer, options);
  writer.finish();
  mark_as_own(out);
  return report;
}

}  // namespace tq::store::detail
