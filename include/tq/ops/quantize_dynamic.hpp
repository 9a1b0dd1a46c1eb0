// SPDX-License-Identifier: MIT
#pragma once
// quantize_dynamic: range and codes together, for values that are known only at run time (activations).

#include <tq/core/quantized_tensor.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// Parameters of an integer element with float32 scales: what can be written to a caller's arrays.
template <class P>
concept PlainParams = IntegerParams<P> && std::same_as<typename P::scale_type, float>;

namespace detail {
// The parameters of one slot from its extremes; a slot without finite values gets those of zeros.
template <AnyParams Params, NumericsPolicy N>
[[nodiscard]] Affine dynamic_affine(const kernels::Extremes& e) {
  const Range range = e.min <= e.max ? Range{e.min, e.max} : Range{0.0f, 0.0f};
  return Params::symmetry_type::template affine<typename Params::type, typename N::degenerate_type>(range);
}

// Whether the parameters of a range depend on nothing but its largest magnitude.
template <PlainParams Params>
inline constexpr bool ranges_by_magnitude =
    Params::type::qmin < 0 && (std::same_as<typename Params::symmetry_type, Symmetric> ||
                               std::same_as<typename Params::symmetry_type, SymmetricNarrow>);

// The range of every stretch of a run; of one without finite values that of zeros.
template <Backend B, PlainParams Params>
void stretch_ranges(const float* x, const Run& run, float* low, float* high) noexcept {
  if constexpr (ranges_by_magnitude<Params>) {
    B::abs_max::rows(x + run.source, run.count, run.length, run.source_stride, high);
    for (std::size_t k = 0; k < run.count; ++k) low[k] = -high[k];
  } else {
    B::min_max::rows(x + run.source, run.count, run.length, run.source_stride, low, high);
    for (std::size_t k = 0; k < run.count; ++k) {
      const float l = low[k], h = high[k];
      const bool none = l > h;
      low[k] = none ? 0.0f : l;
      high[k] = none ? 0.0f : h;
    }
  }
}

// The parameters of `n` ranges, `stride` apart: loops for vectors where the stride is 1, which is why zero points have their
// own.
template <AnyParams Params, NumericsPolicy N>
void dynamic_affines(const float* low, const float* high, std::size_t n, float* scales, std::int32_t* zero_points, auto stride) {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  const auto affine = [&](std::size_t k) { return S::template affine<T, typename N::degenerate_type>({low[k], high[k]}); };
  for (std::size_t k = 0; k < n; ++k) scales[k * stride] = affine(k).scale;
  if constexpr (Params::has_zero_point) {
    for (std::size_t k = 0; k < n; ++k) {
      if constexpr (requires { S::template zero_point<T>(Range{}, 1.0f); })
        zero_points[k * stride] = S::template zero_point<T>({low[k], high[k]}, scales[k * stride]);
      else
        zero_points[k * stride] = affine(k).zero_point;
    }
  }
}

inline void extend(kernels::Extremes& a, const kernels::Extremes& b) noexcept {
  a.min = b.min < a.min ? b.min : a.min;
  a.max = b.max > a.max ? b.max : a.max;
}

// The extremes of every parameter block of `x`.
template <Backend B>
[[nodiscard]] std::vector<kernels::Extremes> block_extremes(const ConstTensorView& x, const Shape& block, std::size_t slots) {
  std::vector<kernels::Extremes> seen(slots);
  for_each_run(x.shape(), block, x.strides(), x.strides(), [&](const Run& r) {
    if (r.step == 1 && r.param_stride == 0) {
      B::min_max::columns(x.data() + r.source, r.count, r.length, r.source_stride, seen.data() + r.param);
      return;
    }
    for (std::size_t k = 0; k < r.count; ++k) {
      const float* at = x.data() + r.source + static_cast<std::ptrdiff_t>(k) * r.source_stride;
      const std::size_t slot = r.param + k * r.param_stride;
      if (r.step == 0)
        extend(seen[slot], B::min_max::run(at, r.length));
      else
        B::min_max::columns(at, 1, r.length, 0, seen.data() + slot);
    }
  });
  return seen;
}

// True where every parameter block of `x` is one stretch of memory.
[[nodiscard]] inline bool blocks_are_stretches(const ConstTensorView& x, const Shape& block, const Strides& target,
                                               std::size_t slots) {
  std::size_t elements = 0, stretches = 0;
  for_each_run(x.shape(), block, x.strides(), target, [&](const Run& r) {
    stretches += r.count;
    if (r.step == 0 && (r.count == 1 || r.param_stride != 0)) elements += r.size();
  });
  return elements == x.size() && stretches == slots;
}
}  // namespace detail

/// Finds the range of every block of `x` and writes its codes to `out`; where a block lies in one stretch
/// (a row, a group) while it is still in cache. NaN and infinities do not count for the range.
/// Preconditions: `granularity.check(x.shape()) == errc::ok`, the shapes are equal, `scales` (and
/// `zero_points`, where the symmetry has them) have one entry per parameter, the memory does not overlap.
/// Throws: `errc::bad_scale` under `ScaleRaises`.
template <PlainParams Params, Backend B = default_backend, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void quantize_dynamic_unchecked(const ConstTensorView& x, const typename Params::granularity_type& granularity,
                                const TensorView<typename Params::code_type>& out, std::span<float> scales,
                                std::span<std::int32_t> zero_points, const N& numerics = {},
                                const E& executor = {}) {
  using code_type = typename Params::code_type;
  const Shape& shape = x.shape();
  const std::size_t slots = scales.size();
  if (shape.size() == 0) {  // a tensor without elements may still have parameters
    for (std::size_t i = 0; i < slots; ++i) {
      const Affine a = detail::dynamic_affine<Params, N>({});
      scales[i] = a.scale;
      if constexpr (Params::has_zero_point) zero_points[i] = a.zero_point;
    }
    return;
  }

  const Shape block = granularity.block(shape);
  const auto set = [&](std::size_t slot, const kernels::Extremes& e) {
    const Affine a = detail::dynamic_affine<Params, N>(e);
    scales[slot] = a.scale;
    if constexpr (Params::has_zero_point) zero_points[slot] = a.zero_point;
  };
  const bool streaming = arch::worth_streaming(x.size() * (sizeof(float) + sizeof(code_type)));
  const auto encode = [&](const Run& r, std::ptrdiff_t next) {
    kernels::Span span = detail::kernel_span(r, scales.data(), Params::has_zero_point ? zero_points.data() : nullptr);
    span.next = next;
    B::template quantize<code_type, N>::run(x.data() + r.source, out.data() + r.target, span, detail::kernel_codes<Params>,
                                            numerics, static_cast<std::uint64_t>(r.target), streaming);
  };

  // One stretch, one slot: range and codes of a stretch in one go. Not where a degenerate range throws: that
  // must happen before anything is written, and not on a thread of the executor.
  constexpr bool may_throw = !noexcept(N::degenerate_type::apply(0.0f));
  if (!may_throw && detail::blocks_are_stretches(x, block, out.strides(), slots)) {
    // `more`: what follows in memory comes next, and is fetched while these are encoded.
    const auto encode_rows = [&](const Run& r, std::size_t begin, std::size_t end, bool more, float* low, float* high) {
      for_each_slice(r, begin * r.length, end * r.length, [&](const Run& rows) {
        detail::stretch_ranges<B, Params>(x.data(), rows, low, high);
        float* scale = scales.data() + rows.param;
        std::int32_t* zero = Params::has_zero_point ? zero_points.data() + rows.param : nullptr;
        if (rows.param_stride == 1)
          detail::dynamic_affines<Params, N>(low, high, rows.count, scale, zero, std::integral_constant<std::size_t, 1>{});
        else
          detail::dynamic_affines<Params, N>(low, high, rows.count, scale, zero, rows.param_stride);
        encode(rows, more ? static_cast<std::ptrdiff_t>(end - begin) * r.source_stride : 0);
      });
    };
    // Elements at a time: from memory what stays in the first level, and what comes next beside it; else in the second,
    // as every call for a few rows waits for their reciprocals.
    const std::size_t cached = std::size_t{1} << (streaming ? 12 : 15);
    constexpr std::size_t most = 1024;  // rows at a time
    // Each run is cut into whole stretches, so the executor's pieces never share a slot.
    for_each_run(shape, block, x.strides(), out.strides(), [&](const Run& r) {
      const std::size_t rows = std::max<std::size_t>(1, detail::task_size / r.length);
      const std::size_t step = std::clamp<std::size_t>(cached / r.length, 1, most);
      executor((r.count + rows - 1) / rows, [&](std::size_t task) {
        float low[most], high[most];
        const std::size_t end = std::min(task * rows + rows, r.count);
        for (std::size_t k = task * rows; k < end; k += step)
          encode_rows(r, k, std::min(k + step, end), streaming && k + step < end, low, high);
      });
    });
    return;
  }

  // A slot is spread over several stretches: one pass for the ranges, one for the codes.
  const std::vector<kernels::Extremes> seen = detail::block_extremes<B>(x, block, slots);
  if constexpr (may_throw)
    for (const kernels::Extremes& e : seen) (void)detail::dynamic_affine<Params, N>(e);
  for (std::size_t i = 0; i < slots; ++i) set(i, seen[i]);
  detail::for_each_task(executor, shape, block, x.strides(), out.strides(),
                        [&](auto&& each) { each([&](const Run& r) { encode(r, 0); }); });
}

/// As above, for arguments that may not fit. `out` may also be a span of x.size() codes.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit;
/// `errc::not_finite` under `NanRaises`; `errc::bad_scale` under `ScaleRaises`. Nothing is written then.
template <PlainParams Params, Backend B = default_backend, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void quantize_dynamic(const ConstTensorView& x, typename Params::granularity_type granularity,
                      TensorView<typename Params::code_type> out, std::span<float> scales,
                      std::span<std::int32_t> zero_points, const N& numerics = {}, const E& executor = {}) {
  const Shape& shape = x.shape();
  detail::require_granularity("tq::quantize_dynamic", granularity, shape);
  detail::shape_as("tq::quantize_dynamic", "an output", out, shape);
  const std::size_t slots = param_count(granularity, shape);
  detail::require_size("tq::quantize_dynamic", "scales", slots, scales.size());
  detail::require_size("tq::quantize_dynamic", "zero points", Params::has_zero_point ? slots : 0,
                       zero_points.size());
  detail::require_no_nan<N>("tq::quantize_dynamic", x);
  quantize_dynamic_unchecked<Params, B>(x, granularity, out, scales, zero_points, numerics, executor);
}

/// As above, with everything in a new tensor packed by `Pack`.
template <PlainParams Params, Packing Pack = LowFirst, Backend B = default_backend,
          NumericsPolicy N = numerics::onnx, Executor E = Serial>
[[nodiscard]] QuantizedTensor<Params, Pack> quantize_dynamic(
    const ConstTensorView& x, typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}, const E& executor = {}) {
  using code_type = typename Params::code_type;
  detail::require_granularity("tq::quantize_dynamic", granularity, x.shape());
  const std::size_t slots = param_count(granularity, x.shape());
  std::vector<float> scales(slots);
  std::vector<std::int32_t> zero_points(Params::has_zero_point ? slots : 0);
  Buffer<code_type> codes(x.size());
  quantize_dynamic<Params, B>(x, granularity, TensorView<code_type>(codes.data(), x.shape()), std::span(scales),
                              std::span(zero_points), numerics, executor);
  QuantizedTensor<Params, Pack> out(
      x.shape(), make_params<Params>(granularity, std::move(scales), std::move(zero_points)));
  pack_unchecked<typename Params::type, Pack, B>(codes.span(), out.bytes());
  return out;
}

}  // namespace tq
