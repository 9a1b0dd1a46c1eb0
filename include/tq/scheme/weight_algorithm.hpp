// SPDX-License-Identifier: MIT
#pragma once
// WeightAlgorithm: how codes of weights are chosen, as a value for configurations and tools.

#include <tq/bodies.hpp>
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
[[nodiscard]] TQ_API std::vector<std::string> weight_algorithm_names();
/// Names of orders of columns.
[[nodiscard]] TQ_API std::vector<std::string> weight_order_names();
/// Names of choices of scales.
[[nodiscard]] TQ_API std::vector<std::string> weight_scales_names();

/// The scales of gptq for a scheme: "weighted", or "min_max" for casts, for scales that are double
/// quantized or of super-blocks and for a scheme with a calibrator of its own, none of which are
/// searched.
[[nodiscard]] TQ_API std::string weight_scales_for(const QuantSpec& spec);

/// The settings that an algorithm has beside its name.
[[nodiscard]] TQ_API std::vector<std::string> weight_algorithm_fields(std::string_view name);

/// Checks names and ranges. Throws: `errc::unknown_name`; `errc::bad_argument` for damping outside
/// [0, 1e6], a norm outside (0, 1], and more than `most_sweeps`.
TQ_API void validate(const WeightAlgorithm& algorithm);

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/scheme/weight_algorithm.ipp>
#endif
