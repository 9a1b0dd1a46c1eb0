// SPDX-License-Identifier: MIT
#pragma once
// Ranges, parameters and codes of every block: together while the block is in cache, or one after
// the other for all of them.

#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/detail/block_ranges.hpp>
#include <tq/ops/detail/dynamic_codes.hpp>
#include <tq/ops/detail/dynamic_params.hpp>
#include <tq/ops/detail/stored_planes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::detail {

// One pass over runs whose stretches are blocks.
template <Backend B, AnyParams Params, NumericsPolicy N, class Fit, class Codes>
class StretchPass {
 public:
  StretchPass(const Fit& fit, const Codes& codes, const ParamsOut<Params>& out) noexcept
      : fit_(fit), codes_(codes), out_(out) {}

  void operator()(const Run& r) const {
    SomeParams<B, Params, N> params;
    const std::size_t unit = codes_.together(r);
    const std::size_t step = std::clamp(cached / r.length / unit * unit, unit, params.most);
    if (r.count <= step) return quantize(r, params);  // a slice of a short run would take as long
    for (std::size_t k = 0; k < r.count; k += step) {
      const std::size_t end = std::min(k + step, r.count);
      for_each_slice(r, k * r.length, end * r.length,
                     [&](const Run& rows) { quantize(rows, params); });
    }
  }

 private:
  void quantize(const Run& rows, SomeParams<B, Params, N>& params) const {
    stretch_ranges<B, Params>(codes_.x.data(), rows, params.low, params.high);
    params.make(rows, fit_, out_);
    codes_.rows(rows, params.scales(), params.zero_points());
  }

  // Elements at a time: what stays in the second level, as every sweep over a few rows takes a
  // while to begin.
  static constexpr std::size_t cached = 32768;

  const Fit& fit_;
  const Codes& codes_;
  const ParamsOut<Params>& out_;
};

// One pass where blocks are stretches, enough for everyone, whose codes can be written by
// themselves. Not where a degenerate range throws: that must happen before anything is written, and
// not on a thread of the executor. Else returns false and has done nothing.
template <Backend B, AnyParams Params, NumericsPolicy N, class Fit, class Codes, Executor E>
[[nodiscard]] bool in_one_pass(const Codes& codes, const Shape& block, const Fit& fit,
                               const ParamsOut<Params>& out, const E& executor) {
  if constexpr (scales_may_throw<N> || !Codes::by_rows) {
    return false;
  } else {
    const auto& x = codes.x;
    const std::size_t slot_count = out.scales.size();
    if (!is_enough(slot_count, x.size(), executor)) return false;
    if (!blocks_are_stretches(x, block, codes.strides(), slot_count,
                              [&](const Run& r) { return codes.takes(r); }))
      return false;
    for_each_piece(
        x, block, codes.strides(), executor, [&](const Run& r) { return codes.together(r); },
        StretchPass<B, Params, N, Fit, Codes>(fit, codes, out));
    return true;
  }
}

// Codes to where `codes` puts them, parameters to `out`; fit(ranges) makes scales of the ranges of
// any blocks. Preconditions: the granularity is possible, and there is a place for everything.
template <Backend B, AnyParams Params, NumericsPolicy N, class Fit, class Codes, Executor E>
void quantize_by_blocks(const Codes& codes, const typename Params::granularity_type& granularity,
                        const Fit& fit, const ParamsOut<Params>& out, const E& executor) {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  const auto& x = codes.x;
  const Shape block = granularity.block(x.shape());
  if (x.size() != 0 && in_one_pass<B, Params, N>(codes, block, fit, out, executor)) return;
  const std::vector<Range> ranges = block_ranges<B, Params>(x, block, out.scales.size(), executor);
  const auto fitted = fit(std::span<const Range>(ranges));
  const std::vector<std::int32_t> zero_points = zero_points_for<T, S, N>(ranges, fitted.values());
  std::copy(fitted.stored().begin(), fitted.stored().end(), out.scales.begin());
  std::copy(zero_points.begin(), zero_points.end(), out.zero_points.begin());
  if (x.size() == 0) return;
  driver::Parameters params{.scales = scale_plane<B>(fitted)};
  if constexpr (Params::has_zero_point) params.origins = driver::plain<B>(zero_points.data());
  codes.all(block, params, executor);
}

}  // namespace tq::detail
