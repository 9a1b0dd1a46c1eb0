// SPDX-License-Identifier: MIT
#pragma once
// Helpers for gradient policies that transform their input: the divisor of every slot, and a place
// for floats.

#include <tq/core/detail/run.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/real.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/observer.hpp>
#include <tq/ops/backend/backend.hpp>

#include <concepts>
#include <cstddef>
#include <vector>

namespace tq::detail {

/// Calls f(floats) with a float32 tensor of the shape of `out`: `out` itself, or a row-major
/// temporary.
template <Real Out, class F>
void in_floats(const TensorView<Out>& out, F&& f) {
  if constexpr (std::same_as<Out, float>) {
    f(out);
  } else {
    std::vector<float> own(out.size());
    f(TensorView<float>(own.data(), out.shape()));
  }
}

/// Calls f(x, divisor of the slot, out) for every element.
template <class Gradient, Backend B, class Granularity, Real X, Executor E, class F>
void each_with_divisor(const Granularity& granularity, const TensorView<const X>& x,
                       const TensorView<float>& out, const E& executor, F&& f) {
  Observer<AbsMax, Granularity> most(granularity);
  most.observe(x, executor, on<B>);
  std::vector<float> divisors;
  for (const AbsMax& slot : most.accumulators())
    divisors.push_back(Gradient::divisor(slot.abs_max()));
  const auto each_of = [&](const Run& r) {
    for (std::size_t k = 0; k < r.count; ++k)
      for (std::size_t i = 0; i < r.length; ++i) {
        const auto row = static_cast<std::ptrdiff_t>(k), at = static_cast<std::ptrdiff_t>(i);
        f(static_cast<float>(x.data()[r.source + row * r.source_stride + at]),
          divisors[r.param + k * r.param_stride + i * r.step],
          out.data()[r.target + row * r.target_stride + at]);
      }
  };
  for_each_task(executor, x.shape(), granularity.block(x.shape()), x.strides(), out.strides(),
                [&](auto&& each) { each(each_of); });
}

/// Writes what the policy quantizes in place of `x` to `t`.
template <class Gradient, Backend B, class Granularity, Real X, Executor E>
void transform_input(const Granularity& granularity, const TensorView<const X>& x,
                     const TensorView<float>& t, const E& executor) {
  each_with_divisor<Gradient, B>(granularity, x, t, executor, [](float value, float d, float& out) {
    out = Gradient::transformed(value, d);
  });
}

/// Multiplies the gradients `g` by the slopes of the policy's transform at `x`.
template <class Gradient, Backend B, class Granularity, Real X, Executor E>
void multiply_by_slopes(const Granularity& granularity, const TensorView<const X>& x,
                        const TensorView<float>& g, const E& executor) {
  each_with_divisor<Gradient, B>(granularity, x, g, executor, [](float value, float d, float& out) {
    out *= Gradient::slope(value, d);
  });
}

}  // namespace tq::detail
