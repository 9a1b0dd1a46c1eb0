// SPDX-License-Identifier: MIT
#pragma once
// ModelSizeFinder: the sizes of a model by the names and shapes of its tensors.

#include <tq/bodies.hpp>
#include <tq/model/detail/name_parts.hpp>
#include <tq/model/model_sizes.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

/// Finds sizes that no configuration gives: the vocabulary in the table of words, experts in their
/// numbers and stacks, the width of the model beside both.
class ModelSizeFinder {
 public:
  /// Takes a tensor of the model into account.
  TQ_API void add(std::string_view name, std::span<const std::size_t> extents);

  /// `known`, with the sizes of the tensors where it has none.
  [[nodiscard]] TQ_API ModelSizes sizes(ModelSizes known = {}) const;

 private:
  TQ_API void take_norm(const detail::NameParts& parts, std::size_t extent);
  TQ_API void take_experts(std::string_view name, const detail::NameParts& parts,
                           std::span<const std::size_t> extents);

  ModelSizes found_;
  std::size_t most_ = 0;  // experts by their numbers
  std::vector<std::pair<std::string, std::vector<std::size_t>>> stacks_;
};

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/model_size_finder.ipp>
#endif
