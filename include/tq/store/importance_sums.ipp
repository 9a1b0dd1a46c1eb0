// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/store/importance_sums.hpp.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/store/importance_sums.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tq {

TQ_API std::uint64_t ImportanceSums::tokens() const {
  std::uint64_t most = 0;
  for (const auto& [name, weight] : weights)
    for (const std::uint64_t count : weight.counts) most = std::max(most, count);
  return most;
}

namespace store::detail {

TQ_API std::vector<float> importance_of(const ImportanceSums::Weight& weight) {
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
TQ_API bool align_importance(ImportanceSums::Weight& a, ImportanceSums::Weight& b) {
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

TQ_API void ImportanceSums::merge(const ImportanceSums& other) {
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
