// SPDX-License-Identifier: MIT
#pragma once
// A file of the output on its way to the disk.

#include <tq/containers/safetensors_writer.hpp>
#include <tq/error.hpp>
#include <tq/store/detail/quantize_plan.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/pieces.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tq::store::detail {

// Until `finish`, the file has another name. Threads may append at once, each to tensors of its
// own, and place bytes in any tensor.
class ShardWriter {
 public:
  // Throws: as io::SafetensorsWriter.
  ShardWriter(const std::filesystem::path& path, const ModelContents& model,
              const OutputShard& shard)
      : model_(model),
        raw_(shard.raw),
        writer_(path, shard.declarations(model), shard.metadata(), io::Links::replaced),
        pool_name_(shard.pool),
        pool_(static_cast<std::size_t>(shard.pool_bytes)) {}

  // The next bytes of a tensor of the file.
  void append(const std::string& name, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    writer_.append(name, bytes);
  }
  // Bytes of a tensor that threads share, from its byte number `begin` on.
  void place(const std::string& name, std::uint64_t begin, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    writer_.place(name, begin, bytes);
  }
  // Where the parts of a pooled tensor go.
  [[nodiscard]] std::span<std::byte> pooled(const QuantizeJob& job) {
    return std::span(pool_).subspan(static_cast<std::size_t>(*job.pooled),
                                    static_cast<std::size_t>(job.bytes_after()));
  }
  // Copies what is not read, and calls `publishing` when all that is left is the file's name.
  void finish(const std::function<void()>& publishing) {
    for (const io::OtherMember* other : raw_)
      for_each_raw_piece(model_.file(), *other, [&](std::span<const std::byte> bytes) {
        writer_.append(other->name, bytes);
      });
    if (!pool_name_.empty()) writer_.append(pool_name_, pool_);
    if (publishing) {
      writer_.flush();
      publishing();
    }
    writer_.finish();
  }

 private:
  const ModelContents& model_;
  std::vector<const io::OtherMember*> raw_;
  std::mutex mutex_;
  io::SafetensorsWriter writer_;
  std::string pool_name_;
  std::vector<std::byte> pool_;
};

}  // namespace tq::store::detail
