// SPDX-License-Identifier: MIT
#pragma once
// ChosenAlgorithm: the algorithm of a weight with the name of its Hessian, or the fallback.

#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/ptq/weight_report.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/weight_algorithm.hpp>
#include <tq/store/error_context.hpp>
#include <tq/store/hessians.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Weights of an output of a tensor [outputs, ...].
[[nodiscard]] inline std::size_t weights_of_output(const std::vector<std::size_t>& shape) {
  std::size_t out = 1;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) out *= shape[axis];
  return out;
}

// Filters [outputs, ...] of a convolution: each group of them reads as many inputs as a filter has
// weights. Returns the reason why they are none of a layer with `inputs`, or an empty text.
[[nodiscard]] inline std::string filters_problem(std::size_t outputs, std::size_t of_filter,
                                                 std::size_t inputs) {
  if (of_filter != 0 && inputs != 0 && inputs % of_filter == 0 &&
      outputs % (inputs / of_filter) == 0)
    return "";
  return "expected a Hessian of " + std::to_string(of_filter) +
         " inputs for each group of filters, got one of " + std::to_string(inputs) +
         " inputs for " + std::to_string(outputs) + " filters";
}

// `no_matrix`: why algorithms do not take the weight, or empty. Throws: `errc::no_data` for a
// weight that the algorithm cannot have, unless it has a fallback. `shape`: of filters.
[[nodiscard]] inline ChosenAlgorithm chosen_algorithm(const std::string& weight,
                                                      const std::string& no_matrix,
                                                      const Hessians* hessians,
                                                      WeightAlgorithm algorithm,
                                                      const std::vector<std::size_t>& shape = {}) {
  if (algorithm.name == "rtn") return {};
  std::string problem = no_matrix;
  if (problem.empty() && algorithm.needs_hessian())
    problem = name_inputs(weight, hessians, algorithm);
  if (problem.empty() && shape.size() > 2)
    problem = filters_problem(shape[0], weights_of_output(shape),
                              naming(weight, [&] { return hessians->inputs(algorithm.inputs); }));
  if (problem.empty()) return {std::move(algorithm), {}};
  if (algorithm.fallback == "rtn")
    return {{}, WeightReport{.algorithm = algorithm.fallback, .is_fallback = true}};
  tq::detail::raise_text(errc::no_data,
                         {"tensor ", io::shown(weight), ": ", problem,
                          "; `fallback` rounds such weights, `exclude` leaves it out"});
}

// Bytes of an algorithm at work: the Hessian, its factor and strips of rows where it takes one; and
// values, codes and values of codes.
[[nodiscard]] inline std::uint64_t algorithm_bytes(const WeightAlgorithm& algorithm,
                                                   std::uint64_t inputs, std::uint64_t elements) {
  return (algorithm.needs_hessian() ? inputs * (14 * inputs + 2048) : 0) + 12 * elements;
}

}  // namespace tq::store::detail
