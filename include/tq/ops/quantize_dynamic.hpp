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
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// Parameters of an integer element with float32 scales: what can be written to a caller's arrays.
template <class P>
concept PlainParams = IntegerParams<P> && !OffsetParams<P> && std::same_as<typename P::scale_type, float>;

namespace detail {
// Whether a degenerate range may throw.
template <NumericsPolicy N>
inline constexpr bool scales_may_throw = !noexcept(N::degenerate_type::apply(0.0f));

// Null where the symmetry has none.
template <PlainParams Params>
[[nodiscard]] std::int32_t* zero_points_in(std::span<std::int32_t> zero_points) noexcept {
  return Params::has_zero_point ? zero_points.data() : nullptr;
}

// The parameters of one slot from its extremes; a slot without finite values gets those of zeros.
template <AnyParams Params, NumericsPolicy N>
[[nodiscard]] Affine dynamic_affine(const kernels::Extremes& e) {
  const Range range = e.min <= e.max ? Range{e.min, e.max} : Range{0.0f, 0.0f};
  return affine_for<typename Params::type, typename Params::symmetry_type, N>(range);
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

// The parameters of `n` ranges, `stride` apart, as `affine_for` has them: loops for vectors where the stride is 1, which is why
// zero points have their own, and ranges so wide that a code might become infinite another.
template <AnyParams Params, NumericsPolicy N>
void dynamic_affines(const float* low, const float* high, std::size_t n, float* scales, std::int32_t* zero_points, auto stride) {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  const auto range = [&](std::size_t k) { return Range{low[k], high[k]}; };
  for (std::size_t k = 0; k < n; ++k) scales[k * stride] = formula_for<T, S, N>(range(k)).scale;
  unsigned wide = 0;
  for (std::size_t k = 0; k < n; ++k) wide |= scales[k * stride] > always_finite<T, S> ? 1u : 0u;
  if (wide != 0)
    for (std::size_t k = 0; k < n; ++k) scales[k * stride] = finite_scale<T, S, N>(range(k), scales[k * stride]);
  if constexpr (Params::has_zero_point)
    for (std::size_t k = 0; k < n; ++k) zero_points[k * stride] = zero_point_for<T, S, N>(range(k), scales[k * stride]);
}

inline void extend(kernels::Extremes& a, const kernels::Extremes& b) noexcept {
  a.min = b.min < a.min ? b.min : a.min;
  a.max = b.max > a.max ? b.max : a.max;
}

// The extremes of every parameter block of `x`. Tasks of an executor keep some of their own, unless they are many.
template <Backend B, Executor E>
[[nodiscard]] std::vector<kernels::Extremes> block_extremes(const ConstTensorView& x, const Shape& block, std::size_t slots,
                                                            const E& executor) {
  std::vector<kernels::Extremes> seen(slots);
  const auto add = [&](const Run& r, kernels::Extremes* to) {
    if (r.step == 1 && r.param_stride == 0) {
      B::min_max::columns(x.data() + r.source, r.count, r.length, r.source_stride, to + r.param);
      return;
    }
    for (std::size_t k = 0; k < r.count; ++k) {
      const float* at = x.data() + r.source + static_cast<std::ptrdiff_t>(k) * r.source_stride;
      const std::size_t slot = r.param + k * r.param_stride;
      if (r.step == 0)
        extend(to[slot], B::min_max::run(at, r.length));
      else
        B::min_max::columns(at, 1, r.length, 0, to + slot);
    }
  };
  if (is_one_task(executor, x.size()) || slots > task_size / 8) {
    for_each_run(x.shape(), block, x.strides(), x.strides(), [&](const Run& r) { add(r, seen.data()); });
    return seen;
  }
  std::mutex merging;
  for_each_task(executor, x.shape(), block, x.strides(), x.strides(), [&](auto&& each) {
    std::vector<kernels::Extremes> part(slots);
    each([&](const Run& r) { add(r, part.data()); });
    const std::lock_guard lock(merging);
    for (std::size_t i = 0; i < slots; ++i) extend(seen[i], part[i]);
  });
  return seen;
}

struct AnyRun {
  constexpr bool operator()(const Run&) const noexcept { return true; }
};

// True where every parameter block of `x` is one stretch of memory, of a run that `fits`.
template <class Fits = AnyRun>
[[nodiscard]] bool blocks_are_stretches(const ConstTensorView& x, const Shape& block, const Strides& target, std::size_t slots,
                                        const Fits& fits = {}) {
  std::size_t elements = 0, stretches = 0;
  for_each_run(x.shape(), block, x.strides(), target, [&](const Run& r) {
    stretches += r.count;
    if (r.step == 0 && (r.count == 1 || r.param_stride != 0) && fits(r)) elements += r.size();
  });
  return elements == x.size() && stretches == slots;
}

// The parameters of every block of `x`, in a pass of their own. Throws before any is written.
template <PlainParams Params, Backend B, NumericsPolicy N, Executor E>
void dynamic_params(const ConstTensorView& x, const Shape& block, std::span<float> scales, std::span<std::int32_t> zero_points,
                    const E& executor) {
  const std::vector<kernels::Extremes> seen = block_extremes<B>(x, block, scales.size(), executor);
  if constexpr (scales_may_throw<N>)
    for (const kernels::Extremes& e : seen) (void)dynamic_affine<Params, N>(e);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const Affine a = dynamic_affine<Params, N>(seen[i]);
    scales[i] = a.scale;
    if constexpr (Params::has_zero_point) zero_points[i] = a.zero_point;
  }
}

// Throws unless the granularity is possible over `shape`, and there is a place for every parameter.
template <PlainParams Params>
void require_dynamic(const Shape& shape, const typename Params::granularity_type& granularity, std::span<float> scales,
                     std::span<std::int32_t> zero_points) {
  require_possible("tq::quantize_dynamic", granularity, shape);
  const std::size_t slots = param_count(granularity, shape);
  require_size("tq::quantize_dynamic", "scales", slots, scales.size());
  require_size("tq::quantize_dynamic", "zero points", Params::has_zero_point ? slots : 0, zero_points.size());
}

// Range and codes of every block in one go, while it is in cache: where all are stretches of runs that `fit`, and enough for
// everyone. Not where a degenerate range throws: that must happen before anything is written, and not on a thread of the
// executor. Otherwise returns false and has done nothing. encode(run, span) writes the codes of whole stretches.
template <PlainParams Params, Backend B, NumericsPolicy N, Executor E, class Fits, class Encode>
[[nodiscard]] bool dynamic_stretches(const ConstTensorView& x, const Shape& block, const Strides& target,
                                     std::span<float> scales, std::span<std::int32_t> zero_points, bool streaming,
                                     const E& executor, const Fits& fits, const Encode& encode) {
  if constexpr (scales_may_throw<N>) return false;
  if (!is_one_task(executor, x.size()) && scales.size() < executor.concurrency()) return false;
  if (!blocks_are_stretches(x, block, target, scales.size(), fits)) return false;
  std::int32_t* zeros = zero_points_in<Params>(zero_points);
  // `more`: what follows in memory comes next, and is fetched while these are encoded.
  const auto encode_rows = [&](const Run& r, std::size_t begin, std::size_t end, bool more, float* low, float* high) {
    for_each_slice(r, begin * r.length, end * r.length, [&](const Run& rows) {
      stretch_ranges<B, Params>(x.data(), rows, low, high);
      float* scale = scales.data() + rows.param;
      std::int32_t* zero = Params::has_zero_point ? zeros + rows.param : nullptr;
      if (rows.param_stride == 1)
        dynamic_affines<Params, N>(low, high, rows.count, scale, zero, std::integral_constant<std::size_t, 1>{});
      else
        dynamic_affines<Params, N>(low, high, rows.count, scale, zero, rows.param_stride);
      kernels::Span span = kernel_span(rows, scales.data(), zeros);
      span.next = more ? static_cast<std::ptrdiff_t>(end - begin) * r.source_stride : 0;
      encode(rows, span);
    });
  };
  // Elements at a time: from memory what stays in the first level, and what comes next beside it; else in the second,
  // as every call for a few rows waits for their reciprocals.
  const std::size_t cached = std::size_t{1} << (streaming ? 12 : 15);
  constexpr std::size_t most = 1024;  // rows at a time
  // Each run is cut into whole stretches, so the executor's pieces never share a slot.
  for_each_run(x.shape(), block, x.strides(), target, [&](const Run& r) {
    const std::size_t rows = std::max<std::size_t>(1, task_size / r.length);
    const std::size_t step = std::clamp<std::size_t>(cached / r.length, 1, most);
    executor((r.count + rows - 1) / rows, [&](std::size_t task) {
      float low[most], high[most];
      const std::size_t end = std::min(task * rows + rows, r.count);
      for (std::size_t k = task * rows; k < end; k += step)
        encode_rows(r, k, std::min(k + step, end), streaming && k + step < end, low, high);
    });
  });
  return true;
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
  const Shape block = granularity.block(x.shape());
  const bool streaming = arch::worth_streaming(x.size() * (sizeof(float) + sizeof(typename Params::code_type)));
  const auto encode = [&](const Run& r, const kernels::Span& span) {
    detail::quantize_span<B, Params>(x.data() + r.source, out.data() + r.target, span, numerics,
                                     static_cast<std::uint64_t>(r.target), streaming);
  };
  if (detail::dynamic_stretches<Params, B, N>(x, block, out.strides(), scales, zero_points, streaming, executor, detail::AnyRun{},
                                              encode))
    return;
  detail::dynamic_params<Params, B, N>(x, block, scales, zero_points, executor);
  detail::quantize_codes<B, Params, Unpacked>(
      x, block, detail::array_parameters<typename B::arch>(scales.data(), detail::zero_points_in<Params>(zero_points)),
      out.data(), out.strides(), numerics, executor);
}

/// As above, for arguments that may not fit. `out` may also be a span of x.size() codes.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit;
/// `errc::not_finite` under `NanRaises`; `errc::bad_scale` under `ScaleRaises`. Nothing is written then.
template <PlainParams Params, Backend B = default_backend, NumericsPolicy N = numerics::onnx, Executor E = Serial>
void quantize_dynamic(const ConstTensorView& x, typename Params::granularity_type granularity,
                      TensorView<typename Params::code_type> out, std::span<float> scales,
                      std::span<std::int32_t> zero_points, const N& numerics = {}, const E& executor = {}) {
  detail::require_dynamic<Params>(x.shape(), granularity, scales, zero_points);
  detail::shape_as("tq::quantize_dynamic", "an output", out, x.shape());
  detail::require_no_nan<B, N>("tq::quantize_dynamic", x);
  quantize_dynamic_unchecked<Params, B>(x, granularity, out, scales, zero_points, numerics, executor);
}

/// As above, with codes packed by `Pack` into `bytes`, row-major: as many as QuantizedTensor has for the shape of x.
template <PlainParams Params, Packing Pack = LowFirst, Backend B = default_backend, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
void quantize_dynamic(const ConstTensorView& x, typename Params::granularity_type granularity, std::span<std::byte> bytes,
                      std::span<float> scales, std::span<std::int32_t> zero_points, const N& numerics = {},
                      const E& executor = {}) {
  using type = typename Params::type;
  detail::require_dynamic<Params>(x.shape(), granularity, scales, zero_points);
  detail::require_size("tq::quantize_dynamic", "bytes of codes", Pack::template bytes_for<type>(x.size()), bytes.size());
  detail::require_no_nan<B, N>("tq::quantize_dynamic", x);
  if constexpr (is_unpacked<Pack, type>) {
    const TensorView<typename Params::code_type> out(reinterpret_cast<typename Params::code_type*>(bytes.data()), x.shape());
    quantize_dynamic_unchecked<Params, B>(x, granularity, out, scales, zero_points, numerics, executor);
    return;
  }
  const Shape block = granularity.block(x.shape());
  if constexpr (Pack::order == BitOrder::low_first && (type::bits == 4 || type::bits == 2)) {
    const bool streaming = arch::worth_streaming(x.size() * sizeof(float));
    const auto in_whole_bytes = [](const Run& r) {
      constexpr std::size_t codes = 8 / type::bits;  // of a byte
      return static_cast<std::size_t>(r.target) % codes == 0 && r.length % codes == 0 &&
             (r.count == 1 || r.target_stride == static_cast<std::ptrdiff_t>(r.length));
    };
    const auto encode = [&](const Run& r, const kernels::Span& span) {
      detail::quantize_span<B, Params, Pack>(x.data() + r.source, bytes.data() + kernels::byte_of<type::bits>(r.target), span,
                                             numerics, static_cast<std::uint64_t>(r.target), streaming);
    };
    if (detail::dynamic_stretches<Params, B, N>(x, block, row_major_strides(x.shape()), scales, zero_points, streaming,
                                                executor, in_whole_bytes, encode))
      return;
  }
  detail::dynamic_params<Params, B, N>(x, block, scales, zero_points, executor);
  detail::quantize_packed<B, Params, Pack>(
      x, block, detail::array_parameters<typename B::arch>(scales.data(), detail::zero_points_in<Params>(zero_points)), bytes,
      numerics, executor);
}

/// As above, with everything in a new tensor packed by `Pack`.
template <PlainParams Params, Packing Pack = LowFirst, Backend B = default_backend,
          NumericsPolicy N = numerics::onnx, Executor E = Serial>
[[nodiscard]] QuantizedTensor<Params, Pack> quantize_dynamic(
    const ConstTensorView& x, typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}, const E& executor = {}) {
  detail::require_possible("tq::quantize_dynamic", granularity, x.shape());
  const std::size_t slots = param_count(granularity, x.shape());
  std::vector<float> scales(slots);
  std::vector<std::int32_t> zero_points(Params::has_zero_point ? slots : 0);
  Buffer<std::byte> bytes(Pack::template bytes_for<typename Params::type>(x.size()));
  quantize_dynamic<Params, Pack, B>(x, granularity, bytes.span(), std::span(scales), std::span(zero_points), numerics,
                                    executor);
  return {x.shape(), make_params<Params>(granularity, std::move(scales), zero_points), std::move(bytes)};
}

}  // namespace tq
