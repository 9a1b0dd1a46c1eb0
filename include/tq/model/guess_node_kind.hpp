// SPDX-License-Identifier: MIT
#pragma once
// guess_node_kind: the kind of a tensor by its name, its shape and the sizes of its model.

#include <tq/bodies.hpp>
#include <tq/model/detail/name_parts.hpp>
#include <tq/model/model_sizes.hpp>
#include <tq/model/node_kind.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace tq {

namespace detail {

// A tensor whose kind is asked for. Without extents, only the rank is known.
struct GuessedTensor {
  NameParts name;
  std::size_t rank;
  std::span<const std::size_t> extents;
  const ModelSizes& sizes;

  [[nodiscard]] bool has_shape() const noexcept { return !extents.empty(); }
};

[[nodiscard]] TQ_API bool is_head(const GuessedTensor& t);

// True for three axes and more that are a stack of matrices by name.
[[nodiscard]] TQ_API bool is_stack(const GuessedTensor& t);

[[nodiscard]] TQ_API NodeKind guess(const GuessedTensor& t);

}  // namespace detail

/// The probable kind of a tensor of that name and rank, by the names that transformers,
/// torchvision, timm, diffusers, RWKV, Mamba, fairseq and GGUF give to weights; `other` for
/// vectors, masks and names that tell nothing. The last layer of a classifier is a head only where
/// its name says so: `fc` and `classifier.6` are linear. Rules of a configuration override a guess.
[[nodiscard]] TQ_API NodeKind guess_node_kind(std::string_view name, std::size_t rank);

/// The same with the shape of the tensor and the sizes of its model, which tell a router from a
/// gate, a head from a hidden layer, and a gain of several axes from a weight.
[[nodiscard]] TQ_API NodeKind guess_node_kind(std::string_view name,
                                              std::span<const std::size_t> extents,
                                              const ModelSizes& sizes = {});

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/model/guess_node_kind.ipp>
#endif
