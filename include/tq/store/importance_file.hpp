// SPDX-License-Identifier: MIT
#pragma once
// ImportanceFile: the importance matrix of a model, as llama-imatrix writes it.

#include <tq/bodies.hpp>
#include <tq/containers/gguf.hpp>
#include <tq/files/byte_source.hpp>
#include <tq/store/importance_sums.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// Mean squares of the inputs of weights, by the names of weights in GGUF files: for a weight of
/// n inputs n numbers, for m stacked matrices m times n.
struct ImportanceFile {
  std::map<std::string, std::vector<float>> weights{};
  std::vector<std::string> datasets{};  ///< the texts that the inputs come from
  std::uint32_t chunks = 0;             ///< of the texts
};

/// Reads a file of llama-imatrix, of the GGUF form or the older binary one. Throws:
/// `errc::malformed`, naming the weight, also for numbers that are negative or not finite;
/// `errc::io_failure`.
[[nodiscard]] TQ_API ImportanceFile read_importance(const std::filesystem::path& file);

/// The sums of such a file, to be added to. The older form counts chunks, which are taken as
/// `chunk_size` tokens each. Throws: as `read_importance`.
[[nodiscard]] TQ_API ImportanceSums read_importance_sums(const std::filesystem::path& file);

namespace store::detail {

// The names of tensors in the GGUF form, behind the name of a weight.
inline constexpr std::string_view importance_sums_ending = ".in_sum2",
                                  importance_counts_ending = ".counts";

// The sums of a file, and the number of chunks that it names.
struct ReadImportance {
  ImportanceSums sums{};
  std::uint32_t chunks = 0;

  TQ_API void add(const std::string& file, const std::string& name, ImportanceSums::Weight weight);
};

// Sums of chunks, and their number; early versions wrote 0 for sums that are means.
[[nodiscard]] TQ_API ReadImportance read_binary_importance(const io::ByteSource& source);

// Throws: errc::malformed for a file of something else, such as a model.
TQ_API void require_importance(const io::GgufReader& file);

// Sums of squares "w.in_sum2" [matrices, inputs], and "w.counts", by which they are divided.
[[nodiscard]] TQ_API ReadImportance read_gguf_importance(io::ByteSource source);

}  // namespace store::detail

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/importance_file.ipp>
#endif
