// SPDX-License-Identifier: MIT
#pragma once
// FakeQuantizeState: what a FakeQuantize layer stores to go on from.

#include <tq/core/quant_params.hpp>
#include <tq/error.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/observe/observer.hpp>
#include <tq/train/detail/learned_slots.hpp>
#include <tq/train/gradient.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace tq {

/// All of a layer that changes in training. Calibrator and numerics belong to the one who restores.
template <AnyParams Params, Accumulator Acc>
struct FakeQuantizeState {
  std::optional<Params> params;  ///< none before the first batch
  std::vector<float> learned;    ///< as `FakeQuantize::learned`
  bool observes = true, quantizes = true, learns = true;
  std::uint64_t delay = 0, batches = 0;
  Observer<Acc, typename Params::granularity_type> observer;
};

namespace detail {

template <GradientPolicy Gradient, AnyParams Params, Accumulator Acc>
void require_learned(const FakeQuantizeState<Params, Acc>& s, const std::string& where) {
  const std::size_t expected = s.params ? s.params->scales().size() * Gradient::learned : 0;
  if (s.learned.size() != expected)
    raise_expected(errc::malformed, where, {expected, " learned parameters"}, {s.learned.size()});
  for (const float v : s.learned)
    if (!std::isfinite(v))
      raise_expected(errc::malformed, where, {"finite learned parameters"}, {v});
}

template <AnyParams Params, Accumulator Acc>
void require_observer(const FakeQuantizeState<Params, Acc>& s, const std::string& where) {
  if (!s.params) return;
  if (!(s.params->granularity() == s.observer.granularity()))
    raise_expected(errc::malformed, where, {"parameters of the observer's granularity"},
                   {"parameters of another"});
  const std::size_t slot_count = s.params->scales().size(), observed = s.observer.slot_count();
  if (observed != 0 && observed != slot_count)
    raise_expected(errc::malformed, where, {"an observer of ", slot_count, " slots"}, {observed});
}

// Precondition: there are parameters, and as many learned ones as they need.
template <LearningGradient Gradient, AnyParams Params, Accumulator Acc>
void require_params(const FakeQuantizeState<Params, Acc>& s, const std::string& where) {
  for (std::size_t i = 0; i < s.params->scales().size(); ++i) {
    const Affine stored = s.params->affine(i),
                 own = LearnedSlots<Gradient, Params>::affine(s.learned, i);
    // Logarithms of other machines may differ in the last bits.
    if (!(std::fabs(stored.scale - own.scale) <= 1e-5f * stored.scale &&
          std::abs(stored.zero_point - own.zero_point) <= 1))
      raise_expected(errc::malformed, where, {"the parameters that were learned"},
                     {"others in slot ", i});
  }
}

// Throws: `errc::malformed`, with a message that begins with `where`, when parameters, learned
// parameters and observer do not belong together.
template <GradientPolicy Gradient, AnyParams Params, Accumulator Acc>
void require_consistent(const FakeQuantizeState<Params, Acc>& s, const std::string& where) {
  require_learned<Gradient>(s, where);
  require_observer(s, where);
  if constexpr (LearningGradient<Gradient>)
    if (s.params) require_params<Gradient>(s, where);
}

}  // namespace detail

}  // namespace tq
