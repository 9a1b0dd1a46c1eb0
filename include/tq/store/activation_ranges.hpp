// SPDX-License-Identifier: MIT
#pragma once
// ActivationRanges: the largest magnitudes of the inputs of layers, for formats that store a scale
// of activations.

#include <tq/bodies.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tq {

/// The inputs of a layer.
struct ActivationRange {
  float abs_max = 0.0f;    ///< largest magnitude
  std::size_t inputs = 0;  ///< of a token
};

/// The inputs of layers, by the names of weights or of their modules.
class ActivationRanges {
 public:
  using Map = std::map<std::string, ActivationRange>;

  /// Throws: `errc::not_finite` for a magnitude that is no finite number, or negative.
  TQ_API explicit ActivationRanges(Map all);
  /// Reads activations [..., inputs] from the files that `Hessians::of_activations` takes.
  /// Throws: as that; `errc::not_finite`, naming the layer.
  [[nodiscard]] TQ_API static ActivationRanges of_activations(const std::vector<std::string>& data);

  /// The inputs of a module by its name or that of its weight; none: the end of `all`.
  [[nodiscard]] TQ_API Map::const_iterator find(const std::string& module) const;
  [[nodiscard]] const Map& all() const noexcept { return all_; }

 private:
  Map all_;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/activation_ranges.ipp>
#endif
