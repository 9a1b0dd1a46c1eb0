// SPDX-License-Identifier: MIT
#pragma once
// RowMajor: the elements of a tensor side by side in row-major order.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tq::detail {

// Copies elements to a tensor of the same shape and other strides.
template <class T>
void copy_to_strides(const TensorView<const T>& x, const TensorView<T>& out) {
  for_each_run(x.shape(), x.shape(), x.strides(), out.strides(), [&](const Run& r) {
    for (std::size_t k = 0; k < r.count; ++k) {
      const auto row = static_cast<std::ptrdiff_t>(k);
      std::copy_n(x.data() + r.source + row * r.source_stride, r.length,
                  out.data() + r.target + row * r.target_stride);
    }
  });
}

// The elements where they are, if they lie so, or a copy. `x` must outlive it.
template <class T>
class RowMajor {
 public:
  explicit RowMajor(const TensorView<const T>& x) : x_(x) {
    if (x.is_contiguous()) return;
    copy_ = Buffer<T>(x.size());
    copy_to_strides(x, TensorView<T>(copy_.data(), x.shape()));
  }
  [[nodiscard]] std::span<const T> span() const noexcept {
    return x_.is_contiguous() ? x_.flat() : copy_.span();
  }

 private:
  TensorView<const T> x_;
  Buffer<T> copy_;
};

}  // namespace tq::detail
