// SPDX-License-Identifier: MIT
#pragma once
// expected_loss: the loss of error feedback that steps of parameters lead to, before any weight is
// looked at.

#include <tq/core/detail/require_fit.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/ptq/detail/column_groups.hpp>
#include <tq/ptq/factor.hpp>

#include <cstddef>

namespace tq {

/// The damped loss of `gptq` for `outputs` rows if errors are spread evenly over steps and no
/// weight is clipped: the sum of D s^2 / 12 over all elements, s being their scales. Throws:
/// `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when the parameters do not fit.
template <IntegerParams Params>
[[nodiscard]] double expected_loss(const HessianFactor& factor, const Params& params,
                                   std::size_t outputs) {
  const Shape shape{outputs, factor.inputs()};
  detail::require_fit("tq::expected_loss", params, shape);
  const detail::ColumnGroups<Params> groups(params, shape);
  double loss = 0;
  for (std::size_t r = 0; r < outputs; ++r)
    for (std::size_t place = 0; place < factor.inputs(); ++place) {
      const double s = groups.affine(r, groups.group(factor.order()[place])).scale;
      loss += detail::uncontracted(factor.pivots()[place] * (s * s / 12));
    }
  return loss;
}

}  // namespace tq
