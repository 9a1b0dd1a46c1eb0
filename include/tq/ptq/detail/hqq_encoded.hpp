// SPDX-License-Identifier: MIT
#pragma once
// Half-quadratic quantization of weights in a scheme that is a value.

#include <tq/core/executor.hpp>
#include <tq/core/params_view.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ptq/detail/block_search.hpp>
#include <tq/ptq/detail/encoded_codes_of.hpp>
#include <tq/ptq/detail/encoded_rounding.hpp>
#include <tq/ptq/detail/hqq_offset.hpp>
#include <tq/ptq/weighted_search.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/encoded_layout.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/visit.hpp>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace tq::detail {

/// The sum of |w - w'|, w' being the values of `tensor`: half-quadratic splitting makes it small.
template <class Types, class ScaleTypes>
[[nodiscard]] double absolute_error(const ConstTensorView& view, const EncodedTensor& tensor) {
  const std::vector<float> values = decode<Types, ScaleTypes>(tensor);
  const std::size_t columns = view.shape()[1];
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<std::ptrdiff_t>(i / columns),
               column = static_cast<std::ptrdiff_t>(i % columns);
    const float w = view.data()[row * view.stride(0) + column * view.stride(1)];
    sum += std::fabs(static_cast<double>(w) - static_cast<double>(values[i]));
  }
  return sum;
}

/// Sets offsets of `tensor`, which has the parameters of ranges, to the best for `view` beside its
/// scales, and codes to the nearest.
template <class Types, class ScaleTypes, Backend B, Executor E>
void set_hqq_offsets(const ConstTensorView& view, const HqqOptions& options, EncodedTensor& tensor,
                     const EncodedLayout& layout, const E& executor) {
  using Block = BlockSearch<EncodedRounding<B>>;
  const Block prototype(EncodedRounding<B>::template of<Types, ScaleTypes>(tensor.spec, layout));
  const std::vector<double> importances(view.shape()[1], 1.0);
  visit_scale<ScaleTypes>(tensor.spec, [&]<class Scale>() {
    if constexpr (OffsetType<Scale> && PlainScaleType<Scale>) {
      using Moved = MovedOffset<Scale, EncodedAffine>;
      std::vector<typename Offsets<Scale>::stored_type> offsets(tensor.scales.size());
      search_blocks(StackedRows(view), importances, AnyGranularity(tensor.spec), prototype,
                    executor, [&](Block& block, std::size_t i) {
                      const EncodedAffine start{tensor.scales[i], 0, tensor.offsets[i]};
                      offsets[i] = hqq_offset(block, Moved(layout.codes, start), options).stored();
                    });
      tensor.offsets = Offsets<Scale>(std::move(offsets));
    } else {
      raise_expected(errc::unsupported, "tq::hqq", {"offsets that stand by themselves"},
                     {to_string(tensor.spec)});
    }
  });
  round_codes<Types, ScaleTypes, B>(view, tensor, layout, executor);
}

}  // namespace tq::detail
