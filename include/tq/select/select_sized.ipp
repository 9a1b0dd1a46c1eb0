// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/select/select_sized.hpp.

#include <tq/select/select_sized.hpp>

#include <limits>

namespace tq {

namespace detail {

TQ_API PrecisionSelection bounded_by(PrecisionSelection selection,
                                     const PrecisionSelection& first) {
  selection.bound = first.bound;
  selection.optimal = first.optimal && selection.cost.error == first.cost.error;
  const double over = selection.cost.error - first.bound;
  selection.gap = over <= 0         ? 0
                  : first.bound > 0 ? over / first.bound
                                    : std::numeric_limits<double>::infinity();
  return selection;
}

TQ_API void require_kept(const PrecisionSelection& s, const PrecisionCriteria& criteria) {
  const bool is_kept =
      (!criteria.max_error || s.cost.error <= *criteria.max_error) &&
      (!criteria.min_sqnr_db || s.sqnr_db() >= *criteria.min_sqnr_db) &&
      (!criteria.max_bits_per_weight || s.bits_per_weight() <= *criteria.max_bits_per_weight) &&
      (!criteria.min_speedup || s.speedup >= *criteria.min_speedup);
  if (!is_kept)
    raise(errc::bad_argument,
          "tq::select_sized: expected limits that a selection can keep; got a limit of bytes that "
          "only selections outside the other limits keep");
}

}  // namespace detail

}  // namespace tq
