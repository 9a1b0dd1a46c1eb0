// SPDX-License-Identifier: MIT
#pragma once
// ConvertedTensor: a tensor of a model that was converted.

#include <tq/containers/safetensors_writer.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/store/nonfinite_counts.hpp>
#include <tq/store/stored_tensor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

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
  /// The results of an algorithm that takes Hessians, or of its fallback.
  std::optional<WeightReport> weights{};

  /// The tensor of the output that has it with other experts, or null: it has one of its own.
  std::shared_ptr<const io::TensorDecl> stack{};

  [[nodiscard]] bool is_quantized() const noexcept { return encoding != nullptr; }
  [[nodiscard]] std::uint64_t bytes_after() const {
    const bool is_in_blocks = !is_quantized() && !source->blocks.empty();
    if (is_decoded || is_in_blocks) return source->plain_bytes();
    return is_quantized() ? encoding->layout.bytes() : source->bytes;
  }
  [[nodiscard]] double bits_per_weight() const {
    const auto n = static_cast<double>(source->elements());
    return n == 0 ? 0.0 : 8.0 * static_cast<double>(bytes_after()) / n;
  }
};

}  // namespace tq
