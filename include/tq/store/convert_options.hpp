// SPDX-License-Identifier: MIT
#pragma once
// ConvertOptions: how convert_model and dequantize_model work.

#include <tq/model/node_kind.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/hessians.hpp>
#include <tq/store/name_patterns.hpp>
#include <tq/store/team.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tq {

/// Options of `convert_model`. With an algorithm that takes Hessians, each of `jobs` holds a weight
/// of n inputs, and about 14 n^2 bytes for the Hessian and its factor. `jobs`, `overwrite`,
/// `progress` and `on_restart` are options of `dequantize_model` as well.
struct ConvertOptions {
  store::NamePatterns names{};         ///< tensors to quantize; the others are copied
  std::vector<NodeKind> kinds{};       ///< kinds to quantize although they stay in float by default
  bool all = false;                    ///< quantize all kinds, 1-D tensors, and tensors that grow
  bool requantize = false;             ///< quantize weights of another program anew
  bool allow_nonfinite = false;        ///< infinity becomes the end of the range, NaN 0
  bool skip_unreadable = false;        ///< of dequantize_model: copy weights that cannot be read
  WeightAlgorithm algorithm{};         ///< of all weights; a configuration has its own
  const Hessians* hessians = nullptr;  ///< of the inputs of weights, for algorithms that take them
  std::size_t jobs = 1;                ///< threads; the bytes of the output do not depend on it
  bool overwrite = false;              ///< replace what is in the place of the output
  const store::Team* team = nullptr;   ///< ranks that share the shards; null: this process alone

  /// Called with the bytes of input that are done, and all of them: first with 0, then after each
  /// tensor, on any thread, by one thread at a time.
  std::function<void(std::uint64_t done, std::uint64_t all)> progress{};
  /// Called where shards of an earlier run are of no use, with the files of the input that have
  /// changed since.
  std::function<void(const std::string& changed)> on_restart{};
};

}  // namespace tq
