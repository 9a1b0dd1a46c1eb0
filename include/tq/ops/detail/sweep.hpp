// SPDX-License-Identifier: MIT
#pragma once
// Every element of a tensor through the kernel of an operation: from shapes, strides and blocks to
// spans, on an executor.

#include <tq/bodies.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/driver/bits.hpp>
#include <tq/driver/kernel.hpp>
#include <tq/driver/known_parameters.hpp>
#include <tq/driver/tuning.hpp>
#include <tq/ops/backend/backend.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tq::detail {

// A part of a tensor that is one span. Offsets are in elements.
struct SpanOf {
  driver::Span span;
  driver::Parameters params;
  std::ptrdiff_t source = 0, target = 0;
};

// The spans of a tensor: the innermost axis of the target makes rows, another one counts them.
class TensorSpans {
 public:
  TQ_CORE_API TensorSpans(const Shape& shape, const Shape& block, const Strides& source,
                          const Strides& target) noexcept;

  // Whether the spans of a target of `bits` bits an element can be written one by one: each of its
  // rows begins on a byte, and so does each group of one that is no row of the source (turned, or
  // reversed).
  [[nodiscard]] TQ_CORE_API bool pack_in_place(int bits) const noexcept;

  // Calls f(SpanOf) for each of them.
  template <class F>
  void for_each(const driver::Parameters& params, F&& f) const {
    walk(axes_.rank - 1, {{}, params, 0, 0}, f);
  }

 private:
  template <class F>
  void walk(int axis, const SpanOf& at, F&& f) const {
    if (axis == 1) return rows(at, f);
    for (std::size_t i = 0; i < axes_[axis].extent; ++i)
      walk(axis - 1, moved(at, axes_[axis], i), f);
  }

  // Rows that share a parameter, or have one each.
  template <class F>
  void rows(const SpanOf& at, F&& f) const {
    const RunAxis &inner = axes_[0], &outer = axes_[1];
    const bool is_one = outer.block == 1 || outer.block >= outer.extent;
    const std::size_t some = is_one ? outer.extent : outer.block;
    for (std::size_t i = 0; i < outer.extent; i += some) {
      SpanOf s = moved(at, outer, i);
      s.span = {inner.extent, std::min(some, outer.extent - i),
                outer.source, outer.target,
                inner.source, inner.target};
      s.params.row_step = outer.block == 1 ? outer.param : 0;
      s.params.group = inner.block;
      s.params.step = inner.param;
      f(std::as_const(s));
    }
  }

  static SpanOf moved(SpanOf at, const RunAxis& axis, std::size_t i) noexcept {
    at.source += static_cast<std::ptrdiff_t>(i) * axis.source;
    at.target += static_cast<std::ptrdiff_t>(i) * axis.target;
    at.params.first += i / axis.block * axis.param;
    return at;
  }

  RunAxes axes_;  // innermost first, at least two
};

// Calls f(SpanOf) for the spans that together are `s` and have about `size` elements each, or a
// group of them. They begin at multiples of `unit` elements.
template <class F>
void cut(const SpanOf& s, std::size_t size, std::size_t unit, F&& f) {
  const driver::Span& span = s.span;
  const std::size_t group = std::min(s.params.group, span.length);
  const std::size_t some = group == span.length ? 1024 : group % unit == 0 ? group : group * unit;
  const std::size_t length = std::min(span.length, std::max<std::size_t>(size / some, 1) * some),
                    count = std::max<std::size_t>(size / span.length, 1);
  for (std::size_t r = 0; r < span.count; r += count)
    for (std::size_t i = 0; i < span.length; i += length) {
      SpanOf part = s;
      const auto row = static_cast<std::ptrdiff_t>(r), at = static_cast<std::ptrdiff_t>(i);
      part.span.count = std::min(count, span.count - r);
      part.span.length = std::min(length, span.length - i);
      part.source += row * span.source_stride + at * span.source_step;
      part.target += row * span.target_stride + at * span.target_step;
      part.params.first += r * s.params.row_step + i / s.params.group * s.params.step;
      if (group == span.length) part.params.group = driver::whole_row;
      f(std::as_const(part));
    }
}

// A backend's kernel for an operation, which must outlive it, and for parameters of which so much
// is known.
template <Backend B, driver::KnownParameters Known = driver::KnownParameters{}, class Operation>
[[nodiscard]] driver::BoundKernel kernel_for(const Operation& operation) noexcept {
  return driver::bind(B::template kernel<Operation, Known>(), operation);
}

// Elements of a run that is no more than a task and stays in every cache.
inline constexpr std::size_t short_run = 4096;

// The operands of a sweep over a tensor.
struct TensorOperands {
  const void* source;
  const Strides& source_strides;
  void* target;
  const Strides& target_strides;
};

// Takes every element of a tensor through a kernel to the same place of another one. Blocks of
// shape `block` have a parameter each. Precondition: where the target is packed, `packs_in_place`.
template <Executor E>
void sweep_tensor(const driver::BoundKernel& bound, const TensorOperands& operands,
                  const Shape& shape, const Shape& block, const driver::Parameters& params,
                  const E& executor) {
  const Strides &from = operands.source_strides, &to = operands.target_strides;
  const std::size_t run = elements_of_one_run(shape, block, from, to);
  if (run != 0 && run <= short_run)
    return driver::sweep(bound, {.source = operands.source, .target = operands.target},
                         {.length = run}, params);
  const std::size_t n = shape.size();
  if (n == 0) return;
  const driver::Tuning& tuning = driver::this_machine();
  const driver::Kernel& kernel = bound.kernel();
  const bool streams =
      n / 8 * static_cast<std::size_t>(kernel.source_bits + kernel.sink_bits) > tuning.stream_from;
  const auto sweep = [&](const SpanOf& s) {
    auto* out =
        static_cast<std::byte*>(operands.target) + driver::bytes_to(s.target, kernel.sink_bits);
    driver::sweep(bound,
                  {.source = operands.source,
                   .first = s.source,
                   .target = out,
                   .draw_index = static_cast<std::uint64_t>(s.target),
                   .streams = streams},
                  s.span, s.params, tuning);
  };
  const bool is_one = is_one_task(executor, n);
  if (is_one && run == n) return sweep({{.length = n}, params});
  const TensorSpans spans(shape, block, from, to);
  if (is_one) return spans.for_each(params, sweep);
  // Parts of a task's size, and tasks of parts that are smaller.
  const std::size_t size = std::max(task_size, n / (4 * executor.concurrency()));
  std::vector<SpanOf> parts;
  spans.for_each(params, [&](const SpanOf& s) {
    cut(s, size, kernel.sink_bits % 8 == 0 ? 1 : 8,
        [&](const SpanOf& part) { parts.push_back(part); });
  });
  std::vector<std::size_t> begins;
  std::size_t together = size;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (together >= size) begins.push_back(i), together = 0;
    together += parts[i].span.length * parts[i].span.count;
  }
  executor(begins.size(), [&](std::size_t task) {
    const std::size_t end = task + 1 < begins.size() ? begins[task + 1] : parts.size();
    for (std::size_t i = begins[task]; i < end; ++i) sweep(parts[i]);
  });
}

#ifdef TQ_KERNEL_LIBRARY
extern template void sweep_tensor(const driver::BoundKernel&, const TensorOperands&, const Shape&,
                                  const Shape&, const driver::Parameters&, const Serial&);
#endif

}  // namespace tq::detail

#ifndef TQ_KERNEL_LIBRARY
#include <tq/ops/detail/sweep.ipp>
#endif
