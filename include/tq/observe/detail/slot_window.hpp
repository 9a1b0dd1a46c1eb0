// SPDX-License-Identifier: MIT
#pragma once
// How the runs of a tensor are added to the slots of an observer.

#include <tq/core/detail/run.hpp>
#include <tq/core/real.hpp>
#include <tq/core/shape.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/detail/widened.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace tq::detail {

template <class Backend, class A>
void add_to(A& slot, std::span<const float> x) {
  if constexpr (requires { slot.template add<Backend>(x); }) slot.template add<Backend>(x);
  else slot.add(x);
}

// Whether `add_to` throws nothing.
template <class Backend, class A>
inline constexpr bool adds_quietly = [] {
  if constexpr (requires(A& a, std::span<const float> x) { a.template add<Backend>(x); })
    return noexcept(
        std::declval<A&>().template add<Backend>(std::declval<std::span<const float>>()));
  else return noexcept(std::declval<A&>().add(std::declval<std::span<const float>>()));
}();

// Some slots of an observer, numbered from `first` on, and how runs of elements of T are added to
// them; elements of other slots are left out.
template <class Backend, class Acc, Real T = float>
class SlotWindow {
 public:
  SlotWindow(std::span<Acc> accumulators, std::size_t first)
      : slots_(accumulators), first_(first) {}

  // Takes the memory that adding may need, so that only accumulators may throw then.
  // Throws: std::bad_alloc.
  void make_room() {
    if constexpr (is_large<Acc>) widened_.make_room();
  }

  // `x` points to the run's first element.
  void add(const Run& r, const T* x) {
    take(r, x);
    finish();
  }
  // The runs that each(f) calls f(run) for, of the tensor at `x`.
  template <class Each>
  void add_all(const T* x, Each&& each) {
    each([&](const Run& r) { take(r, x + r.source); });
    finish();
  }
  // All elements of the tensor at `x`.
  void add_tensor(const T* x, const Shape& shape, const Shape& block, const Strides& strides);
  // The elements of a dense tensor from number `first` on, row-major.
  void add_part(const Shape& shape, const Shape& block, std::size_t first, std::span<const T> x);

 private:
  // Elements that are widened on the stack: few beside a large accumulator.
  static constexpr std::size_t here = is_large<Acc> ? 512 : floats_of_piece;
  using widened = Widened<Backend, T, here>;

  void take(const Run& r, const T* x);

  // The rows of a run of which each has its own slot that have one here: [begin, end).
  [[nodiscard]] std::pair<std::size_t, std::size_t> rows_here(const Run& r) const noexcept {
    const auto rows_before = [&](std::size_t slot) {
      return slot <= r.param ? 0 : (slot - r.param + r.param_stride - 1) / r.param_stride;
    };
    return {rows_before(first_), std::min(r.count, rows_before(first_ + slots_.size()))};
  }

  // Elements side by side that have a slot each, and the same slots line after line: where a tensor
  // is turned, or has gaps. They wait for lines that follow, so that each slot gets many of them.
  void take_line(const Run& r, const T* x);

  void finish();

  [[nodiscard]] Acc& slot(std::size_t param) { return slots_[param - first_]; }

  // Short stretches of one slot are put together first: an accumulator has costs per call.
  void add_rows(Acc& slot, const T* x, const Run& r);

  // `rows` lines of accumulators.size() values, `stride` apart: column i goes to accumulators[i]. A
  // line of the cache is read once, for the columns it holds.
  void add_columns(std::span<Acc> accumulators, const T* x, std::size_t rows,
                   std::ptrdiff_t stride);

  std::span<Acc> slots_;
  std::size_t first_;
  widened widened_;
  Run line_;  // of which `lines_` wait, `apart_` from one another
  const T *start_ = nullptr, *last_ = nullptr;
  std::ptrdiff_t apart_ = 0;
  std::size_t lines_ = 0;
};

// --- bodies, which are no inline functions: see usual_observers.hpp ---

template <class Backend, class Acc, Real T>
void SlotWindow<Backend, Acc, T>::add_tensor(const T* x, const Shape& shape, const Shape& block,
                                             const Strides& strides) {
  for_each_run(shape, block, strides, strides, [&](const Run& r) { take(r, x + r.source); });
  finish();
}

template <class Backend, class Acc, Real T>
void SlotWindow<Backend, Acc, T>::add_part(const Shape& shape, const Shape& block,
                                           std::size_t first, std::span<const T> x) {
  for_each_run_between(shape, block, first, first + x.size(), [&](const Run& r) {
    add(r, x.data() + (r.source - static_cast<std::ptrdiff_t>(first)));
  });
}

template <class Backend, class Acc, Real T>
void SlotWindow<Backend, Acc, T>::take(const Run& r, const T* x) {
  if (r.step == 0 && r.length == 1 && r.param_stride != 0) return take_line(r, x);
  const std::size_t first =
      r.param < first_ ? first_ - r.param : 0;  // in parameters, from the run's own on
  const std::size_t last = first_ + slots_.size() <= r.param ? 0 : first_ + slots_.size() - r.param;
  if (last == 0) return;
  if (r.step != 0 && r.param_stride != 0) {  // every element has its own
    widened_.each_row(x, r.length, r.count, r.source_stride,
                      [&](std::size_t k, std::size_t at, std::span<const float> row) {
                        for (std::size_t i = 0; i < row.size(); ++i)
                          if (const std::size_t p = k * r.param_stride + at + i;
                              p >= first && p < last)
                            add_to<Backend>(slot(r.param + p), row.subspan(i, 1));
                      });
  } else if (r.step != 0) {
    const std::size_t end = std::min(last, r.length);
    if (first < end)
      add_columns(slots_.subspan(r.param + first - first_, end - first), x + first, r.count,
                  r.source_stride);
  } else if (r.param_stride != 0) {
    const auto [begin, end] = rows_here(r);
    if (begin >= end) return;
    widened_.each_row(x + widened::offset(begin, 0, r.source_stride), r.length, end - begin,
                      r.source_stride,
                      [&, from = begin](std::size_t k, std::size_t, std::span<const float> row) {
                        add_to<Backend>(slot(r.param + (from + k) * r.param_stride), row);
                      });
  } else if (first == 0) {
    add_rows(slot(r.param), x, r);
  }
}

template <class Backend, class Acc, Real T>
void SlotWindow<Backend, Acc, T>::take_line(const Run& r, const T* x) {
  const bool follows = lines_ != 0 && lines_ < 512 && r.param == line_.param &&
                       r.count == line_.count && r.param_stride == line_.param_stride &&
                       r.source_stride == line_.source_stride &&
                       (lines_ == 1 || x - last_ == apart_);
  if (!follows) {
    finish();
    line_ = r;
    start_ = x;
  }
  apart_ = follows ? x - last_ : 0;
  last_ = x;
  ++lines_;
}

template <class Backend, class Acc, Real T>
void SlotWindow<Backend, Acc, T>::finish() {
  if (lines_ == 0) return;
  const std::size_t height = std::exchange(lines_, 0), width = widened::capacity / height;
  const auto [begin, end] = rows_here(line_);
  for (std::size_t c = begin; c < end; c += width) {
    const std::size_t n = std::min(width, end - c);
    const auto columns = widened_.gather(start_ + widened::offset(c, 0, line_.source_stride),
                                         {.length = height,
                                          .count = n,
                                          .source_stride = line_.source_stride,
                                          .source_step = apart_});
    for (std::size_t i = 0; i < n; ++i)
      add_to<Backend>(slot(line_.param + (c + i) * line_.param_stride),
                      columns.subspan(i * height, height));
  }
}

template <class Backend, class Acc, Real T>
void SlotWindow<Backend, Acc, T>::add_rows(Acc& slot, const T* x, const Run& r) {
  if (std::same_as<T, float> && (r.length >= 512 || r.count == 1))
    return widened_.each_row(
        x, r.length, r.count, r.source_stride,
        [&](std::size_t, std::size_t, std::span<const float> row) { add_to<Backend>(slot, row); });
  widened::each_piece(
      r.length, r.count, [&](std::size_t k, std::size_t i, std::size_t n, std::size_t rows) {
        add_to<Backend>(slot, widened_.gather(x + widened::offset(k, i, r.source_stride),
                                              {n, rows, r.source_stride}));
      });
}

template <class Backend, class Acc, Real T>
void SlotWindow<Backend, Acc, T>::add_columns(std::span<Acc> accumulators, const T* x,
                                              std::size_t rows, std::ptrdiff_t stride) {
  constexpr bool takes_rows = requires(const float* floats) {
    Acc::template add_columns<Backend>(accumulators, floats, rows, stride);
  };
  if constexpr (takes_rows && std::same_as<T, float>)
    return Acc::template add_columns<Backend>(accumulators, x, rows, stride);
  const std::size_t width = std::min<std::size_t>(accumulators.size(), takes_rows ? 64 : 16),
                    height = widened::capacity / width;
  for (std::size_t c = 0; c < accumulators.size(); c += width) {
    const std::size_t n = std::min(width, accumulators.size() - c);
    for (std::size_t r = 0; r < rows; r += height) {
      const std::size_t m = std::min(height, rows - r);
      const T* from = x + widened::offset(r, c, stride);
      if constexpr (takes_rows) {
        const float* lines = widened_.gather(from, {n, m, stride}).data();
        Acc::template add_columns<Backend>(accumulators.subspan(c, n), lines, m,
                                           static_cast<std::ptrdiff_t>(n));
      } else {
        const auto columns = widened_.gather(
            from, {.length = m, .count = n, .source_stride = 1, .source_step = stride});
        for (std::size_t i = 0; i < n; ++i)
          add_to<Backend>(accumulators[c + i], columns.subspan(i * m, m));
      }
    }
  }
}

}  // namespace tq::detail
