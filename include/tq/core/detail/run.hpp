// SPDX-License-Identifier: MIT
#pragma once
// Runs: what every granularity and every layout reduces to before a kernel sees it.

#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace tq {

/// `count` equal stretches of `length` neighbouring elements. Stretch r starts `r * source_stride`
/// (`r * target_stride`) elements after `source` (`target`) and its first element uses parameter
/// `param + r * param_stride`; element i of a stretch uses `i * step` more, `step` being 0 or 1.
struct Run {
  // Length and count are no neighbours: read as a pair they would have to wait until both were
  // written.
  std::size_t length = 0;
  std::ptrdiff_t source = 0, target = 0, source_stride = 0, target_stride = 0;
  std::size_t count = 0;
  std::size_t param = 0, param_stride = 0, step = 0;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return length * count; }
};

namespace detail {

// One axis of the walk: extent, the extent of a parameter block along it, how far the next element
// lies in source and target, how far the next block lies in the parameters, and how far the next
// element lies in a third tensor, where there is one.
struct RunAxis {
  std::size_t extent, block;
  std::ptrdiff_t source, target;
  std::size_t param;
  std::ptrdiff_t third = 0;
  [[nodiscard]] constexpr std::size_t blocks() const noexcept {
    return blocks_along(extent, block);
  }
};

struct RunAxes {
  std::array<RunAxis, max_rank> axis{};
  int rank = 0;
  constexpr RunAxis& operator[](int i) noexcept { return axis[static_cast<std::size_t>(i)]; }
  constexpr const RunAxis& operator[](int i) const noexcept {
    return axis[static_cast<std::size_t>(i)];
  }
};

// Joins `outer` and `inner` into one axis where memory and parameters allow it.
constexpr bool join(const RunAxis& outer, const RunAxis& inner, RunAxis& joined) noexcept {
  const auto n = static_cast<std::ptrdiff_t>(inner.extent);
  if (outer.source != inner.source * n || outer.target != inner.target * n ||
      outer.third != inner.third * n)
    return false;
  const std::size_t extent = outer.extent * inner.extent;
  if (inner.block == inner.extent)  // parameters do not change along inner
    joined = {extent,     outer.block * inner.extent, inner.source, inner.target, outer.param,
              inner.third};
  else if (outer.block == 1 && inner.extent % inner.block == 0 &&
           outer.param == inner.param * inner.blocks())
    joined = {extent, inner.block, inner.source, inner.target, inner.param, inner.third};
  else return false;
  return true;
}

constexpr std::ptrdiff_t distance(std::ptrdiff_t stride) noexcept {
  return stride < 0 ? -stride : stride;
}

// The axes in memory order of the source, without those of extent 1, joined where possible.
constexpr RunAxes run_axes(const Shape& shape, const Shape& block, const Strides& source,
                           const Strides& target, const Strides* third = nullptr) noexcept {
  RunAxes axes;
  std::size_t param = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const auto k = static_cast<std::size_t>(i);
    const std::size_t step = param;
    param *= blocks_along(shape[i], block[i]);
    if (shape[i] == 1) continue;
    int at = axes.rank++;  // insertion sort, innermost (least distance) first
    for (; at > 0 && distance(axes[at - 1].source) > distance(source[k]); --at)
      axes[at] = axes[at - 1];
    axes[at] = {shape[i], block[i], source[k], target[k], step, third != nullptr ? (*third)[k] : 0};
  }
  int joined = 0;
  for (int i = 0; i < axes.rank; ++i) {
    if (joined > 0 && join(axes[i], axes[joined - 1], axes[joined - 1])) continue;
    if (joined != i) axes[joined] = axes[i];
    ++joined;
  }
  axes.rank = joined;
  if (axes.rank == 0) axes[axes.rank++] = {1, 1, 1, 1, 0};
  return axes;  // innermost first
}

// How many elements there are if all follow one another in source and target, and share one
// parameter: one run, found without the axes. Else, or without any, 0. `block` has the rank of
// `shape`.
constexpr std::size_t elements_of_one_run(const Shape& shape, const Shape& block,
                                          const Strides& source, const Strides& target) noexcept {
  std::size_t n = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const auto k = static_cast<std::size_t>(i);
    const auto step = static_cast<std::ptrdiff_t>(n);
    if (shape[i] != block[i] || (shape[i] != 1 && (source[k] != step || target[k] != step)))
      return 0;
    n *= shape[i];
  }
  return n;
}

// The runs of the two innermost axes, for source, target and parameter offsets of the outer ones.
template <class F>
constexpr void emit_runs(const RunAxis& inner, const RunAxis* outer, Run at, F&& f) {
  const bool dense = inner.source == 1 && inner.target == 1;
  if (dense && inner.block == inner.extent) {  // one parameter
    at.length = inner.extent;
    at.step = 0;
  } else if (dense && inner.block == 1 && inner.param == 1) {  // parameters side by side
    at.length = inner.extent;
    at.step = 1;
  } else {  // groups, or elements one by one; any outer axis is walked by the caller
    const std::size_t length = dense ? inner.block : 1;
    const auto give = [&](std::size_t first, std::size_t n, std::size_t count,
                          std::size_t param_stride) {
      if (count == 0 || n == 0) return;
      Run r = at;
      r.source += static_cast<std::ptrdiff_t>(first) * inner.source;
      r.target += static_cast<std::ptrdiff_t>(first) * inner.target;
      r.param += first / inner.block * inner.param;
      r.length = n;
      r.count = count;
      r.source_stride = static_cast<std::ptrdiff_t>(n) * inner.source;
      r.target_stride = static_cast<std::ptrdiff_t>(n) * inner.target;
      r.param_stride = param_stride;
      r.step = 0;
      f(r);
    };
    if (dense) {
      const std::size_t whole = inner.extent / length;
      give(0, length, whole, inner.param);
      give(whole * length, inner.extent % length, 1, 0);
    } else if (inner.block == 1) {
      give(0, 1, inner.extent, inner.param);
    } else {
      for (std::size_t b = 0; b < inner.extent; b += inner.block)
        give(b, 1, std::min(inner.block, inner.extent - b), 0);
    }
    return;
  }
  if (outer == nullptr) {
    at.count = 1;
    f(at);
    return;
  }
  const std::size_t piece = outer->block == 1 ? outer->extent : outer->block;
  for (std::size_t b = 0; b < outer->extent; b += piece) {
    Run r = at;
    r.source += static_cast<std::ptrdiff_t>(b) * outer->source;
    r.target += static_cast<std::ptrdiff_t>(b) * outer->target;
    r.param += b / outer->block * outer->param;
    r.count = std::min(piece, outer->extent - b);
    r.source_stride = outer->source;
    r.target_stride = outer->target;
    r.param_stride = outer->block == 1 ? outer->param : 0;
    f(r);
  }
}

// How many axes the runs have: whole ones may be counted along the second; groups are already
// counted along the first.
constexpr int axes_of_runs(const RunAxes& axes) noexcept {
  const RunAxis& inner = axes[0];
  const bool whole = inner.source == 1 && inner.target == 1 &&
                     (inner.block == inner.extent || (inner.block == 1 && inner.param == 1));
  return axes.rank > 1 && whole ? 2 : 1;
}

template <class F>
constexpr void walk_outer(const RunAxes& axes, int axis, int used, Run at, F&& f) {
  if (axis < used) {
    emit_runs(axes[0], used == 2 ? &axes[1] : nullptr, at, f);
    return;
  }
  const RunAxis& a = axes[axis];
  for (std::size_t i = 0; i < a.extent; ++i) {
    Run r = at;
    r.source += static_cast<std::ptrdiff_t>(i) * a.source;
    r.target += static_cast<std::ptrdiff_t>(i) * a.target;
    r.param += i / a.block * a.param;
    walk_outer(axes, axis - 1, used, r, f);
  }
}

}  // namespace detail

/// Calls f(Run) for runs that together cover every element of a tensor of `shape` once. `block`
/// gives the extents of the blocks that share a parameter; parameters are numbered row-major over
/// the grid of blocks. Precondition: block extents are at least 1 and `block` has the rank of
/// `shape`.
template <class F>
constexpr void for_each_run(const Shape& shape, const Shape& block, const Strides& source,
                            const Strides& target, F&& f) {
  if (const std::size_t n = detail::elements_of_one_run(shape, block, source, target); n != 0) {
    f(Run{.length = n, .count = 1});
    return;
  }
  if (shape.size() == 0) return;
  const detail::RunAxes axes = detail::run_axes(shape, block, source, target);
  detail::walk_outer(axes, axes.rank - 1, detail::axes_of_runs(axes), Run{}, f);
}

/// Calls f(Run) for the elements [begin, end) of `run`, counted stretch after stretch.
template <class F>
constexpr void for_each_slice(const Run& run, std::size_t begin, std::size_t end, F&& f) {
  const auto give = [&](std::size_t stretch, std::size_t first, std::size_t length,
                        std::size_t count) {
    Run r = run;
    const auto s = static_cast<std::ptrdiff_t>(stretch), e = static_cast<std::ptrdiff_t>(first);
    r.source += s * run.source_stride + e;
    r.target += s * run.target_stride + e;
    r.param += stretch * run.param_stride + first * run.step;
    r.length = length;
    r.count = count;
    f(r);
  };
  while (begin < end) {
    const std::size_t stretch = begin / run.length, first = begin % run.length;
    if (first == 0 && end - begin >= run.length) {
      const std::size_t count = (end - begin) / run.length;
      give(stretch, 0, run.length, count);
      begin += count * run.length;
    } else {
      const std::size_t length = std::min(run.length - first, end - begin);
      give(stretch, first, length, 1);
      begin += length;
    }
  }
}

namespace detail {

// Visits the elements [begin, end) of the runs of the two innermost axes.
template <class F>
constexpr void emit_between(const RunAxis& inner, const RunAxis* outer, Run at, std::size_t begin,
                            std::size_t end, F&& f) {
  RunAxis reached{};  // the blocks of the outer axis that have some of them
  if (outer != nullptr) {
    const std::size_t first = begin / inner.extent / outer->block * outer->block;
    const std::size_t rows = (end + inner.extent - 1) / inner.extent;
    const std::size_t last =
        std::min(blocks_along(rows, outer->block) * outer->block, outer->extent);
    reached = *outer;
    reached.extent = last - first;
    at.source += static_cast<std::ptrdiff_t>(first) * outer->source;
    at.target += static_cast<std::ptrdiff_t>(first) * outer->target;
    at.param += first / outer->block * outer->param;
    begin -= first * inner.extent;
    end -= first * inner.extent;
  }
  std::size_t base = 0;
  emit_runs(inner, outer != nullptr ? &reached : nullptr, at, [&](const Run& r) {
    const std::size_t from = std::max(begin, base), to = std::min(end, base + r.size());
    if (from < to) for_each_slice(r, from - base, to - base, f);
    base += r.size();
  });
}

template <class F>
constexpr void walk_between(const RunAxes& axes, int axis, int used, Run at, std::size_t begin,
                            std::size_t end, F&& f) {
  if (axis < used) {
    emit_between(axes[0], used == 2 ? &axes[1] : nullptr, at, begin, end, f);
    return;
  }
  const RunAxis& a = axes[axis];
  std::size_t size = 1;  // of what lies inside one step of this axis
  for (int i = 0; i < axis; ++i) size *= axes[i].extent;
  for (std::size_t i = begin / size; i * size < end; ++i) {
    Run r = at;
    r.source += static_cast<std::ptrdiff_t>(i) * a.source;
    r.target += static_cast<std::ptrdiff_t>(i) * a.target;
    r.param += i / a.block * a.param;
    const std::size_t from = i * size;
    walk_between(axes, axis - 1, used, r, begin > from ? begin - from : 0,
                 std::min(end - from, size), f);
  }
}

}  // namespace detail

/// Calls f(Run) for runs that together cover the elements [begin, end) of a dense row-major tensor,
/// in that order; offsets are from the tensor's first element. What lies before `begin` takes no
/// time. Precondition: as above, and end <= shape.size().
template <class F>
constexpr void for_each_run_between(const Shape& shape, const Shape& block, std::size_t begin,
                                    std::size_t end, F&& f) {
  if (begin >= end) return;
  const Strides strides = row_major_strides(shape);
  const detail::RunAxes axes = detail::run_axes(shape, block, strides, strides);
  detail::walk_between(axes, axes.rank - 1, detail::axes_of_runs(axes), Run{}, begin, end, f);
}

}  // namespace tq
