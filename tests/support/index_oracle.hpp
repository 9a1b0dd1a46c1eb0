// SPDX-License-Identifier: MIT
#pragma once
// Element by element, from the definitions: where an index lies and which parameter block it
// belongs to.

#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "support/inputs.hpp"

namespace oracle {

/// Calls f(index) for every multi-index of `shape` in row-major order.
template <class F>
void each_index(const tq::Shape& shape, F&& f) {
  std::size_t n = 1;
  for (int i = 0; i < shape.rank(); ++i) n *= shape[i];
  std::vector<std::size_t> index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t rest = k;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      index[static_cast<std::size_t>(i)] = rest % shape[i];
      rest /= shape[i];
    }
    f(index);
  }
}

inline std::ptrdiff_t offset(const std::vector<std::size_t>& index, const tq::Strides& strides) {
  std::ptrdiff_t o = 0;
  for (std::size_t i = 0; i < index.size(); ++i)
    o += static_cast<std::ptrdiff_t>(index[i]) * strides[i];
  return o;
}

/// The number of the block of `block` extents that holds `index`, row-major over the grid of
/// blocks.
inline std::size_t param(const std::vector<std::size_t>& index, const tq::Shape& shape,
                         const tq::Shape& block) {
  std::size_t p = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::size_t blocks = (shape[i] + block[i] - 1) / block[i];
    p = p * blocks + index[static_cast<std::size_t>(i)] / block[i];
  }
  return p;
}

/// Memory layouts: dense or with gaps, axes in any order.
struct Layout {
  tq::Strides strides{};
  std::size_t extent = 0;    // elements of memory needed
  std::ptrdiff_t first = 0;  // where element (0, 0, ...) lies
};
inline Layout layout(const tq::Shape& shape, inputs::Random& r, bool permute, bool gaps,
                     bool backwards = false) {
  std::vector<int> order(static_cast<std::size_t>(shape.rank()));
  std::iota(order.begin(), order.end(), 0);
  if (permute)
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[r.below(i)]);
  Layout l;
  std::size_t step = gaps && r.chance(20) ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const int axis = order[i];
    const bool back = backwards && r.chance(25);
    l.strides[static_cast<std::size_t>(axis)] =
        back ? -static_cast<std::ptrdiff_t>(step) : static_cast<std::ptrdiff_t>(step);
    if (back && shape[axis] > 0) l.first += static_cast<std::ptrdiff_t>(step * (shape[axis] - 1));
    step *= shape[axis] == 0 ? 1 : shape[axis];
    if (gaps && r.chance(30)) step += 1 + r.below(3);
  }
  l.extent = step + 8;
  return l;
}

/// A shape of at most about `limit` elements.
inline tq::Shape shape(inputs::Random& r, int rank, std::size_t limit) {
  std::vector<std::size_t> e(static_cast<std::size_t>(rank));
  std::size_t n = 1;
  for (std::size_t& x : e) {
    const std::size_t choices[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 40, 64, 65};
    x = choices[r.below(14)];
    while (n * x > limit && x > 1) x /= 2;
    n *= x;
  }
  for (std::size_t i = e.size(); i > 1; --i) std::swap(e[i - 1], e[r.below(i)]);
  if (rank > 0 && r.chance(5)) e[r.below(e.size())] = 0;
  return tq::Shape(std::span<const std::size_t>(e));
}

}  // namespace oracle
