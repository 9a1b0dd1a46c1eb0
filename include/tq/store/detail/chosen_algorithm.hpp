// SPDX-License-Identifier: MIT
#pragma once
// ChosenAlgorithm: the algorithm of a weight with the name of its Hessian, or the fallback.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/hessians.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tq::store::detail {

// Neither for a weight that is rounded to nearest without a fallback.
struct ChosenAlgorithm {
  std::optional<WeightAlgorithm> algorithm{};  // its `inputs` are named, if it takes a Hessian
  std::optional<WeightReport> fallback{};
};

// Names the Hessian of `weight`. Returns the reason why there is none, or an empty text.
[[nodiscard]] inline std::string name_inputs(const std::string& weight, const Hessians* hessians,
                                             WeightAlgorithm& algorithm) {
  if (hessians == nullptr)
    return "expected the Hessians of inputs for algorithm " + algorithm.name + ", got none";
  if (!algorithm.inputs.empty()) return "";
  if (auto name = hessians->name_for(weight)) {
    algorithm.inputs = *std::move(name);
    return "";
  }
  return "expected a Hessian of its name, or that of its module, for algorithm " + algorithm.name +
         ", got none of the " + std::to_string(hessians->names().size()) + " there are" +
         did_you_mean(weight, hessians->names());
}

// `no_matrix`: why algorithms do not take the weight, or empty. Throws: `errc::no_data` for a
// weight that the algorithm cannot have, unless it has a fallback.
[[nodiscard]] inline ChosenAlgorithm chosen_algorithm(const std::string& weight,
                                                      const std::string& no_matrix,
                                                      const Hessians* hessians,
                                                      WeightAlgorithm algorithm) {
  if (algorithm.name == "rtn") return {};
  std::string problem = no_matrix;
  if (problem.empty() && algorithm.needs_hessian())
    problem = name_inputs(weight, hessians, algorithm);
  if (problem.empty()) return {std::move(algorithm), {}};
  if (algorithm.fallback == "rtn")
    return {{}, WeightReport{.algorithm = algorithm.fallback, .is_fallback = true}};
  raise(errc::no_data, "tensor " + io::shown(weight) + ": " + problem +
                           "; `fallback` rounds such weights, `exclude` leaves it out");
}

// Bytes of an algorithm at work: the Hessian, its factor and strips of rows where it takes one; and
// values, codes and values of codes.
[[nodiscard]] inline std::uint64_t algorithm_bytes(const WeightAlgorithm& algorithm,
                                                   std::uint64_t inputs, std::uint64_t elements) {
  return (algorithm.needs_hessian() ? inputs * (14 * inputs + 2048) : 0) + 12 * elements;
}

}  // namespace tq::store::detail
