// SPDX-License-Identifier: MIT
#pragma once
// How every operation meets its tensors: from a shape, a granularity and two layouts to kernel calls on an
// executor.

#include <tq/arch/cpu.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/run.hpp>
#include <tq/core/tasks.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/kernels/args.hpp>
#include <tq/kernels/backend.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace tq::detail {

// The kernel's view of a run over arrays of scales and zero points (null where there are none).
[[nodiscard]] inline kernels::Span kernel_span(const Run& r, const float* scales,
                                               const std::int32_t* zero_points) noexcept {
  kernels::Span s;
  s.length = r.length;
  s.count = r.count;
  s.source_stride = r.source_stride;
  s.target_stride = r.target_stride;
  s.scale = scales + r.param;
  if (zero_points != nullptr) s.zero_point = zero_points + r.param;
  s.param_stride = r.param_stride;
  s.step = r.step;
  return s;
}

// How many neighbours share a parameter, as far as the type says.
template <class Granularity>
inline constexpr std::size_t shared_by = kernels::any_number;
template <>
inline constexpr std::size_t shared_by<PerTensor> = kernels::one_parameter;
template <int Size, int Axis>
  requires(Size != dynamic)
inline constexpr std::size_t shared_by<PerGroup<Size, Axis>> = std::size_t{Size};

// A span with what Params says of it.
template <AnyParams Params>
[[nodiscard]] auto known(const kernels::Span& span) noexcept {
  constexpr kernels::Zeros zeros = Params::has_zero_point ? kernels::Zeros::some : kernels::Zeros::none;
  return kernels::KnownSpan<zeros, shared_by<typename Params::granularity_type>>{span};
}

template <AnyParams Params>
inline constexpr kernels::Codes kernel_codes{Params::codes.min, Params::codes.max};

// The number of elements where all of a tensor is one run and the caller's own task, so that it calls the kernel itself: most
// tensors with one parameter are, and the way through runs takes a call 5 to 10 ns. Else 0.
template <Executor E>
[[nodiscard]] std::size_t whole_run(const E& executor, const Shape& shape, const Shape& block, const Strides& source,
                                    const Strides& target) noexcept {
  const std::size_t n = elements_of_one_run(shape, block, source, target);
  return is_one_task(executor, n) ? n : 0;
}

// Throws what `p.check(shape)` says, naming the function, the parameters and the shape.
template <AnyParams Params>
void require_fit(const char* function, const Params& p, const Shape& shape) {
  const errc e = p.check(shape);
  if (e == errc::ok) return;
  require_possible(function, p.granularity(), shape);
  raise(e, std::string(function) + ": the parameters do not fit the tensor: " + std::string(Params::granularity_type::name) +
               " over shape " + to_string(shape) + " expects " + std::to_string(param_count(p.granularity(), shape)) +
               " parameters, got " + std::to_string(p.scales().size()));
}

inline void require_size(const char* function, const char* what, std::size_t expected, std::size_t got) {
  if (expected != got)
    raise(errc::shape_mismatch, std::string(function) + ": expected " + what + " of " +
                                    std::to_string(expected) + ", got " + std::to_string(got));
}

inline void require_shape(const char* function, const char* what, const Shape& expected, const Shape& got) {
  if (!(expected == got))
    raise(errc::shape_mismatch, std::string(function) + ": expected " + what + " of shape " +
                                    to_string(expected) + ", got " + to_string(got));
}

// Makes `view` one of `shape`: a span of as many elements is taken in row-major order, at its own stride.
// Throws when it is neither.
template <class T>
void shape_as(const char* function, const char* what, TensorView<T>& view, const Shape& shape) {
  if (view.shape().rank() == 1 && shape.rank() != 1) {
    require_size(function, what, shape.size(), view.size());
    Strides strides = row_major_strides(shape);
    for (std::ptrdiff_t& s : strides) s *= view.stride(0);
    view = {view.data(), shape, strides};
    return;
  }
  require_shape(function, what, shape, view.shape());
}

// The NanRaises policy: throws before anything is written.
template <Backend B, NumericsPolicy N>
void require_no_nan(const char* function, const ConstTensorView& x) {
  if constexpr (std::same_as<typename N::nan_type, NanRaises>) {
    std::uint64_t found = 0;
    for_each_run(x.shape(), PerTensor::block(x.shape()), x.strides(), x.strides(), [&](const Run& r) {
      for (std::size_t k = 0; k < r.count; ++k)
        found += B::min_max::run(x.data() + r.source + static_cast<std::ptrdiff_t>(k) * r.source_stride, r.length).nan;
    });
    if (found != 0)
      raise(errc::not_finite, std::string(function) + ": expected no NaN (NanRaises), got " + std::to_string(found) +
                                  " in a tensor of shape " + to_string(x.shape()));
  }
}

// The same of other types of numbers.
template <Backend, NumericsPolicy N, class T>
void require_no_nan(const char* function, const TensorView<const T>& x) {
  if constexpr (std::same_as<typename N::nan_type, NanRaises>) {
    std::size_t found = 0;
    for_each_run(x.shape(), PerTensor::block(x.shape()), x.strides(), x.strides(), [&](const Run& r) {
      for (std::size_t k = 0; k < r.count; ++k)
        for (std::size_t i = 0; i < r.length; ++i) {
          const auto v = static_cast<float>(x.data()[r.source + static_cast<std::ptrdiff_t>(k) * r.source_stride +
                                                     static_cast<std::ptrdiff_t>(i)]);
          found += v != v ? 1 : 0;
        }
    });
    if (found != 0)
      raise(errc::not_finite, std::string(function) + ": expected no NaN (NanRaises), got " + std::to_string(found) +
                                  " in a tensor of shape " + to_string(x.shape()));
  }
}

}  // namespace tq::detail
