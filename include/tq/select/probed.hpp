// SPDX-License-Identifier: MIT
#pragma once
// Errors of candidates by what they do to the whole model, as a function of the user's says.

#include <tq/error.hpp>
#include <tq/numeric/shortest_text.hpp>
#include <tq/select/precision_model.hpp>
#include <tq/select/precision_selector.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// How much a loss rises, at least 0. Throws: errc::not_finite for a loss that is not finite.
[[nodiscard]] inline double rise(double loss, double before, std::size_t& clamped) {
  if (!std::isfinite(loss))
    raise_expected(errc::not_finite, "tq::probe_errors", {"finite losses"}, {shortest_text(loss)});
  if (loss < before) ++clamped;
  return std::max(0.0, loss - before);
}

}  // namespace detail

/// Sets the error of every candidate to the rise of a loss when only this tensor has this scheme:
/// evaluate(node number, candidate) - `float_loss`. That is (candidates - 1) calls for each node.
/// The loss should be one that adds up: cross entropy, the divergence from the float model, a
/// squared error; not an accuracy. Returns how many were below `float_loss`, and count as 0.
/// Throws: `errc::not_finite`.
template <class Evaluate>
  requires std::invocable<Evaluate&, std::size_t, const PrecisionCandidate&>
std::size_t probe_errors(PrecisionModel& model, double float_loss, Evaluate&& evaluate) {
  std::size_t clamped = 0;
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    for (PrecisionCandidate& c : model.nodes[i].candidates)
      if (c.scheme == float_scheme) c.error = 0;
      else c.error = detail::rise(evaluate(i, std::as_const(c)), float_loss, clamped);
  return clamped;
}

/// The same from one call for each node: the error of every candidate, which is a relative one as
/// `measured_node` has it, is multiplied by the rise of the loss with scheme `probe` over the error
/// of that. A node that lacks it, or loses nothing by it, keeps its errors times the mean of the
/// others' factors.
/// Source: Malinovskii et al., "Pushing the Limits of Large Language Model Quantization via the
/// Linearity Theorem", arXiv:2411.17525 (a loss rises linearly in relative squared errors).
template <class Evaluate>
  requires std::invocable<Evaluate&, std::size_t, const PrecisionCandidate&>
std::size_t probe_factors(PrecisionModel& model, double float_loss, std::string_view probe,
                          Evaluate&& evaluate) {
  std::size_t clamped = 0;
  std::vector<std::optional<double>> factors;
  double sum = 0;
  std::size_t known = 0;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    factors.emplace_back();
    const PrecisionCandidate* c = detail::find_candidate(model.nodes[i], probe);
    if (c == nullptr || !(c->error > 0)) continue;
    factors[i] = detail::rise(evaluate(i, *c), float_loss, clamped) / c->error;
    sum += *factors[i];
    ++known;
  }
  const double mean = known == 0 ? 1 : sum / static_cast<double>(known);
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    for (PrecisionCandidate& c : model.nodes[i].candidates) c.error *= factors[i].value_or(mean);
  return clamped;
}

/// A selection, or a uniform scheme that measures better.
struct ValidatedPrecision {
  PrecisionSelection selection;
  double loss = 0;                     ///< measured, of `selection`
  std::optional<std::string> uniform;  ///< the scheme, where it is the same everywhere
};

/// Measures a selection and every uniform scheme that takes no more bytes and that all nodes have,
/// by evaluate(selection), and returns the one of least loss; of equals the selection. Errors of
/// nodes need not add up as supposed, and a uniform scheme may be better than what they predict.
/// Throws: `errc::not_finite` where the loss of the selection is not finite.
template <class Evaluate>
  requires std::invocable<Evaluate&, const PrecisionSelection&>
[[nodiscard]] ValidatedPrecision validated(const PrecisionSelector& selector,
                                           PrecisionSelection selection, Evaluate&& evaluate) {
  const std::uint64_t bytes = selection.cost.bytes;
  ValidatedPrecision best{std::move(selection), 0, {}};
  best.loss = evaluate(std::as_const(best.selection));
  if (!std::isfinite(best.loss))
    detail::raise_expected(errc::not_finite, "tq::validated", {"a finite loss"},
                           {detail::shortest_text(best.loss)});
  if (selector.model().nodes.empty()) return best;
  for (const PrecisionCandidate& c : selector.model().nodes.front().candidates) {
    PrecisionSelection uniform = selector.uniform(c.scheme);
    const bool is_everywhere =
        std::all_of(uniform.nodes.begin(), uniform.nodes.end(),
                    [&](const auto& n) { return n.choice.scheme == c.scheme; });
    if (!is_everywhere || uniform.cost.bytes > bytes) continue;
    const double loss = evaluate(std::as_const(uniform));
    if (loss < best.loss) best = {std::move(uniform), loss, c.scheme};
  }
  return best;
}

}  // namespace tq
