// SPDX-License-Identifier: MIT
#pragma once
// ConversionReport: the tensors of a model that was converted, and what was lost.

#include <tq/containers/other_member.hpp>
#include <tq/ops/compare.hpp>
#include <tq/store/finite_part.hpp>
#include <tq/store/model_contents.hpp>
#include <tq/store/stored_tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tq {

/// A tensor of a model, and what became of it.
struct ConvertedTensor {
  const StoredTensor* source = nullptr;               ///< the tensor of the input
  std::shared_ptr<const store::Encoding> encoding{};  ///< that it has now, or null
  bool is_decoded = false;   ///< written in the type that it had before it was quantized
  std::string copied{};      ///< the reason why its parts are copied, or empty
  std::string decided_by{};  ///< the rule of a configuration that decided on it, or empty
  ErrorMetrics metrics{};    ///< of its finite values, where it is quantized
  store::NonFiniteCounts nonfinite{};

  [[nodiscard]] bool is_quantized() const noexcept { return encoding != nullptr; }
  [[nodiscard]] std::uint64_t bytes_after() const {
    if (is_decoded) return source->plain_bytes();
    return is_quantized() ? encoding->layout.bytes() : source->bytes;
  }
  [[nodiscard]] double bits_per_weight() const {
    const auto n = static_cast<double>(source->elements());
    return n == 0 ? 0.0 : 8.0 * static_cast<double>(bytes_after()) / n;
  }
};

/// The sums of all tensors of a conversion.
struct ConversionTotals {
  std::uint64_t bytes_before = 0, bytes_after = 0;
  std::uint64_t weights = 0, weight_bytes = 0;  ///< of tensors that are quantized
  std::size_t tensors = 0, quantized = 0, decoded = 0;
  store::NonFiniteCounts nonfinite{};

  [[nodiscard]] double bits_per_weight() const noexcept {
    return weights == 0 ? 0.0
                        : 8.0 * static_cast<double>(weight_bytes) / static_cast<double>(weights);
  }
};

/// The result of `convert_model` and `dequantize_model`.
struct ConversionReport {
  std::shared_ptr<const store::ModelContents> model{};  ///< the input, which `tensors` refer to
  std::vector<ConvertedTensor> tensors{};        ///< shard by shard, in the order of the input
  std::vector<io::OtherMember> copied_unread{};  ///< tensors of types that tq does not read, copied
  std::vector<io::OtherMember> left_out{};       ///< members that the output cannot have
  std::vector<std::string> unnameable{};  ///< tensors whose names a safetensors file cannot have
  std::vector<std::string> notes{};       ///< rules of the configuration that decided nothing
  std::vector<std::string> files_not_copied{};  ///< beside the input: config.json, ...
  std::filesystem::path file{};                 ///< that was written: the file, or the index
  std::size_t shards = 1;
  std::optional<std::size_t> reused_shards{};  ///< finished by an earlier run; of a folder only

  [[nodiscard]] ConversionTotals totals() const {
    ConversionTotals sum;
    for (const ConvertedTensor& t : tensors) {
      ++sum.tensors;
      sum.bytes_before += t.source->bytes;
      sum.bytes_after += t.bytes_after();
      sum.nonfinite.add(t.nonfinite);
      sum.decoded += t.is_decoded ? 1 : 0;
      if (!t.is_quantized()) continue;
      ++sum.quantized;
      sum.weights += t.source->elements();
      sum.weight_bytes += t.bytes_after();
    }
    for (const io::OtherMember& other : copied_unread) {
      sum.bytes_before += other.raw->size_bytes;
      sum.bytes_after += other.raw->size_bytes;
    }
    return sum;
  }
};

}  // namespace tq
