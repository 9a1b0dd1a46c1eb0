// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/calibrate/lp.hpp.

#include <tq/calibrate/detail/lp_error.hpp>
#include <tq/calibrate/detail/range_search.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/error.hpp>
#include <tq/numeric/shortest_text.hpp>

namespace tq {

namespace detail {

TQ_CORE_API QuantizerGrid placed(QuantizerGrid grid, const Distribution& d) {
  if (grid.by == Decides::width) grid.middle = d.median() * d.unit();
  return grid;
}

template <std::same_as<Distribution> D>
TQ_CORE_API Range least_lp_error(const QuantizerGrid& anywhere, const D& d, Range seen,
                                 double norm) {
  const QuantizerGrid grid = placed(anywhere, d);
  const auto search = [&](const auto& primitive) {
    const LpError error(grid, d, norm, primitive);
    if (error.on_levels(grid.fit(seen))) return seen;
    RangeSearch best(grid, seen, d.width() * d.unit(), error);
    if (d.is_few_points()) best.try_parts();
    return best.best();
  };
  return norm == 2 ? search(SquarePrimitive{}) : search(PowerPrimitive(norm));
}

TQ_CORE_API void require_norm(double norm) {
  if (!(norm > 0 && norm <= 16))
    raise_expected(errc::bad_argument, "tq::LpCalibrator", {"a norm in (0, 16]"},
                   {shortest_text(norm)});
}

#ifdef TQ_KERNEL_LIBRARY
template Range least_lp_error(const QuantizerGrid&, const Distribution&, Range, double);
template Range lp_range(const QuantizerGrid&, const Histogram&, double);
#endif

}  // namespace detail

}  // namespace tq
