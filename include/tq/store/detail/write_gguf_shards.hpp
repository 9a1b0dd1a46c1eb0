// SPDX-License-Identifier: MIT
#pragma once
// The files of a GGUF model, quantized band by band and written by several threads.

#include <tq/containers/gguf_writer.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/store/detail/gguf_bands.hpp>
#include <tq/store/detail/gguf_bytes.hpp>
#include <tq/store/detail/gguf_input.hpp>
#include <tq/store/detail/gguf_plan.hpp>
#include <tq/store/detail/gguf_shards.hpp>
#include <tq/store/detail/in_order.hpp>
#include <tq/store/detail/open_shards.hpp>
#include <tq/store/detail/progress.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/gguf_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tq::store::detail {

// A file on its way to the disk, which has another name until `finish`. Threads may append at once,
// each to tensors of its own.
class GgufShardWriter {
 public:
  // Throws: as io::GgufWriter.
  GgufShardWriter(const std::filesystem::path& path, const GgufShard& shard)
      : writer_(path, shard.entries, shard.declarations(), io::Links::replaced) {}

  void append(const std::string& name, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    writer_.append(name, bytes);
  }
  void finish(const std::function<void()>& publishing) {
    if (publishing) publishing();
    writer_.finish();
  }

 private:
  std::mutex mutex_;
  io::GgufWriter writer_;
};

// Quantizes or copies tensors, one after the other, in memory that is kept.
template <Backend B>
class GgufTensorWriter {
 public:
  GgufTensorWriter(const GgufInput& input, GgufMethod method) : bands_(input), method_(method) {}

  void write(const GgufJob& job, GgufShardWriter& out) {
    if (job.is_copied()) return copy(job, out);
    bands_.for_each(job, [&](std::span<const float> x, std::span<const float> importance) {
      blocks_.resize(gguf_band_bytes(job.type, x.size()));
      encode_gguf<B>(job.type, method_, x, blocks_, importance);
      out.append(job.item->to.name, std::as_bytes(std::span<const std::uint8_t>(blocks_)));
    });
  }

 private:
  void copy(const GgufJob& job, GgufShardWriter& out) {
    const std::uint64_t all = job.bytes(), block = layouts::gguf::info_of(job.type).bytes,
                        most = GgufBands::band / block * block;
    for (std::uint64_t at = 0; at < all; at += most) {
      bytes_.resize(static_cast<std::size_t>(std::min(most, all - at)));
      bands_.reader().copy(*job.item, at, bytes_);
      out.append(job.item->to.name, bytes_);
    }
  }

  GgufBands bands_;
  GgufMethod method_;
  std::vector<std::uint8_t> blocks_;
  std::vector<std::byte> bytes_;
};

// A tensor, and which of the files it is in.
struct GgufPiece {
  std::size_t shard;
  const GgufJob* job;
};

// The bytes do not depend on the number of threads, each of which holds a band. Throws: error of
// the first tensor that fails; files that are not finished then leave nothing.
template <Backend B = default_backend>
void write_gguf_shards(const GgufInput& input, std::span<GgufShard* const> shards,
                       const ShardPlaces<GgufShard>& places, const GgufOptions& options) {
  std::vector<GgufPiece> pieces;
  std::uint64_t all = 0;
  OpenShards<GgufShard, GgufShardWriter> open(
      shards, places, [](const std::filesystem::path& path, const GgufShard& shard) {
        return std::make_unique<GgufShardWriter>(path, shard);
      });
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (shards[i]->jobs.empty()) open.write_empty(i);
    for (const GgufJob& job : shards[i]->jobs) {
      pieces.push_back({i, &job});
      all += job.bytes();
    }
  }
  Progress progress(options.progress, all);
  const std::vector<std::uint64_t> costs(pieces.size(), 0);  // a band is small
  run_in_order(options.jobs, costs, 0, [&] {
    return
        [&, tensors = std::make_shared<GgufTensorWriter<B>>(input, options.method)](std::size_t i) {
          const GgufPiece& piece = pieces[i];
          GgufShardWriter& out = open.open(piece.shard);
          naming(piece.job->item->to.name, [&] { tensors->write(*piece.job, out); });
          open.leave(piece.shard);
          progress.add(piece.job->bytes());
        };
  });
  open.wait();
}

}  // namespace tq::store::detail
