// SPDX-License-Identifier: MIT
#pragma once
// read_floats: a tensor as float32, whatever its real numbers are.

#include <tq/core/buffer.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/copy.hpp>

#include <concepts>

namespace tq::detail {

// A row-major copy of other real numbers.
class FloatCopy {
 public:
  template <Real T, Executor E>
  FloatCopy(const char* function, const TensorView<const T>& x, const E& executor)
      : shape_(x.shape()), values_(require_extents(function, x.shape())) {
    copy_unchecked(x, TensorView<float>(values_.data(), shape_), executor);
  }
  [[nodiscard]] ConstTensorView view() const noexcept { return {values_.data(), shape_}; }

 private:
  Shape shape_;
  Buffer<float> values_;
};

/// Float32 is referred to, other real numbers are copied. Throws: `errc::bad_argument` for extents
/// that memory cannot hold.
template <Readable X, Executor E = Serial>
[[nodiscard]] auto read_floats(const char* function, const X& x, const E& executor = {}) {
  if constexpr (std::same_as<real_of<X>, float>) return read(x);
  else return FloatCopy(function, read(x).view(), executor);
}

}  // namespace tq::detail
