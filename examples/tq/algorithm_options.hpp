// SPDX-License-Identifier: MIT
#pragma once
// Options for the algorithm that chooses codes of weights, and for what it knows of activations.

#include "commands.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tool {

class AlgorithmOptions {
 public:
  explicit AlgorithmOptions(CLI::App& command);
  AlgorithmOptions(const AlgorithmOptions&) = delete;
  AlgorithmOptions& operator=(const AlgorithmOptions&) = delete;

  // Sets the algorithm, and where its Hessians come from. `has_config`: a configuration has the
  // algorithms. `static_type`: a type that stores scales of activations, or empty. Throws:
  // UsageError for options that the algorithm does not have, and for one, or a type, that takes
  // activations without them.
  void apply(QuantizeOptions& options, bool has_config, const std::string& static_type = {}) const;

 private:
  void require_used(bool has_config) const;
  void require_data(bool has_config, const std::string& static_type) const;

  tq::WeightAlgorithm algorithm_;
  std::string hessian_;
  std::vector<std::string> activations_;
  const CLI::Option* name_;
  std::vector<std::pair<std::string, const CLI::Option*>> settings_;  // by the field's name
};

}  // namespace tool
