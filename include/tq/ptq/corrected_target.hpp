// SPDX-License-Identifier: MIT
#pragma once
// corrected_target: weights that make up for what quantized layers before changed in the inputs.

#include <tq/arch/isa.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/kernels/product_sums.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/cross_hessian.hpp>
#include <tq/ptq/detail/damped_hessian.hpp>
#include <tq/ptq/detail/factor_solver.hpp>
#include <tq/ptq/detail/require_same_layer.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/factor.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace tq {

/// Options of `corrected_target`.
struct TargetOptions {
  /// The share of the correction, 0 to 1. Without one it follows the tokens: 1 - 1.3 inputs /
  /// tokens, and at least 0, because a correction by few tokens fits its sample.
  std::optional<double> strength = std::nullopt;
};

namespace detail {
[[nodiscard]] inline double strength_of(const TargetOptions& options, std::size_t inputs,
                                        std::uint64_t tokens) {
  if (!options.strength)
    return std::clamp(1 - 1.3 * static_cast<double>(inputs) / static_cast<double>(tokens), 0.0,
                      1.0);
  if (!(*options.strength >= 0 && *options.strength <= 1))
    raise_expected(errc::bad_argument, "tq::corrected_target", {"a strength of 0 to 1"},
                   {static_cast<float>(*options.strength)});
  return *options.strength;
}
}  // namespace detail

/// The weights W* [outputs, inputs] whose outputs for the inputs of `h`, those behind quantized
/// layers, are closest to the outputs of `weights` for the inputs of the float model:
/// W* = W + strength W C (H + lambda I)^-1, C being `cross`. Quantize them in place of `weights`:
/// losses are then against W*. `factor` was made of `h`, from the tokens of `cross`. The result
/// does not depend on the executor or the instruction set. Sources: Li et al., "GPTAQ", 2025, and
/// Zhang et al., "Qronos", 2025, which approximate it. Throws: `errc::shape_mismatch` for other
/// inputs; `errc::no_data` without tokens; `errc::bad_argument` for another number of tokens than
/// that of `h`, and for a strength that is no share; `errc::not_finite` for NaN or infinite
/// weights, and for a target that float32 cannot hold.
template <class Arch = arch::native, HessianMatrix H, Executor E = Serial,
          Readable X = ConstTensorView>
[[nodiscard]] std::vector<float> corrected_target(const X& weights, const CrossHessian& cross,
                                                  const H& h, const HessianFactor& factor,
                                                  const TargetOptions& options = {},
                                                  const E& executor = serial) {
  constexpr const char* function = "tq::corrected_target";
  const auto floats = detail::read_floats(function, weights);
  detail::require_same_layer(function, floats.view(), h, factor);
  const std::size_t n = h.inputs();
  if (cross.inputs() != n)
    detail::raise_expected(errc::shape_mismatch, function, {"cross products of ", n, " inputs"},
                           {cross.inputs()});
  if (cross.tokens() == 0)
    detail::raise_expected(errc::no_data, function, {"cross products of tokens"}, {"none"});
  if (cross.tokens() != h.tokens())
    detail::raise_expected(errc::bad_argument, function,
                           {"cross products of the ", h.tokens(), " tokens of the Hessian"},
                           {cross.tokens()});
  const double strength = detail::strength_of(options, n, cross.tokens());
  using Solver = detail::FactorSolver<Arch>;
  constexpr std::size_t rows = Solver::rows;
  std::vector<float> out = detail::row_major(floats.view());
  const detail::DampedHessian damped(h, factor.damping_used(), executor);
  Buffer<double> matrix(n * n);
  executor(n, [&](std::size_t i) {
    for (std::size_t j = 0; j < n; ++j) matrix.data()[i * n + j] = cross(i, j);
  });
  const std::size_t outputs = floats.view().shape()[0];
  executor((outputs + rows - 1) / rows, [&](std::size_t s) {
    float* w = out.data() + s * rows * n;
    const std::size_t count = std::min(rows, outputs - s * rows);
    std::vector<double> factors(n * rows), right(n * rows), change(n * rows);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t c = 0; c < n; ++c) factors[c * rows + r] = double{w[r * n + c]};
    kernels::SumRows sums;
    for (std::size_t r = 0; r < rows; ++r) sums[r] = right.data() + r * n;
    kernels::add_products<Arch, kernels::Product::rounded>(factors.data(), matrix.data(), n, n,
                                                           sums, n);
    Solver(factor, damped).solve(right.data(), change.data());
    for (std::size_t i = 0; i < count * n; ++i)
      w[i] = static_cast<float>(double{w[i]} + detail::uncontracted(strength * change[i]));
  });
  for (const float w : out)
    if (!detail::is_finite(w))
      detail::raise_expected(errc::not_finite, function, {"a target that float32 holds"}, {w});
  return out;
}

}  // namespace tq
