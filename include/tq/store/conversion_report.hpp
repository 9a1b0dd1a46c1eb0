// SPDX-License-Identifier: MIT
#pragma once
// ConversionReport: the tensors of a model that was converted, and what was lost.

#include <tq/bodies.hpp>
#include <tq/containers/other_member.hpp>
#include <tq/store/conversion_totals.hpp>
#include <tq/store/converted_tensor.hpp>
#include <tq/store/model_contents.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tq {

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

  [[nodiscard]] TQ_API ConversionTotals totals() const;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/conversion_report.ipp>
#endif
