// SPDX-License-Identifier: MIT
#pragma once
// Parts of three tensors of one shape in any layouts, a forward input and two gradients, and how
// they are cut.

#include <tq/core/detail/run.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/driver/span.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tq::detail {

// Where the elements of a part are in one of the tensors: the first one, and how far the next row
// and the next neighbour lie.
struct Places {
  std::ptrdiff_t first = 0, row = 0, step = 0;

  [[nodiscard]] constexpr std::ptrdiff_t at(std::size_t r, std::size_t i) const noexcept {
    return first + static_cast<std::ptrdiff_t>(r) * row + static_cast<std::ptrdiff_t>(i) * step;
  }
};

// `count` rows of `length` elements.
struct GradientPart {
  std::size_t length = 1, count = 1;
  Places x, gy, gx;
  driver::Parameters params{};

  [[nodiscard]] std::size_t size() const noexcept { return length * count; }
  // Whether neighbours lie apart in one of the tensors.
  [[nodiscard]] bool turned() const noexcept { return x.step != 1 || gy.step != 1 || gx.step != 1; }
  [[nodiscard]] std::size_t last_param() const noexcept {
    return params.first + (count - 1) * params.row_step +
           (params.group == driver::whole_row ? 0 : (length - 1) / params.group * params.step);
  }

  // Calls f(part) for parts of about `size` elements that together are this one, in order: as wide
  // as they can be, or, where they are turned, of a few rows. Groups are not cut, but those that
  // are longer.
  template <class F>
  void cut(std::size_t size, F&& f) const {
    const std::size_t side = params.row_step == 0 ? 64 : 16;  // sums of rows take time
    const std::size_t least = turned() ? std::min(count, side) : 1,
                      width = std::min(length, size / least),
                      rows = turned() ? least : std::min(count, size / width);
    for (std::size_t r = 0; r < count; r += rows)
      for (std::size_t i = 0; i < length;) {
        std::size_t n = std::min(width, length - i);
        if (params.group != driver::whole_row && params.group > width)
          n = std::min(n, params.group - i % params.group);
        else if (params.group != driver::whole_row && n == width)
          n = width / params.group * params.group;
        f(between(r, std::min(rows, count - r), i, n));
        i += n;
      }
  }

 private:
  [[nodiscard]] GradientPart between(std::size_t r, std::size_t rows, std::size_t i,
                                     std::size_t n) const noexcept {
    GradientPart p = *this;
    p.length = n;
    p.count = rows;
    for (Places* places : {&p.x, &p.gy, &p.gx}) places->first = places->at(r, i);
    p.params.first += r * params.row_step + i / params.group * params.step;
    if (n <= params.group) p.params.group = driver::whole_row;
    return p;
  }
};

// The parts of the tensors that are rows of one form: the innermost axis of gx makes rows, another
// one counts them.
class GradientParts {
 public:
  GradientParts(const Shape& shape, const Shape& block, const Strides& x, const Strides& gy,
                const Strides& gx) noexcept
      : axes_(
            run_axes(shape, block, gx, x, &gy)) {  // in the order of gx: its `source` is our target
    for (int i = 0; i < axes_.rank; ++i) std::swap(axes_[i].source, axes_[i].target);
    if (axes_.rank == 1) axes_[axes_.rank++] = {1, 1, 0, 0, 0};
    // Where neighbours lie apart in x or gy, rows are best those that are neighbours there.
    const RunAxis& inner = axes_[0];
    const auto apart = [&](const RunAxis& a) {
      return distance(distance(inner.source) != 1 ? a.source : a.third);
    };
    if (apart(inner) != 1)
      for (int i = 2; i < axes_.rank; ++i)
        if (apart(axes_[i]) < apart(axes_[1])) std::swap(axes_[1], axes_[i]);
  }

  // Calls f(part) for each of them, in order.
  template <class F>
  void for_each(const driver::Parameters& params, F&& f) const {
    GradientPart all;
    all.params = params;
    walk(axes_.rank - 1, all, f);
  }

 private:
  template <class F>
  void walk(int axis, const GradientPart& at, F&& f) const {
    if (axis == 1) return rows(at, f);
    for (std::size_t i = 0; i < axes_[axis].extent; ++i)
      walk(axis - 1, moved(at, axes_[axis], i), f);
  }

  // Rows that share a parameter, or have one each.
  template <class F>
  void rows(const GradientPart& at, F&& f) const {
    const RunAxis &inner = axes_[0], &outer = axes_[1];
    const std::size_t some = outer.block == 1 ? outer.extent : outer.block;
    for (std::size_t i = 0; i < outer.extent; i += some) {
      GradientPart p = moved(at, outer, i);
      p.length = inner.extent;
      p.count = std::min(some, outer.extent - i);
      p.x = {p.x.first, outer.source, inner.source};
      p.gy = {p.gy.first, outer.third, inner.third};
      p.gx = {p.gx.first, outer.target, inner.target};
      p.params.row_step = outer.block == 1 ? outer.param : 0;
      p.params.group = inner.block >= inner.extent ? driver::whole_row : inner.block;
      p.params.step = inner.param;
      f(std::as_const(p));
    }
  }

  static GradientPart moved(GradientPart at, const RunAxis& axis, std::size_t i) noexcept {
    const auto n = static_cast<std::ptrdiff_t>(i);
    at.x.first += n * axis.source;
    at.gy.first += n * axis.third;
    at.gx.first += n * axis.target;
    at.params.first += i / axis.block * axis.param;
    return at;
  }

  RunAxes axes_;  // innermost first, at least two; of x, gx and, third, gy
};

}  // namespace tq::detail
