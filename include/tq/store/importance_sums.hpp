// SPDX-License-Identifier: MIT
#pragma once
// ImportanceSums: sums of squares of the inputs of weights, which are merged before they are
// divided.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
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
  void merge(const ImportanceSums& other);

  /// Tokens of the weight that has most.
  [[nodiscard]] std::uint64_t tokens() const {
    std::uint64_t most = 0;
    for (const auto& [name, weight] : weights)
      for (const std::uint64_t count : weight.counts) most = std::max(most, count);
    return most;
  }
  /// Whole chunks of tokens. Precondition: `chunk_size` is at least 1.
  [[nodiscard]] std::uint64_t chunks() const { return tokens() / chunk_size; }
};

namespace store::detail {

// Mean squares as files give them, where counts are float32; 1 for a matrix without tokens. Of
// float32 sums double arithmetic rounds the quotients as float32 does.
[[nodiscard]] inline std::vector<float> importance_of(const ImportanceSums::Weight& weight) {
  const std::size_t each = weight.sums.size() / std::max<std::size_t>(1, weight.counts.size());
  std::vector<float> out;
  out.reserve(weight.sums.size());
  for (std::size_t i = 0; i < weight.sums.size(); ++i) {
    const double count = static_cast<float>(weight.counts[i / each]);
    out.push_back(count > 0 ? static_cast<float>(weight.sums[i] / count) : 1.0f);
  }
  return out;
}

// Gives both as many counts and matrices. False where they have other inputs.
[[nodiscard]] inline bool align_importance(ImportanceSums::Weight& a, ImportanceSums::Weight& b) {
  if (a.counts.empty() || b.counts.empty()) return false;
  if (a.sums.size() == b.sums.size()) {  // a count for all matrices is that of each
    const std::size_t most = std::max(a.counts.size(), b.counts.size());
    for (ImportanceSums::Weight* w : {&a, &b})
      if (w->counts.size() == 1) w->counts.resize(most, w->counts.front());
    return a.counts.size() == b.counts.size();
  }
  if (a.sums.size() / a.counts.size() != b.sums.size() / b.counts.size()) return false;
  for (ImportanceSums::Weight* w : {&a, &b}) {
    w->sums.resize(std::max(a.sums.size(), b.sums.size()));
    w->counts.resize(std::max(a.counts.size(), b.counts.size()));
  }
  return true;
}

}  // namespace store::detail

inline void ImportanceSums::merge(const ImportanceSums& other) {
  std::map<std::string, Weight> merged = weights;
  for (const auto& [name, theirs] : other.weights) {
    const auto [place, is_new] = merged.try_emplace(name, theirs);
    if (is_new) continue;
    Weight& ours = place->second;
    Weight more = theirs;
    if (!store::detail::align_importance(ours, more))
      detail::raise_text(errc::shape_mismatch,
                         {"tq::ImportanceSums::merge: weight ", io::shown(name), ": expected ",
                          ours.sums.size(), " sums and ", ours.counts.size(), " counts, got ",
                          theirs.sums.size(), " and ", theirs.counts.size()});
    for (std::size_t i = 0; i < more.sums.size(); ++i) ours.sums[i] += more.sums[i];
    for (std::size_t i = 0; i < more.counts.size(); ++i) ours.counts[i] += more.counts[i];
  }
  weights = std::move(merged);
  datasets.insert(datasets.end(), other.datasets.begin(), other.datasets.end());
}

}  // namespace tq
