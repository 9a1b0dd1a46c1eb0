// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/scheme/weight_algorithm.hpp.

#include <tq/error.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/scheme/weight_algorithm.hpp>

namespace tq {

TQ_API std::vector<std::string> weight_algorithm_names() {
  return {"rtn", "rtn-weighted", "gptq", "hqq"};
}

TQ_API std::vector<std::string> weight_order_names() { return {"activation", "group", "natural"}; }

TQ_API std::vector<std::string> weight_scales_names() { return {"weighted", "min_max"}; }

TQ_API std::string weight_scales_for(const QuantSpec& spec) {
  const bool is_searched = !spec.is_cast() && spec.scale_type != DoubleQuantized::name &&
                           !detail::names_super_block(spec.scale_type) &&
                           spec.calibrator == QuantSpec().calibrator;
  return is_searched ? "weighted" : "min_max";
}

TQ_API std::vector<std::string> weight_algorithm_fields(std::string_view name) {
  if (name == "rtn") return {};
  if (name == "rtn-weighted") return {"damping", "fallback", "inputs"};
  if (name == "hqq") return {"norm", "fallback"};
  return {"order", "scales", "damping", "sweeps", "allow_few_tokens", "fallback", "inputs"};
}

TQ_API void validate(const WeightAlgorithm& algorithm) {
  require_one_of("tq::WeightAlgorithm: name", weight_algorithm_names(), algorithm.name);
  require_one_of("tq::WeightAlgorithm: order", weight_order_names(), algorithm.order);
  require_one_of("tq::WeightAlgorithm: scales", weight_scales_names(), algorithm.scales);
  if (!algorithm.fallback.empty())
    require_one_of("tq::WeightAlgorithm: fallback", {"rtn"}, algorithm.fallback);
  if (!(algorithm.damping >= 0 && algorithm.damping <= 1e6))
    detail::raise_expected(errc::bad_argument, "tq::WeightAlgorithm: damping", {"0 to 1e6"},
                           {static_cast<float>(algorithm.damping)});
  if (!(algorithm.norm > 0 && algorithm.norm <= 1))
    detail::raise_expected(errc::bad_argument, "tq::WeightAlgorithm: norm",
                           {"above 0 and at most 1"}, {static_cast<float>(algorithm.norm)});
  if (algorithm.sweeps > WeightAlgorithm::most_sweeps)
    detail::raise_expected(errc::bad_argument, "tq::WeightAlgorithm: sweeps",
                           {"at most ", WeightAlgorithm::most_sweeps}, {algorithm.sweeps});
}

}  // namespace tq
