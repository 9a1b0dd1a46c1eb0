// SPDX-License-Identifier: MIT
#pragma once
// quantize_dynamic for floats and code books: scales of any type and packed codes together.

#include <tq/core/quantized_tensor.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// Scales that depend on their own block alone, so that they can be made while the block is in cache.
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
    const std::vector<kernels::Extremes> seen = block_extremes<B>(x, block, slots);
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

// One pass over a tensor that is a single run of stretches, each with a local scale.
template <Backend B, CodedParams Params, Packing Pack, NumericsPolicy N, Executor E>
void quantize_stretches(const float* x, const Run& run, unsigned char* bytes,
                        std::span<stored_scale<typename Params::scale_type>> stored, const N& n, const E& executor) {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  constexpr std::size_t cached = 8192;  // elements that stay in the first level
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
        const auto fitted =
            Scales<typename Params::scale_type>::template fit<T, S, N, EncodeBatches<B>>(
                std::span<const Range>(ranges).first(r.count));
        std::copy_n(fitted.stored().begin(), r.count, stored.begin() + static_cast<std::ptrdiff_t>(r.param));
        const float* scales = fitted.values().data();
        r.param = 0;
        if constexpr (is_unpacked<Pack, T>) {
          code_kernels<B, Params>::quantize(x + r.source, reinterpret_cast<typename Params::code_type*>(bytes) + r.target,
                                            kernel_span(r, scales, nullptr), n, static_cast<std::uint64_t>(r.target), false);
        } else {
          PackingWriter<B, Params, Pack, N> writer(x, bytes, scales, nullptr, n, false);
          writer.add(r);
        }
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
  using type = typename Params::type;
  const Shape& shape = x.shape();
  detail::require_granularity("tq::quantize_dynamic", granularity, shape);
  const std::size_t slots = param_count(granularity, shape);
  detail::require_size("tq::quantize_dynamic", "scales", slots, scales.size());
  detail::require_size("tq::quantize_dynamic", "bytes of codes", Pack::template bytes_for<type>(x.size()), bytes.size());
  detail::require_no_nan<N>("tq::quantize_dynamic", x);
  if (x.size() != 0 && !detail::scales_may_throw<N>) {
    std::size_t runs = 0;
    Run run;
    const auto first = [&](const Run& r) {
      run = r;
      return ++runs == 1;
    };
    if (detail::blocks_are_stretches(x, granularity.block(shape), row_major_strides(shape), slots, first)) {
      detail::quantize_stretches<B, Params, Pack>(x.data(), run, reinterpret_cast<unsigned char*>(bytes.data()), scales,
                                                  numerics, executor);
      return;
    }
  }
  const auto fitted = Scales<typename Params::scale_type>::template fit<type, typename Params::symmetry_type, N,
                                                                        detail::EncodeBatches<B>>(
      detail::ranges_of_blocks<B, Params>(x, granularity, executor));
  std::copy(fitted.stored().begin(), fitted.stored().end(), scales.begin());
  if (x.size() != 0)
    detail::quantize_packed<B, Params, Pack>(x, granularity.block(shape), fitted.values().data(), nullptr, bytes, numerics,
                                             executor);
}

/// As above, with everything in a new tensor, for scales of any type.
template <CodedParams Params, Packing Pack = LowFirst, Backend B = default_backend, NumericsPolicy N = numerics::onnx,
          Executor E = Serial>
[[nodiscard]] QuantizedTensor<Params, Pack> quantize_dynamic(
    const ConstTensorView& x, typename Params::granularity_type granularity = typename Params::granularity_type{},
    const N& numerics = {}, const E& executor = {}) {
  using Scale = typename Params::scale_type;
  const Shape& shape = x.shape();
  detail::require_granularity("tq::quantize_dynamic", granularity, shape);
  if constexpr (detail::is_local_scale<Scale>) {
    std::vector<detail::stored_scale<Scale>> scales(param_count(granularity, shape));
    Buffer<std::byte> bytes(Pack::template bytes_for<typename Params::type>(x.size()));
    quantize_dynamic<Params, Pack, B>(x, granularity, bytes.span(), std::span(scales), numerics, executor);
    return {shape, make_params<Params>(granularity, Scales<Scale>(std::move(scales))), std::move(bytes)};
  } else {
    detail::require_no_nan<N>("tq::quantize_dynamic", x);
    const std::vector<Range> ranges = detail::ranges_of_blocks<B, Params>(x, granularity, executor);
    QuantizedTensor<Params, Pack> out(shape, fit_params<Params, N, detail::EncodeBatches<B>>(granularity, ranges));
    quantize<B>(x, out, numerics, executor);
    return out;
  }
}

}  // namespace tq
