// SPDX-License-Identifier: MIT
#pragma once
// CheckpointOptions: how write_checkpoint works.

#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/activation_ranges.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/name_patterns.hpp>
#include <tq/store/team.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tq {

/// Options of `write_checkpoint`. With an algorithm that takes Hessians, each of `jobs` holds a
/// layer of n inputs, and about 14 n^2 bytes for the Hessian and its factor.
struct CheckpointOptions {
  store::NamePatterns names{};         ///< layers to quantize; the others stay in float
  std::size_t tensor_parallel = 1;     ///< processes of the engine that share every layer
  WeightAlgorithm algorithm{};         ///< of all layers, with scales as the format stores them
  const Hessians* hessians = nullptr;  ///< of the inputs of layers, for algorithms that take them
  /// "transformers": a model that transformers does not load in the format is an error; otherwise
  /// the report says so.
  std::string engine{};
  /// The inputs of layers, for formats that store scales of activations: layers that engines fuse,
  /// and the experts of a mixture, have one scale of their largest magnitude.
  const ActivationRanges* inputs = nullptr;
  std::size_t jobs = 1;               ///< threads; the bytes of the output do not depend on it
  bool overwrite = false;             ///< replace what is in the place of the output
  const store::Team* team = nullptr;  ///< ranks that share the shards; null: this process alone

  /// As those of `ConvertOptions`.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress{};
  std::function<void(const std::string& changed)> on_restart{};
};

}  // namespace tq
