// SPDX-License-Identifier: MIT
#pragma once
// copy: a tensor in another layout, and as other real numbers.

#include <tq/core/detail/read.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/driver/planes.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace tq {

namespace detail {

// Elements that stay as they are and have no registers to go through.
template <Real T, Executor E>
void copy_elements(const TensorView<const T>& x, const TensorView<T>& out, const E& executor) {
  for_each_task(executor, x.shape(), PerTensor::block(x.shape()), x.strides(), out.strides(),
                [&](auto&& each) {
                  each([&](const Run& r) {
                    for (std::size_t k = 0; k < r.count; ++k) {
                      const auto row = static_cast<std::ptrdiff_t>(k);
                      std::copy_n(x.data() + r.source + row * r.source_stride, r.length,
                                  out.data() + r.target + row * r.target_stride);
                    }
                  });
                });
}

}  // namespace detail

/// Writes the elements of `x` to `out`, rounded once: to nearest even; what is too large for 16
/// bits saturates, float64 that is too large for float32 becomes infinite. The two do not overlap,
/// or are the same. Precondition: the shapes are equal.
template <Backend B = default_backend, Real X, Real Out, Executor E = Serial>
void copy_unchecked(const TensorView<const X>& x, const TensorView<Out>& out,
                    const E& executor = {}) {
  if constexpr (std::same_as<X, Out>)
    if (x.data() == out.data() && x.strides() == out.strides()) return;
  if constexpr (std::same_as<X, Out> && !std::same_as<X, float>)
    detail::copy_elements(x, out, executor);
  else
    detail::sweep_tensor(detail::kernel_for<B>(operation::Copy<X, Out>{}),
                         {x.data(), x.strides(), out.data(), out.strides()}, x.shape(),
                         PerTensor::block(x.shape()), {.scales = driver::ones<B>()}, executor);
}

/// As above, of real numbers of any type. `out` is a span of x.size() elements, or a tensor of the
/// shape of x. Options: an executor, a backend. Throws: `errc::shape_mismatch`;
/// `errc::bad_argument` for extents that memory cannot hold. Nothing is written then.
template <Readable X = ConstTensorView, detail::RealOutput Out = TensorView<float>, class... O,
          Backend B = detail::backend_among<O...>>
void copy(const X& x, Out&& out, const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Out>,
                "tq::copy: the output is a temporary: give it a name first");
  const auto chosen = detail::choose<executor, backend>(options...);
  const auto in = detail::read(x);
  auto to = detail::output<detail::real_output_t<Out>>(std::forward<Out>(out));
  detail::shape_as("tq::copy", "an output", to, in.view().shape());
  copy_unchecked<B>(in.view(), to, chosen.executor());
}
template <Backend B, class... Args>
[[deprecated("tq::copy: pass tq::on<B> as an option")]] void copy(Args&&... args) {
  tq::copy(std::forward<Args>(args)..., on<B>);
}

}  // namespace tq
