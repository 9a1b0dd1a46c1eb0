// SPDX-License-Identifier: MIT
#pragma once
// PrecisionPrior: what somebody expects of a kind of operation, for tensors of which nothing was
// measured.

#include <tq/error.hpp>
#include <tq/numeric/shortest_text.hpp>
#include <tq/select/precision_model.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tq {

/// The operation that a tensor is used in.
enum class OperationKind : std::uint8_t { matmul, conv2d, attention, relu, generic };

[[nodiscard]] constexpr std::string_view to_string(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::matmul: return "matmul";
    case OperationKind::conv2d: return "conv2d";
    case OperationKind::attention: return "attention";
    case OperationKind::relu: return "relu";
    case OperationKind::generic: break;
  }
  return "generic";
}

/// The expected effect of a scheme on operations of a kind. The caller has to supply the numbers.
struct PrecisionPrior {
  OperationKind kind = OperationKind::generic;
  std::string scheme;
  double error = 0;    ///< in the unit of the other errors
  double speedup = 1;  ///< against float
};

/// The prior for a scheme in operations of a kind, or for generic ones, or null.
[[nodiscard]] inline const PrecisionPrior* find_prior(std::span<const PrecisionPrior> priors,
                                                      OperationKind kind, std::string_view scheme) {
  const PrecisionPrior* generic = nullptr;
  for (const PrecisionPrior& p : priors) {
    if (p.scheme != scheme) continue;
    if (p.kind == kind) return &p;
    if (p.kind == OperationKind::generic && generic == nullptr) generic = &p;
  }
  return generic;
}

/// Adds a candidate by a prior, `Evidence::prior`, where the node does not have the scheme yet.
/// `bytes` is known without data (`encoded_layout`); its time is that of float over the speedup.
/// Returns whether it was added. Throws: `errc::bad_argument` for an error that is not finite or
/// negative, and a speedup that is not above 0; `errc::no_data` for a node without `float_scheme`.
inline bool add_prior(PrecisionNode& node, const PrecisionPrior& prior, std::uint64_t bytes) {
  if (!std::isfinite(prior.error) || prior.error < 0 || !std::isfinite(prior.speedup) ||
      !(prior.speedup > 0))
    detail::raise_expected(
        errc::bad_argument, "tq::add_prior", {"a finite error and a speedup above 0"},
        {detail::shortest_text(prior.error), " and ", detail::shortest_text(prior.speedup)});
  const PrecisionCandidate* plain = detail::find_candidate(node, float_scheme);
  if (plain == nullptr)
    detail::raise_expected(errc::no_data, "tq::add_prior",
                           {"the float candidate of ", detail::in_quotes(node.name)}, {"none"});
  if (detail::find_candidate(node, prior.scheme) != nullptr) return false;
  const double seconds = plain->seconds / prior.speedup;
  node.candidates.push_back({prior.scheme, bytes, prior.error, seconds, Evidence::prior});
  return true;
}

}  // namespace tq
