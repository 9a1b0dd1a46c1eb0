// SPDX-License-Identifier: MIT
#pragma once
// Plans the tensors and keys of a GGUF file.

#include <tq/containers/dtype.hpp>
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/detail/gguf_decider.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/gguf_mix.hpp>
#include <tq/store/gguf_options.hpp>
#include <tq/store/gguf_report.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/name_filter.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// An item, and the type that it gets.
struct GgufJob {
  const GgufItem* item;
  layouts::gguf::Type type;
  std::string note;
  std::span<const float> importance{};  // of the inputs of every matrix, or empty

  [[nodiscard]] bool is_copied() const { return item->type == type; }
  [[nodiscard]] std::uint64_t bytes() const { return *io::gguf_bytes(type, item->to.shape); }
};

// The type of a tensor that is not quantized: that in its file; of weights of a model theirs, or
// float32; float32 of all other tensors of a model.
[[nodiscard]] inline layouts::gguf::Type kept_type(const GgufItem& item, bool is_weight) {
  using layouts::gguf::Type;
  if (item.type) return *item.type;
  if (item.parts.empty()) return Type::f32;
  const io::DType dtype = item.parts.front()->dtype;
  const bool is_half = dtype == io::DType::f16 || dtype == io::DType::bf16;
  return is_weight && is_half ? *io::gguf_type(dtype) : Type::f32;
}

// True for weights that are quantized, unless patterns leave them out.
[[nodiscard]] inline bool is_gguf_weight(const GgufItem& item, const GgufDecider& decider) {
  return (item.is_readable || item.is_quantized) && decider.is_weight(item.to);
}

// Throws: `errc::unsupported` for a tensor that cannot be read; `errc::bad_argument` for one that
// is quantized, unless `requantize`.
inline void require_quantizable(const GgufItem& item, bool requantize) {
  const auto refuse = [&](errc code, const std::string& expected, const std::string& hint) {
    tq::detail::raise_text(code, {"tensor ", io::shown(item.to.name), ": expected ", expected,
                                  ", got ", item.from_type, hint});
  };
  if (!item.is_readable)
    refuse(errc::unsupported, "a type whose blocks are understood", "; `exclude` it");
  if (item.is_quantized && !requantize)
    refuse(errc::bad_argument, "a weight that is not quantized yet",
           "; `requantize` quantizes it anew");
}

[[nodiscard]] inline GgufJob gguf_job(const GgufItem& item, const GgufDecider& decider,
                                      NameFilter& names, bool requantize) {
  const bool is_weight = is_gguf_weight(item, decider);
  const std::string left = is_weight ? names.left_out(item.to.name) : std::string();
  if (!is_weight) names.note(item.to.name);
  if (!is_weight || !left.empty()) return {&item, kept_type(item, is_weight), left, {}};
  const layouts::gguf::Type chosen = decider.chosen(item.to),
                            type = decider.fitting(chosen, item.to);
  GgufJob job{&item, type, {}, {}};
  if (type != chosen)
    job.note = "rows of " + std::to_string(item.to.columns()) + " are no whole blocks of " +
               std::string(layouts::gguf::info_of(chosen).name);
  if (job.is_copied()) return job;
  require_quantizable(item, requantize);
  return job;
}

// The importances of a weight: for each input of each of its matrices.
[[nodiscard]] inline std::uint64_t importance_count(const GgufItem& item) {
  return item.elements() / std::max<std::uint64_t>(1, item.matrix_elements()) * item.to.columns();
}

// The file that the options name, if any. Experts behind the last one that it has saw no token, as
// those between do, whose inputs have the importance 1. Throws: as `read_importance`.
[[nodiscard]] inline std::optional<ImportanceFile> importance_for(const GgufInput& input,
                                                                  const GgufOptions& options) {
  if (options.imatrix.empty()) return std::nullopt;
  ImportanceFile file = read_importance(options.imatrix);
  for (const GgufItem& item : input.items) {
    const auto found = file.weights.find(item.to.name);
    if (found == file.weights.end() || found->second.empty()) continue;
    const std::uint64_t wanted = importance_count(item), got = found->second.size();
    if (got < wanted && got % item.to.columns() == 0)
      found->second.resize(static_cast<std::size_t>(wanted), 1.0f);
  }
  return file;
}

// Gives a weight the importance of its inputs. Throws: `errc::shape_mismatch`.
inline void set_importance(GgufJob& job, const ImportanceFile& importance) {
  const GgufItem& item = *job.item;
  const auto found = importance.weights.find(item.to.name);
  if (found == importance.weights.end()) return;
  const std::uint64_t wanted = importance_count(item);
  if (found->second.size() == wanted) {
    job.importance = found->second;
  } else if (item.to.name != "token_embd.weight") {  // whose inputs are tokens
    tq::detail::raise_text(errc::shape_mismatch, {"tensor ", io::shown(item.to.name),
                                                  ": expected an importance for each of ", wanted,
                                                  " inputs, got ", found->second.size()});
  }
}

[[nodiscard]] inline std::vector<GgufJob> gguf_jobs(const GgufInput& input, const GgufMix& mix,
                                                    const ImportanceFile* importance,
                                                    const GgufOptions& options) {
  std::vector<GgufShape> shapes;
  for (const GgufItem& item : input.items) shapes.push_back(item.to);
  const GgufDecider decider(mix, input.entries, shapes, importance != nullptr);
  NameFilter names(options.names);
  std::vector<GgufJob> jobs;
  for (const GgufItem& item : input.items) {
    jobs.push_back(gguf_job(item, decider, names, options.requantize));
    if (importance != nullptr && layouts::gguf::has_block(jobs.back().type))
      set_importance(jobs.back(), *importance);
  }
  names.require_matches();
  return jobs;
}

// A sentence about weights that the importance matrix does not have, or nothing.
inline void note_missing_importance(std::span<const GgufJob> jobs, GgufReport& report) {
  std::size_t count = 0;
  std::string first;
  for (const GgufJob& job : jobs) {
    if (!layouts::gguf::has_block(job.type) || job.is_copied() || !job.importance.empty()) continue;
    if (count++ == 0) first = job.item->to.name;
  }
  if (count != 0)
    report.notes.push_back("the importance matrix has no inputs of " + std::to_string(count) +
                           " quantized tensors, of which the first is " + first);
}

inline void set_gguf_key(std::vector<io::GgufEntry>& entries, const std::string& key,
                         io::GgufValue value) {
  const auto found = std::ranges::find(entries, key, &io::GgufEntry::name);
  if (found == entries.end()) entries.push_back({key, std::move(value)});
  else found->value = std::move(value);
}

// The keys of the output: those of the input in their order, those of `metadata` that it has not,
// and what the mix says.
inline void complete_entries(GgufInput& input, const GgufMix& mix, const ImportanceFile* importance,
                             const GgufOptions& options) {
  if (!options.metadata.empty()) {
    const auto more = io::GgufReader::open(options.metadata, io::GgufByteOrder::any);
    for (const io::GgufEntry& entry : more.entries())
      if (find_gguf_value(input.entries, entry.name) == nullptr &&
          !entry.name.starts_with("split.") && entry.name != io::gguf_alignment_key)
        input.entries.push_back(entry);
  }
  if (find_gguf_value(input.entries, "tokenizer.ggml.model") == nullptr) {
    input.notes.emplace_back(
        "the file has no tokenizer; a GGUF file that has one can be given as `metadata`");
    set_gguf_key(input.entries, "tokenizer.ggml.model", std::string("no_vocab"));
  }
  if (importance != nullptr) {
    set_gguf_key(input.entries, "quantize.imatrix.file", options.imatrix.string());
    if (!importance->datasets.empty())
      set_gguf_key(input.entries, "quantize.imatrix.dataset", importance->datasets.front());
    set_gguf_key(input.entries, "quantize.imatrix.entries_count",
                 static_cast<std::uint32_t>(importance->weights.size()));
    if (importance->chunks != 0)
      set_gguf_key(input.entries, "quantize.imatrix.chunks_count", importance->chunks);
  }
  set_gguf_key(input.entries, "general.quantization_version", std::uint32_t{2});
  set_gguf_key(input.entries, "general.file_type", mix.file_type);
}

}  // namespace tq::store::detail
