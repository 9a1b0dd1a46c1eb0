// SPDX-License-Identifier: MIT
#pragma once
// tensor_scale: the float32 scale over the block scales of a tensor.

#include <tq/core/detail/read.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/options.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/detail/block_ranges.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace tq {

namespace detail {
// The largest finite magnitude of a tensor; 0 where there is none.
template <Backend B, Real T, Executor E>
[[nodiscard]] float largest_magnitude(const TensorView<const T>& x, const E& executor) {
  std::atomic<float> most = 0.0f;
  for_each_task(executor, x.shape(), x.shape(), x.strides(), x.strides(), [&](auto&& each) {
    float seen = 0;
    const auto add = [&](const float* floats, const Run& r, std::size_t, std::size_t) {
      constexpr std::size_t together = 64;
      float top[together];
      for (std::size_t k = 0; k < r.count; k += together) {
        const std::size_t count = std::min(together, r.count - k);
        B::abs_max::rows(floats + r.source + static_cast<std::ptrdiff_t>(k) * r.source_stride,
                         count, r.length, r.source_stride, top);
        seen = std::max(seen, *std::max_element(top, top + count));
      }
    };
    each([&](const Run& r) { for_each_widened<B>(x.data(), r, add); });
    for (float known = most; known < seen && !most.compare_exchange_weak(known, seen);) {
    }
  });
  return most;
}

// The body of `tensor_scale`.
template <AnyParams Params, Backend B, NumericsPolicy N, Real T, Executor E>
[[nodiscard]] float find_tensor_scale(const TensorView<const T>& x,
                                      const typename Params::granularity_type& granularity,
                                      const E& executor) {
  using Element = typename Params::type;
  using S = typename Params::symmetry_type;
  using Scale = Scales<typename Params::scale_type>;
  require_possible("tq::tensor_scale", granularity, x.shape());
  constexpr auto rules = scale_rules<Element, S, N>;
  if constexpr (!Params::has_zero_point) {  // whatever the blocks are
    const float most = largest_magnitude<B>(x, executor);
    return Scale::template tensor_scale_for<Element, S>(most, rules);
  } else {
    const auto ranges = block_ranges<B, Params>(x, granularity.block(x.shape()),
                                                param_count(granularity, x.shape()), executor);
    return Scale::template tensor_scale_of<Element, S>(std::span<const Range>(ranges), rules);
  }
}
}  // namespace detail

/// The scale of a tensor whose block scales are stored under one (NVFP4): of the block of
/// `x` whose codes must reach furthest. Float16, bfloat16, float64 and others
/// count as float32, NaN and infinities do not. Options: a granularity, numerics, an executor, a
/// backend. Throws: `errc::bad_axis`, `errc::bad_group_size` when the granularity does not fit.
template <AnyParams Params, Readable X = ConstTensorView, Option... O,
          Backend B = detail::backend_among<O...>>
  requires detail::is_two_level<typename Params::scale_type>
[[nodiscard]] float tensor_scale(const X& x, const O&... options) {
  using enum detail::OptionKind;
  const auto chosen = detail::choose<granularity, numerics, executor, backend>(options...);
  using Set = decltype(chosen);
  using N = std::remove_cvref_t<typename Set::template type<numerics, numerics_of<Params>>>;
  return detail::find_tensor_scale<Params, B, N>(
      detail::read(x).view(), chosen.template get<granularity, typename Params::granularity_type>(),
      chosen.executor());
}

// --- deprecated forms ---

template <AnyParams Params, Backend B, class... Args>
[[deprecated("tq::tensor_scale: pass tq::on<B> as an option")]] float tensor_scale(Args&&... args) {
  return tq::tensor_scale<Params>(std::forward<Args>(args)..., on<B>);
}
template <AnyParams Params, Readable X, Option... O, Backend B = detail::backend_among<O...>>
[[deprecated("tq::tensor_scale: leave {} out: options come in any order")]] float tensor_scale(
    const X& x, const detail::InBraces<typename Params::granularity_type>& granularity,
    const O&... options) {
  return tq::tensor_scale<Params>(x, granularity.value, options...);
}

}  // namespace tq
