// SPDX-License-Identifier: MIT
#pragma once
// awq_scales: scales of inputs with which rounded weights leave the least error of outputs.

#include <tq/arch/isa.hpp>
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ptq/detail/awq_layer.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/layer_list.hpp>
#include <tq/ptq/factor.hpp>
#include <tq/ptq/powers_of_two.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace tq {

/// Options of `awq_scales`.
struct AwqOptions {
  std::size_t steps = 20;     ///< powers tried: 0, 1 / steps, ..., 1
  bool exact_powers = false;  ///< scales are powers of two, so that migrating them is exact
  /// Rows of a layer that are looked at, spread evenly, where parameters are those of one output
  /// each; 0 for all of them.
  std::size_t most_rows = 256;
  /// The mean magnitude of each input; without them the root of its mean square.
  std::vector<double> magnitudes = {};
};

/// Scales that were tried: magnitudes to the power `power`; `by_weights`, over the mean share of
/// weights in the ranges of their groups to the power 1 - `power`.
struct AwqCandidate {
  double power;
  bool by_weights;
  double loss;
  std::vector<float> scales;
};

/// Losses are the mean squared errors of outputs over tokens, summed over the rows looked at.
struct AwqResult {
  std::vector<float> scales;
  double loss, loss_before;  ///< with these scales, and with scales of 1
  std::vector<AwqCandidate> candidates;
};

namespace detail {

// Scales of a candidate. Inputs of magnitude 0 have 1; the root of the largest times the smallest
// of the others is 1.
[[nodiscard]] inline std::vector<float> candidate_scales(const std::vector<double>& magnitudes,
                                                         const std::vector<double>& shares,
                                                         double power, bool by_weights,
                                                         bool exact_powers) {
  std::vector<double> s(magnitudes.size(), 1.0);
  double least = 0, most = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (magnitudes[i] == 0) continue;
    const double below = by_weights ? std::pow(shares[i], 1 - power) + 1e-4 : 1.0;
    s[i] = std::max(std::pow(magnitudes[i], power) / below, 1e-4);
    least = most == 0 ? s[i] : std::min(least, s[i]);
    most = std::max(most, s[i]);
  }
  std::vector<float> out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const float scale =
        magnitudes[i] == 0 ? 1.0f : scale_or_one(s[i] / (std::sqrt(most) * std::sqrt(least)));
    out.push_back(exact_powers ? nearest_power_of_two(scale) : scale);
  }
  return out;
}

[[nodiscard]] inline std::vector<double> magnitudes_for(const auto& h, const AwqOptions& options) {
  const std::size_t n = h.inputs();
  if (options.steps == 0)
    raise(errc::bad_argument, "tq::awq_scales: expected 1 step or more, got 0");
  if (!options.magnitudes.empty()) {
    if (options.magnitudes.size() != n)
      raise_expected(errc::shape_mismatch, "tq::awq_scales", {"magnitudes of ", n, " inputs"},
                     {options.magnitudes.size()});
    require_magnitudes("tq::awq_scales", options.magnitudes);
    return options.magnitudes;
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(std::sqrt(h(i, i)));
  return out;
}

}  // namespace detail

/// Scales of the inputs of all `layers` [outputs, inputs] that read them, with which weights that
/// are multiplied by them and rounded under Params by their range leave the least error of outputs
/// for the Hessian `h`, which needs no tokens: powers of magnitudes, with and without regard to
/// weights, are tried, and scales of 1 stay unless others are strictly better. Inputs are to be
/// divided by the scales (`migrate`). The result does not depend on the executor or the instruction
/// set. Source: Lin et al., "AWQ", 2023. Throws: `errc::no_data` for no layers, and without tokens;
/// `errc::shape_mismatch` for layers and magnitudes of other inputs; `errc::not_finite` for NaN or
/// infinite weights and magnitudes; `errc::bad_argument` for no steps; what the granularity finds.
template <AnyParams Params, Backend B = default_backend, class Arch = arch::native, HessianMatrix H,
          Executor E = Serial>
[[nodiscard]] AwqResult awq_scales(
    const std::vector<ConstTensorView>& layers, const H& h, const AwqOptions& options = {},
    const typename Params::granularity_type& granularity = typename Params::granularity_type{},
    const E& executor = serial) {
  constexpr const char* function = "tq::awq_scales";
  const std::vector<double> magnitudes = detail::magnitudes_for(h, options);
  detail::require_layers(function, layers, h.inputs());
  if (h.tokens() == 0)
    detail::raise_expected(errc::no_data, function, {"a Hessian of tokens"}, {"none"});
  std::vector<detail::AwqLayer> parts;
  detail::WeightShares shares(h.inputs());
  for (const ConstTensorView& w : layers) {
    detail::require_possible(function, granularity, w.shape());
    const Shape block = granularity.block(w.shape());
    shares.add(w, block[1]);
    parts.emplace_back(w, block[0] == 1 ? options.most_rows : 0);
  }
  const detail::DampedHessian matrix(h, 0.0, executor);
  const auto loss_of = [&](const std::vector<float>& scales) {
    double loss = 0;
    for (const detail::AwqLayer& part : parts)
      loss += part.template loss<Params, B, Arch>(matrix, scales, granularity, executor);
    return loss;
  };
  AwqResult out{std::vector<float>(h.inputs(), 1.0f), 0, 0, {}};
  out.loss = out.loss_before = loss_of(out.scales);
  for (const bool by_weights : {false, true})
    for (std::size_t k = 0; k <= options.steps; ++k) {
      const double power = static_cast<double>(k) / static_cast<double>(options.steps);
      std::vector<float> scales = detail::candidate_scales(magnitudes, shares.means(), power,
                                                           by_weights, options.exact_powers);
      const double loss = loss_of(scales);
      if (loss < out.loss) out.loss = loss, out.scales = scales;
      out.candidates.push_back({power, by_weights, loss, std::move(scales)});
    }
  return out;
}

}  // namespace tq
