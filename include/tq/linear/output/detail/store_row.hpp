// SPDX-License-Identifier: MIT
#pragma once
// store_row: values that are made beside each other, to where they belong.

#include <tq/core/tensor_view.hpp>

#include <array>
#include <cstddef>

namespace tq::detail {

// The values that make(first, count, out) writes, some at a time, at steps of `step`.
template <class T, class Make>
void store_row(T* to, std::ptrdiff_t step, std::size_t count, const Make& make) {
  if (step == 1) return make(std::size_t{0}, count, to);
  std::array<T, 64> some;
  for (std::size_t i = 0; i < count; i += some.size()) {
    const std::size_t n = count - i < some.size() ? count - i : some.size();
    make(i, n, some.data());
    for (std::size_t k = 0; k < n; ++k) to[static_cast<std::ptrdiff_t>(i + k) * step] = some[k];
  }
}

// The same from column `column` of row `row` of a matrix on.
template <class T, class Make>
void store_row(const TensorView<T>& y, std::size_t row, std::size_t column, std::size_t count,
               const Make& make) {
  store_row(y.data() + static_cast<std::ptrdiff_t>(row) * y.stride(0) +
                static_cast<std::ptrdiff_t>(column) * y.stride(1),
            y.stride(1), count, make);
}

}  // namespace tq::detail
