// SPDX-License-Identifier: MIT
#pragma once
// The range of every parameter block of a tensor: what parameters of the moment are made of.

#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/real.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/widened.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace tq::detail {

// Whether parameters depend on nothing but the largest magnitude of a range.
template <AnyParams Params>
inline constexpr bool by_magnitude_alone = [] {
  using S = typename Params::symmetry_type;
  if constexpr (CodedParams<Params>) return std::same_as<S, Symmetric>;
  else
    return Params::type::qmin < 0 &&
           (std::same_as<S, Symmetric> || std::same_as<S, SymmetricNarrow>);
}();

// Calls f(floats, piece, row, column) for pieces of `r` that together are all of it, in order: runs
// of `floats` that begin at those of its elements. What shares a parameter may be one stretch
// there.
template <Backend B, Real T, class F>
void for_each_widened(const T* x, const Run& r, F&& f) noexcept {
  if constexpr (std::same_as<T, float>) {
    f(x, r, std::size_t{0}, std::size_t{0});
  } else {
    using Rows = Widened<B, T>;
    Rows widened;
    const auto each = [&](std::size_t k, std::size_t i, std::size_t length, std::size_t rows) {
      const T* at = x + r.source + Rows::offset(k, i, r.source_stride);
      const auto floats = widened.gather(at, {length, rows, r.source_stride});
      Run piece = r;
      piece.source = 0;
      piece.param += k * r.param_stride + i * r.step;
      const bool is_one = r.param_stride == 0 && r.step == 0;
      piece.length = is_one ? floats.size() : length;
      piece.count = is_one ? 1 : rows;
      piece.source_stride = static_cast<std::ptrdiff_t>(piece.length);
      f(floats.data(), std::as_const(piece), k, i);
    };
    Rows::each_piece(r.length, r.count, each);
  }
}

// The ends of every stretch of a run, -0 or 0; of one without finite values `low` may be above
// `high`.
template <Backend B, AnyParams Params>
void stretch_ends(const float* x, const Run& run, float* low, float* high) noexcept {
  if constexpr (by_magnitude_alone<Params>) {
    B::abs_max::rows(x + run.source, run.count, run.length, run.source_stride, high);
    for (std::size_t k = 0; k < run.count; ++k) low[k] = 0.0f - high[k];
  } else {
    B::min_max::rows(x + run.source, run.count, run.length, run.source_stride, low, high);
  }
}

// The range of every stretch of a run; of one without finite values that of zeros. No end is -0.
// Precondition: the stretches have a parameter each.
template <Backend B, AnyParams Params, Real T>
void stretch_ranges(const T* x, const Run& run, float* low, float* high) noexcept {
  const auto add = [&](const float* floats, const Run& piece, std::size_t row, std::size_t column) {
    if (column == 0) return stretch_ends<B, Params>(floats, piece, low + row, high + row);
    float l, h;  // of another part of one stretch
    stretch_ends<B, Params>(floats, piece, &l, &h);
    low[row] = std::min(low[row], l);
    high[row] = std::max(high[row], h);
  };
  for_each_widened<B>(x, run, add);
  if constexpr (!by_magnitude_alone<Params>) {
    for (std::size_t k = 0; k < run.count; ++k) {
      const float l = low[k] + 0.0f, h = high[k] + 0.0f;
      const bool none = l > h;
      low[k] = none ? 0.0f : l;
      high[k] = none ? 0.0f : h;
    }
  }
}

struct AnyRun {
  constexpr bool operator()(const Run&) const noexcept { return true; }
};

// Whether every parameter block of `x` is one stretch of memory, of a run that `fits`.
template <Real T, class Fits = AnyRun>
[[nodiscard]] bool blocks_are_stretches(const TensorView<const T>& x, const Shape& block,
                                        const Strides& target, std::size_t slot_count,
                                        const Fits& fits = {}) {
  std::size_t elements = 0, stretches = 0;
  for_each_run(x.shape(), block, x.strides(), target, [&](const Run& r) {
    stretches += r.count;
    if (r.step == 0 && (r.count == 1 || r.param_stride != 0) && fits(r)) elements += r.size();
  });
  return elements == x.size() && stretches == slot_count;
}

// Whether `slots` blocks are enough for everyone, so that none needs to be cut.
template <Executor E>
[[nodiscard]] bool is_enough(std::size_t slot_count, std::size_t elements,
                             const E& executor) noexcept {
  return is_one_task(executor, elements) || slot_count >= executor.concurrency();
}

inline void extend(kernels::Extremes& a, const kernels::Extremes& b) noexcept {
  a.min = b.min < a.min ? b.min : a.min;
  a.max = b.max > a.max ? b.max : a.max;
}

// Adds a run's elements to the extremes of their blocks.
template <Backend B>
void add_extremes(const float* x, const Run& r, kernels::Extremes* to) noexcept {
  if (r.step == 1 && r.param_stride == 0) {
    B::min_max::columns(x + r.source, r.count, r.length, r.source_stride, to + r.param);
    return;
  }
  for (std::size_t k = 0; k < r.count; ++k) {
    const float* at = x + r.source + static_cast<std::ptrdiff_t>(k) * r.source_stride;
    const std::size_t slot = r.param + k * r.param_stride;
    if (r.step == 0) extend(to[slot], B::min_max::run(at, r.length));
    else B::min_max::columns(at, 1, r.length, 0, to + slot);
  }
}

// The extremes of every parameter block of `x`. Tasks of an executor keep some of their own, unless
// they are many.
template <Backend B, Real T, Executor E>
[[nodiscard]] std::vector<kernels::Extremes> block_extremes(const TensorView<const T>& x,
                                                            const Shape& block,
                                                            std::size_t slot_count,
                                                            const E& executor) {
  const auto add = [&](const Run& r, std::vector<kernels::Extremes>& to) {
    for_each_widened<B>(x.data(), r,
                        [&](const float* floats, const Run& piece, std::size_t, std::size_t) {
                          add_extremes<B>(floats, piece, to.data());
                        });
  };
  std::vector<kernels::Extremes> seen(slot_count);
  if (is_one_task(executor, x.size()) || slot_count > task_size / 8) {
    for_each_run(x.shape(), block, x.strides(), x.strides(), [&](const Run& r) { add(r, seen); });
    return seen;
  }
  std::mutex merging;
  for_each_task(executor, x.shape(), block, x.strides(), x.strides(), [&](auto&& each) {
    std::vector<kernels::Extremes> part(slot_count);
    each([&](const Run& r) { add(r, part); });
    const std::lock_guard lock(merging);
    for (std::size_t i = 0; i < slot_count; ++i) extend(seen[i], part[i]);
  });
  return seen;
}

// Calls add(run) for pieces of the runs of `x` on an executor: whole stretches, together(run) at
// least.
template <Real T, Executor E, class Together, class Add>
void for_each_piece(const TensorView<const T>& x, const Shape& block, const Strides& target,
                    const E& executor, const Together& together, const Add& add) {
  if (is_one_task(executor, x.size()))
    return for_each_run(x.shape(), block, x.strides(), target, add);
  std::vector<Run> pieces;
  for_each_run(x.shape(), block, x.strides(), target, [&](const Run& r) {
    const std::size_t unit = together(r), rows = std::max(unit, task_size / r.length / unit * unit);
    for (std::size_t k = 0; k < r.count; k += rows)
      for_each_slice(r, k * r.length, std::min(k + rows, r.count) * r.length,
                     [&](const Run& piece) { pieces.push_back(piece); });
  });
  const std::size_t n = pieces.size(), tasks = std::min(n, x.size() / task_size);
  executor(tasks, [&](std::size_t task) {
    for (std::size_t i = n * task / tasks; i < n * (task + 1) / tasks; ++i) add(pieces[i]);
  });
}

// The ranges of blocks that are stretches.
template <Backend B, AnyParams Params, Real T, Executor E>
void ranges_of_stretches(const TensorView<const T>& x, const Shape& block, const E& executor,
                         std::vector<Range>& ranges) {
  const auto any = [](const Run&) { return std::size_t{1}; };
  for_each_piece(x, block, x.strides(), executor, any, [&](const Run& run) {
    constexpr std::size_t most = 1024;
    float low[most], high[most];
    for (std::size_t first = 0; first < run.count; first += most) {
      const std::size_t end = std::min(first + most, run.count);
      for_each_slice(run, first * run.length, end * run.length, [&](const Run& r) {
        stretch_ranges<B, Params>(x.data(), r, low, high);
        for (std::size_t k = 0; k < r.count; ++k)
          ranges[r.param + k * r.param_stride] = {low[k], high[k]};
      });
    }
  });
}

// The range of every parameter block of `x`, whatever its shape; of one without finite values that
// of zeros. Of parameters by magnitude alone the ranges may be wider, up to [-top, top].
// Precondition: the block is that of a granularity that is possible, and has `slots` over x.
template <Backend B, AnyParams Params, Real T, Executor E>
[[nodiscard]] std::vector<Range> block_ranges(const TensorView<const T>& x, const Shape& block,
                                              std::size_t slot_count, const E& executor) {
  std::vector<Range> ranges(slot_count, Range{0.0f, 0.0f});
  if (x.size() == 0) return ranges;
  if (is_enough(slot_count, x.size(), executor) &&
      blocks_are_stretches(x, block, x.strides(), slot_count)) {
    ranges_of_stretches<B, Params>(x, block, executor, ranges);
    return ranges;
  }
  const std::vector<kernels::Extremes> seen = block_extremes<B>(x, block, slot_count, executor);
  for (std::size_t i = 0; i < slot_count; ++i)
    if (seen[i].min <= seen[i].max) ranges[i] = {seen[i].min + 0.0f, seen[i].max + 0.0f};
  return ranges;
}

}  // namespace tq::detail
