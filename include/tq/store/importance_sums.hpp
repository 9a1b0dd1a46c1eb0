// SPDX-License-Identifier: MIT
#pragma once
// ImportanceSums: sums of squares of the inputs of weights, which are merged before they are
// divided.

#include <tq/bodies.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tq {

/// Sums of squares of the inputs of weights over tokens, by the names of weights in GGUF files: an
/// importance matrix that can be added to.
struct ImportanceSums {
  /// The sums of one weight [inputs], or of stacked matrices [matrices, inputs].
  struct Weight {
    std::vector<double> sums{};           ///< of squares, [matrices * inputs]
    std::vector<std::uint64_t> counts{};  ///< tokens of each matrix, or of all matrices together

    friend bool operator==(const Weight&, const Weight&) = default;
  };
  std::map<std::string, Weight> weights{};
  std::vector<std::string> datasets{};  ///< the texts that the inputs come from
  std::uint32_t chunk_size = 512;       ///< tokens of a chunk, by which the older form counts

  /// Adds the sums and counts of the same weights, and takes the other weights and the texts.
  /// Stacks get as many matrices as the longer one. Throws: `errc::shape_mismatch`, naming the
  /// weight, where they have other inputs. Nothing is added then.
  TQ_API void merge(const ImportanceSums& other);

  /// Tokens of the weight that has most.
  [[nodiscard]] TQ_API std::uint64_t tokens() const;
  /// Whole chunks of tokens. Precondition: `chunk_size` is at least 1.
  [[nodiscard]] std::uint64_t chunks() const { return tokens() / chunk_size; }
};

namespace store::detail {

// Mean squares as files give them, where counts are float32; 1 for a matrix without tokens. Of
// float32 sums double arithmetic rounds the quotients as float32 does.
[[nodiscard]] TQ_API std::vector<float> importance_of(const ImportanceSums::Weight& weight);

}  // namespace store::detail

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/importance_sums.ipp>
#endif
