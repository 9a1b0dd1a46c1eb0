// SPDX-License-Identifier: MIT
#pragma once
// bias_correction: what quantized weights change in the mean of outputs.

#include <tq/core/granularity.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/readable.hpp>
#include <tq/error.hpp>
#include <tq/numeric/rounding.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/detail/read_floats.hpp>
#include <tq/ptq/detail/column_groups.hpp>
#include <tq/ptq/detail/require_weights.hpp>
#include <tq/ptq/detail/unit_values.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tq {

/// Numbers [outputs] to be added to the bias of a layer, so that its outputs have the mean that
/// they have under float weights [outputs, inputs]: (W - W') times the mean of each input, which
/// is `means`. Throws: `errc::shape_mismatch` for other shapes; `errc::not_finite` for NaN or
/// infinite weights and means.
template <AnyParams Params, Readable X = ConstTensorView>
[[nodiscard]] std::vector<float> bias_correction(const X& weights,
                                                 const QuantizedTensor<Params>& tensor,
                                                 std::span<const double> means) {
  constexpr const char* function = "tq::bias_correction";
  const auto floats = detail::read_floats(function, weights);
  const auto& view = floats.view();
  if (view.shape().rank() != 2 || tensor.shape() != view.shape() || means.size() != view.shape()[1])
    detail::raise_expected(
        errc::shape_mismatch, function,
        {"weights and codes of one shape [outputs, inputs] and a mean of each input"},
        {view.shape().extents(), ", ", tensor.shape().extents(), " and ", means.size(), " means"});
  detail::require_weights(function, view, means.size());
  for (std::size_t c = 0; c < means.size(); ++c)
    if (!std::isfinite(means[c]))
      detail::raise_expected(errc::not_finite, function, {"finite means"},
                             {static_cast<float>(means[c]), " for input ", c});
  const std::vector<float> w = detail::row_major(view);
  const std::vector<double> units = detail::unit_values(tensor);
  const detail::ColumnGroups<Params> groups(tensor.params(), view.shape());
  std::vector<float> out(view.shape()[0]);
  for (std::size_t r = 0; r < out.size(); ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < means.size(); ++c) {
      const std::size_t i = r * means.size() + c;
      const auto affine = groups.affine(r, groups.group(c));
      double value = units[i] * static_cast<double>(affine.scale);  // exact
      if constexpr (Params::has_offset) value += static_cast<double>(affine.offset);
      sum += detail::uncontracted((static_cast<double>(w[i]) - value) * means[c]);
    }
    out[r] = static_cast<float>(sum);
  }
  return out;
}

/// The same with the means that an observer of the inputs [..., inputs] saw. Throws: as above;
/// `errc::no_data` where it saw none.
template <AnyParams Params, int Axis, class NonFinite, Readable X = ConstTensorView>
[[nodiscard]] std::vector<float> bias_correction(
    const X& weights, const QuantizedTensor<Params>& tensor,
    const Observer<MeanStd, PerChannel<Axis>, NonFinite>& inputs) {
  std::vector<double> means;
  for (const MeanStd& seen : inputs.accumulators()) {
    if (seen.empty())
      detail::raise_text(errc::no_data, {"tq::bias_correction: expected values of every input, but "
                                         "the observer saw none of input ",
                                         means.size()});
    means.push_back(seen.mean());
  }
  return bias_correction(weights, tensor, std::span<const double>(means));
}

}  // namespace tq
