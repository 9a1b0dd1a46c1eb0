// SPDX-License-Identifier: MIT
#pragma once
// WeightAlgorithm: how codes of weights are chosen, as a value for configurations and tools.

#include <tq/error.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/scheme/quant_spec.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// An algorithm by name, and its settings.
struct WeightAlgorithm {
  /// "rtn": rounding to nearest. "rtn-weighted": the same under scales that are searched with the
  /// mean squares of inputs as weights. "gptq": error feedback. "hqq": float offsets by
  /// half-quadratic splitting. "rtn-weighted" and "gptq" need the Hessian of the inputs.
  std::string name = "rtn";
  std::string order = "activation";  ///< of columns: "activation", "group" or "natural"
  std::string scales = "weighted";   ///< of gptq: "weighted", as of rtn-weighted, or "min_max"
  double damping = 0.01;             ///< as that of `FactorOptions`
  std::size_t sweeps = 2;            ///< of coordinate descent, after gptq
  bool allow_few_tokens = false;     ///< as that of `FactorOptions`
  double norm = 0.7;                 ///< as that of `HqqOptions`
  std::string fallback{};  ///< "rtn" for weights without a Hessian, and for those that are
                           ///< no matrices; empty: an error
  std::string inputs{};    ///< the name of the Hessian; empty: that of the weight

  /// True for an algorithm that takes the Hessian of the inputs.
  [[nodiscard]] bool needs_hessian() const noexcept { return name != "rtn" && name != "hqq"; }

  static constexpr std::size_t most_sweeps = 1000;

  friend bool operator==(const WeightAlgorithm&, const WeightAlgorithm&) = default;
};

/// Names of algorithms.
[[nodiscard]] inline std::vector<std::string> weight_algorithm_names() {
  return {"rtn", "rtn-weighted", "gptq", "hqq"};
}
/// Names of orders of columns.
[[nodiscard]] inline std::vector<std::string> weight_order_names() {
  return {"activation", "group", "natural"};
}
/// Names of choices of scales.
[[nodiscard]] inline std::vector<std::string> weight_scales_names() {
  return {"weighted", "min_max"};
}

/// The scales of gptq for a scheme: "weighted", or "min_max" for casts, for scales that are double
/// quantized or of super-blocks and for a scheme with a calibrator of its own, none of which are searched.
[[nodiscard]] inline std::string weight_scales_for(const QuantSpec& spec) {
  const bool is_searched = !spec.is_cast() && spec.scale_type != DoubleQuantized::name &&
                           !detail::names_super_block(spec.scale_type) &&
                           spec.calibrator == QuantSpec().calibrator;
  return is_searched ? "weighted" : "min_max";
}

/// The settings that an algorithm has beside its name.
[[nodiscard]] inline std::vector<std::string> weight_algorithm_fields(std::string_view name) {
  if (name == "rtn") return {};
  if (name == "rtn-weighted") return {"damping", "fallback", "inputs"};
  if (name == "hqq") return {"norm", "fallback"};
  return {"order", "scales", "damping", "sweeps", "allow_few_tokens", "fallback", "inputs"};
}

/// Checks names and ranges. Throws: `errc::unknown_name`; `errc::bad_argument` for damping outside
/// [0, 1e6], a norm outside (0, 1], and more than `most_sweeps`.
inline void validate(const WeightAlgorithm& algorithm) {
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
