// SPDX-License-Identifier: MIT
#pragma once
// quantize_dynamic for floats and code books: scales of any type and packed codes together.

#include <tq/core/quantized_tensor.hpp>
#include <tq/core/tasks.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/decoded_params.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// Scales that depend on nothing but their own block.
template <class Scale>
inline constexpr bool is_local_scale = std::same_as<Scale, float> || CodedElement<Scale>;

// Codes of scales by a backend's kernel; see `EncodeOneByOne`.
template <Backend B>
struct EncodeBatches {
  template <CodedElement E>
  static void codes(std::span<const float> scales, std::span<typename E::code_type> out) noexcept {
    cast_to<E, B>(scales, out);
  }
};

template <ScaleType Scale>
using stored_scale = typename Scales<Scale>::stored_type;

// The largest finite magnitude of every parameter block.
template <Backend B, Executor E>
[[nodiscard]] std::vector<Range> block_magnitudes(const ConstTensorView& x, const Shape& block, std::size_t slots,
                                                  const E& executor) {
  std::vector<Range> ranges(slots, Range{0.0f, 0.0f});
  if (!blocks_are_stretches(x, block, x.strides(), slots)) {
    const std::vector<kernels::Extremes> seen = block_extremes<B>(x, block, slots, executor);
    for (std::size_t i = 0; i < slots; ++i)
      if (seen[i].min <= seen[i].max) ranges[i] = {seen[i].min, seen[i].max};
    return ranges;
  }
  std::vector<float> top(slots);
  for_each_run(x.shape(), block, x.strides(), x.strides(), [&](const Run& r) {
    const std::size_t rows = std::max<std::size_t>(1, task_size / r.length);
    executor((r.count + rows - 1) / rows, [&](std::size_t task) {
      const std::size_t first = task * rows, count = std::min(rows, r.count - first);
      B::abs_max::rows(x.data() + r.source + static_cast<std::ptrdiff_t>(first) * r.source_stride, count, r.length,
                       r.source_stride, top.data() + r.param + first);
    });
  });
  for (std::size_t i = 0; i < slots; ++i) ranges[i] = {-top[i], top[i]};
  return ranges;
}

// One pass over a tensor that is a single run of stretches, whose scales `fit` makes from their own ranges.
template <Backend B, CodedParams Params, Packing Pack, NumericsPolicy N, Executor E, class Fit>
void quantize_stretches(const float* x, const Run& run, unsigned char* bytes,
                        std::span<stored_scale<typename Params::scale_type>> stored, const Fit& fit, const N& n,
                        const E& executor) {
  using T = typename Params::type;
  constexpr std::size_t cached = 8192;  // elements that stay in the first level
  constexpr int code_bits = bits_in_memory<T, Pack>;
  // Eight stretches end on a whole byte, whatever their length is.
  const std::size_t step = std::max<std::size_t>(8, cached / run.length / 8 * 8);
  const std::size_t rows = std::max(step, task_size / run.length / 8 * 8);
  executor((run.count + rows - 1) / rows, [&](std::size_t task) {
    std::vector<float> top(step);
    std::vector<Range> ranges(step);
    const std::size_t end = std::min((task + 1) * rows, run.count);
    for (std::size_t first = task * rows; first < end; first += step) {
      const std::size_t count = std::min(step, end - first);
      for_each_slice(run, first * run.length, (first + count) * run.length, [&](Run r) {
        B::abs_max::rows(x + r.source, r.count, r.length, r.source_stride, top.data());
        for (std::size_t k = 0; k < r.count; ++k) ranges[k] = {-top[k], top[k]};
        const auto fitted = fit(std::span<const Range>(ranges).first(r.count));
        std::copy_n(fitted.stored().begin(), r.count, stored.begin() + static_cast<std::ptrdiff_t>(r.param));
        const SideBySide<B, Scales<typename Params::scale_type>> scales(fitted);
        r.param = 0;
        const kernels::Span span = kernel_span(r, scales.data(), nullptr);
        const auto place = static_cast<std::uint64_t>(r.target);
        // Packed codes of stretches that follow one another are a row's.
        const bool is_row = r.source_stride == static_cast<std::ptrdiff_t>(r.length);
        if (is_unpacked<Pack, T> || is_row || r.length * T::bits % 8 == 0) {
          quantize_span<B, Params, Pack>(x + r.source, bytes + driver::detail::bytes_to(r.target, code_bits), span, n, place,
                                         false);
          return;
        }
        std::vector<typename Params::code_type> codes(r.size());
        quantize_span<B, Params>(x + r.source, codes.data(), span, n, place, false);
        pack_unchecked<T, Pack, B>(codes, std::as_writable_bytes(std::span(bytes + driver::detail::bytes_to(r.target, code_bits),
                                                                           Pack::template bytes_for<T>(r.size()))));
      });
    }
  });
}

// The range of every parameter block, whatever the shape.
template <Backend B, AnyParams Params, Executor E>
[[nodiscard]] std::vector<Range> ranges_of_blocks(const ConstTensorView& x, const typename Params::granularity_type& granularity,
                                                  const E& executor) {
  const std::size_t slots = param_count(granularity, x.shape());
  if (x.size() == 0) return std::vector<Range>(slots, Range{0.0f, 0.0f});
  return block_magnitudes<B>(x, granularity.block(x.shape()), slots, executor);
}

// Codes into `bytes` and stored scales into `stored`; fit(ranges) makes scales from the ranges of any blocks.
template <Backend B, CodedParams Params, Packing Pack, NumericsPolicy N, Executor E, class Fit>
void quantize_blocks(const ConstTensorView& x, const typename Params::granularity_type& granularity, std::span<std::byte> bytes,
                     std::span<stored_scale<typename Params::scale_type>> stored, const Fit& fit, const N& n,
                     const E& executor) {
  const Shape& shape = x.shape();
  require_possible("tq::quantize_dynamic", granularity, shape);
  const std::size_t slots = param_count(granularity, shape);
  require_size("tq::quantize_dynamic", "scales", slots, stored.size());
  require_size("tq::quantize_dynamic", "bytes of codes", Pack::template bytes_for<typename Params::type>(x.size()), bytes.size());
  require_no_nan<B, N>("tq::quantize_dynamic", x);
  if (x.size() != 0 && !scales_may_throw<N>) {
    std::size_t runs = 0;
    Run run;
    const auto first = [&](const Run& r) {
      run = r;
      return ++runs == 1;
    };
    if (blocks_are_stretches(x, granularity.block(shape), row_major_strides(shape), slots, first)) {
      quantize_stretches<B, Params, Pack>(x.data(), run, reinterpret_cast<unsigned char*>(bytes.data()), stored, fit, n,
                                          executor);
      return;
    }
  }
  const auto fitted = fit(std::span<const Range>(ranges_of_blocks<B, Params>(x, granularity, executor)));
  std::copy(fitted.stored().begin(), fitted.stored().end(), stored.begin());
  if (x.size() == 0) return;
  const SideBySide<B, Scales<typename Params::scale_type>> scales(fitted);
  quantize_packed<B, Params, Pack>(x, granularity.block(shape), array_parameters<typename B::arch>(scales.data(), nullptr),
                                   bytes, n, executor);
}

// The largest finite magnitude of a tensor; 0 where there is none.
template <Backend B, Executor E>
[[nodiscard]] float largest_magnitude(const ConstTensorView& x, const E& executor) {
  std::atomic<float> most = 0.0f;
  for_each_task(executor, x.shape(), x.shape(), x.strides(), x.strides(), [&](auto&& each) {
    float seen = 0;
    each([&](const Run& r) {
      constexpr std::size_t together = 64;
      float top[together];
      for (std::size_t k = 0; k < r.count; k += together) {
        const std::size_t count = std::min(together, r.count - k);
        B::abs_max::rows(x.data() + r.source + static_cast<std::ptrdiff_t>(k) * r.source_stride, count, r.length,
                         r.source_stride, top);
        seen = std::max(seen, *std::max_element(top, top + count));
      }
    });
    for (float known = most; known < seen && !most.compare_exchange_weak(known, seen);) {
    }
  });
  return most;
}

}  // namespace detail

/// Quantizes `x` with scales that fit the largest finite magnitude of every block, as `calibrate` and `quantize` would, in one
/// pass where the tensor allows it: codes packed by `Pack` into `bytes`, row-major, as many as QuantizedTensor has for the
/// shape of x, and the scales as they are stored into `scales`. For scales that depend on their own block alone.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not fit; `errc::not_finite`
/// under `NanRaises`; `errc::bad_scale` under `ScaleRaises`. Nothing is written then.
template <CodedParams Params, Packing Pack = LowFirst, Backend B = default_backend, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
  requires detail::is_local_scale<typename Params::scale_type>
void quantize_dynamic(const ConstTensorView& x, typename Params::granularity_type granularity, std::span<std::byte> bytes,
                      std::span<detail::stored_scale<typename Params::scale_type>> scales, const N& numerics = {},
                      const E& executor = {}) {
  const auto fit = [](std::span<const Range> ranges) {
    return Scales<typename Params::scale_type>::template fit<typename Params::type, typename Params::symmetry_type, N,
                                                             detail::EncodeBatches<B>>(ranges);
  };
  detail::quantize_blocks<B, Params, Pack>(x, granularity, bytes, scales, fit, numerics, executor);
}

/// The scale of a tensor whose block scales are stored under one (NVFP4): what fits the largest finite magnitude of `x`.
template <CodedParams Params, Backend B = default_backend, Executor E = Serial, NumericsPolicy N = numerics::onnx>
  requires detail::is_two_level<typename Params::scale_type>
[[nodiscard]] float tensor_scale(const ConstTensorView& x, const E& executor = {}, const N& = {}) {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  return Scales<typename Params::scale_type>::template tensor_scale_for<T, S>(detail::largest_magnitude<B>(x, executor),
                                                                              scale_rules<T, S, N>);
}

/// The same for block scales under `tensor_scale`, a calibrated one or `tq::tensor_scale<Params>(x)`. What is too large for it
/// gets the largest block scale.
/// Throws: as above; `errc::bad_scale` unless `tensor_scale` is positive and finite.
template <CodedParams Params, Packing Pack = LowFirst, Backend B = default_backend, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
  requires detail::is_two_level<typename Params::scale_type>
void quantize_dynamic(const ConstTensorView& x, typename Params::granularity_type granularity, float tensor_scale,
                      std::span<std::byte> bytes, std::span<detail::stored_scale<typename Params::scale_type>> scales,
                      const N& numerics = {}, const E& executor = {}) {
  using Scale = Scales<typename Params::scale_type>;
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  Scale::require_tensor_scale("tq::quantize_dynamic", tensor_scale);
  const auto fit = [&](std::span<const Range> ranges) {
    return Scale::template under<T, S, detail::EncodeBatches<B>>(tensor_scale, ranges, scale_rules<T, S, N>);
  };
  detail::quantize_blocks<B, Params, Pack>(x, granularity, bytes, scales, fit, numerics, executor);
}

/// As above, with everything in a new tensor, for scales of any type.
template <CodedParams Params, Packing Pack = LowFirst, Backend B = default_backend, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
[[nodiscard]] QuantizedTensor<Params, Pack> quantize_dynamic(
    const ConstTensorView& x, typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}, const E& executor = {}) {
  using Scale = typename Params::scale_type;
  const Shape& shape = x.shape();
  detail::require_possible("tq::quantize_dynamic", granularity, shape);
  if constexpr (detail::is_local_scale<Scale> || detail::is_two_level<Scale>) {
    std::vector<detail::stored_scale<Scale>> scales(param_count(granularity, shape));
    Buffer<std::byte> bytes(Pack::template bytes_for<typename Params::type>(x.size()));
    if constexpr (detail::is_two_level<Scale>) {
      const float over_all = tensor_scale<Params, B>(x, executor, numerics);
      quantize_dynamic<Params, Pack, B>(x, granularity, over_all, bytes.span(), std::span(scales), numerics, executor);
      return {shape, make_params<Params>(granularity, Scales<Scale>(std::move(scales), over_all)), std::move(bytes)};
    } else {
      quantize_dynamic<Params, Pack, B>(x, granularity, bytes.span(), std::span(scales), numerics, executor);
      return {shape, make_params<Params>(granularity, Scales<Scale>(std::move(scales))), std::move(bytes)};
    }
  } else {
    detail::require_no_nan<B, N>("tq::quantize_dynamic", x);
    const std::vector<Range> ranges = detail::ranges_of_blocks<B, Params>(x, granularity, executor);
    QuantizedTensor<Params, Pack> out(shape, fit_params<Params, N, detail::EncodeBatches<B>>(granularity, ranges));
    quantize<B>(x, out, numerics, executor);
    return out;
  }
}

}  // namespace tq
