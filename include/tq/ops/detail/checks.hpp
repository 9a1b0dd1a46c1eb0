// SPDX-License-Identifier: MIT
#pragma once
// Checks of operations before anything is written.

#include <tq/bodies.hpp>
#include <tq/core/detail/expectations.hpp>
#include <tq/core/detail/require_fit.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/backend/backend.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tq::detail {

// The text is made in a function that is no template, once for all types.
TQ_CORE_API void refuse_nan(const char* function, std::uint64_t found, const Shape& shape);

// Makes `view` one of `shape`: a span of as many elements is taken in row-major order, at its own
// stride. Throws when it is neither, and where memory cannot hold so many.
template <class T>
void shape_as(const char* function, const char* what, TensorView<T>& view, const Shape& shape) {
  static_cast<void>(require_extents(function, shape));
  if (view.shape().rank() == 1 && shape.rank() != 1) {
    require_size(function, what, shape.size(), view.size());
    Strides strides = row_major_strides(shape);
    if (view.size() != 0)  // else strides may be any numbers
      for (std::ptrdiff_t& s : strides) s *= view.stride(0);
    view = {view.data(), shape, strides};
    return;
  }
  require_shape(function, what, shape, view.shape());
}
#ifdef TQ_KERNEL_LIBRARY
extern template void shape_as(const char*, const char*, TensorView<float>&, const Shape&);
extern template void shape_as(const char*, const char*, TensorView<const float>&, const Shape&);
extern template void shape_as(const char*, const char*, TensorView<std::uint8_t>&, const Shape&);
extern template void shape_as(const char*, const char*, TensorView<std::int8_t>&, const Shape&);
extern template void shape_as(const char*, const char*, TensorView<const std::uint8_t>&,
                              const Shape&);
extern template void shape_as(const char*, const char*, TensorView<const std::int8_t>&,
                              const Shape&);
#endif

// NaN among n neighbours.
template <Backend B, class T>
[[nodiscard]] std::uint64_t nan_count(const T* x, std::size_t n) noexcept {
  if constexpr (std::same_as<T, float>) {
    return B::min_max::run(x, n).nan;
  } else {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto v = static_cast<float>(x[i]);
      found += v != v ? 1 : 0;
    }
    return found;
  }
}

// The RaiseNan policy: throws before anything is written.
template <Backend B, NumericsPolicy N, class T>
void require_no_nan(const char* function, const TensorView<const T>& x) {
  if constexpr (std::same_as<typename N::nan_type, RaiseNan>) {
    std::uint64_t found = 0;
    const auto count = [&](const Run& r) {
      for (std::size_t k = 0; k < r.count; ++k) {
        const auto row = static_cast<std::ptrdiff_t>(k);
        found += nan_count<B>(x.data() + r.source + row * r.source_stride, r.length);
      }
    };
    for_each_run(x.shape(), PerTensor::block(x.shape()), x.strides(), x.strides(), count);
    refuse_nan(function, found, x.shape());
  }
}

}  // namespace tq::detail

#ifndef TQ_KERNEL_LIBRARY
#include <tq/ops/detail/checks.ipp>
#endif
