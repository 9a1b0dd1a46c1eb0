// SPDX-License-Identifier: MIT
#pragma once
// The files of a GGUF model that is written: one, or parts as llama-gguf-split makes them.

#include <tq/containers/detail/gguf_header.hpp>
#include <tq/containers/gguf_parts.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/json/json.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/detail/digest.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/gguf_plan.hpp>
#include <tq/store/detail/run_identity.hpp>
#include <tq/store/gguf_options.hpp>
#include <tq/store/option_error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::store::detail {

// A file of the output.
struct GgufShard {
  std::string name;  // in the folder of the output
  std::vector<io::GgufEntry> entries{};
  std::vector<GgufJob> jobs{};

  [[nodiscard]] std::vector<io::GgufTensorDecl> declarations() const {
    std::vector<io::GgufTensorDecl> list;
    for (const GgufJob& job : jobs)
      list.push_back({job.item->to.name, job.type, job.item->to.shape});
    return list;
  }
  [[nodiscard]] std::uint64_t bytes_before() const {
    std::uint64_t sum = 0;
    for (const GgufJob& job : jobs) sum += job.item->from_bytes;
    return sum;
  }
};

// The tensors of parts of at most `most` bytes, without keys, each padded to the usual alignment, as
// llama-gguf-split counts them. A larger tensor has a part of its own.
[[nodiscard]] inline std::vector<std::vector<GgufJob>> gguf_parts_of(std::span<const GgufJob> jobs,
                                                                     std::uint64_t most) {
  constexpr std::uint32_t usual_alignment = 32;
  std::vector<std::vector<GgufJob>> parts(1);
  std::uint64_t size = 0;
  for (const GgufJob& job : jobs) {
    const std::uint64_t bytes = io::detail::gguf_aligned(job.bytes(), usual_alignment);
    if (size + bytes > most && !parts.back().empty()) {
      parts.emplace_back();
      size = 0;
    }
    parts.back().push_back(job);
    size += bytes;
  }
  return parts;
}

// The files of an output: without a `shard_size` one of its name; else parts, of which the first
// has the keys, and all have its alignment. Throws: OptionError for more parts than there can be.
[[nodiscard]] inline std::vector<GgufShard> gguf_shards(const std::filesystem::path& out,
                                                        std::vector<io::GgufEntry> entries,
                                                        std::vector<GgufJob> jobs,
                                                        std::uint64_t shard_size) {
  std::vector<GgufShard> shards;
  if (shard_size == 0) {
    shards.push_back({out.filename().string(), std::move(entries), std::move(jobs)});
    return shards;
  }
  const std::size_t tensors = jobs.size();
  std::vector<std::vector<GgufJob>> parts = gguf_parts_of(jobs, shard_size);
  if (parts.size() > io::gguf_max_parts || tensors > std::numeric_limits<std::int32_t>::max())
    raise_option("`shard_size`: expected a size for at most " + std::to_string(io::gguf_max_parts) +
                 " parts and 2^31 - 1 tensors, got " + std::to_string(shard_size) + " for " +
                 std::to_string(parts.size()) + " parts of " + std::to_string(tensors) +
                 " tensors");
  std::vector<io::GgufEntry> of_others;
  for (const io::GgufEntry& entry : entries)
    if (entry.name == io::gguf_alignment_key) of_others.push_back(entry);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    GgufShard shard{io::gguf_part_name(out.stem().string(), i, parts.size()),
                    i == 0 ? std::move(entries) : of_others, std::move(parts[i])};
    for (io::GgufEntry& entry : io::gguf_part_entries(i, parts.size(), tensors))
      shard.entries.push_back(std::move(entry));
    shards.push_back(std::move(shard));
  }
  return shards;
}

// A digest of the keys and tensors of all files.
[[nodiscard]] inline std::string gguf_digest(std::span<const GgufShard> shards) {
  Digest digest;
  for (const GgufShard& shard : shards) {
    const io::detail::GgufHeader keys(shard.entries, {});
    digest.add(shard.name)
        .add(std::string_view(reinterpret_cast<const char*>(keys.bytes().data()),
                              keys.bytes().size()));
    for (const io::GgufTensorDecl& t : shard.declarations())
      digest.add(t.name).add(layouts::gguf::info_of(t.type).name).add(io::shape_text(t.shape));
  }
  return digest.text();
}

// The command and all files that the bytes of the output depend on.
[[nodiscard]] inline io::Json gguf_identity(const GgufInput& input,
                                            std::span<const GgufShard> shards,
                                            const GgufOptions& options) {
  std::vector<NamedFile> files = model_files(input.files());
  const auto add = [&](const char* option, const std::filesystem::path& file) {
    if (!file.empty()) files.emplace_back(option, file);
  };
  add("`config_file`", options.config);
  add("`imatrix`", options.imatrix);
  add("`mapping`", options.mapping);
  add("`metadata`", options.metadata);
  return identity_of({{"out", shards.front().name},
                      {"type", options.config.empty() ? options.type : std::string()},
                      {"method", options.method == GgufMethod::ggml ? "ggml" : "best"},
                      {"imatrix", options.imatrix.string()},
                      {"include", options.names.include},
                      {"exclude", options.names.exclude},
                      {"requantize", options.requantize},
                      {"shard_size", options.shard_size}},
                     gguf_digest(shards), files);
}

}  // namespace tq::store::detail
