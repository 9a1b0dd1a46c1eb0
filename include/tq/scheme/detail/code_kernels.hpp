// SPDX-License-Identifier: MIT
#pragma once
// The kernels for codes whose element type is known at run time only. Types with the same codes in
// memory, and numerics that make the same codes, share theirs.

#include <tq/core/element.hpp>
#include <tq/core/real.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/sweep.hpp>
#include <tq/ops/detail/widened.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/visit.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::detail {

// An operation of a type that is chosen at run time, held with its kernel.
class HeldOperation {
 public:
  HeldOperation() = default;
  template <class Operation>
  HeldOperation(driver::KernelFor<Operation> kernel, const Operation& operation) noexcept
      : kernel_(&kernel.untyped), bind_([](const driver::Kernel& its, const void* held) noexcept {
          return driver::bind<Operation>({its}, *static_cast<const Operation*>(held));
        }) {
    static_assert(std::is_trivially_copyable_v<Operation> &&
                  sizeof(Operation) <= sizeof(operation_));
    std::memcpy(operation_, &operation, sizeof(operation));
  }
  [[nodiscard]] bool exists() const noexcept { return kernel_ != nullptr; }
  // Precondition: it exists.
  [[nodiscard]] driver::BoundKernel get() const noexcept { return bind_(*kernel_, operation_); }

 private:
  const driver::Kernel* kernel_ = nullptr;
  driver::BoundKernel (*bind_)(const driver::Kernel&, const void* held) noexcept = nullptr;
  alignas(8) unsigned char operation_[24] = {};
};

// A kernel on float32 that is given other real numbers: a piece of them is widened at a time. There
// is no kernel for each type of both. The state is the kernel that is bound to its operation.
template <Backend B, Real T>
void sweep_widened(const void* state, const driver::Operands& operands, const driver::Span& span,
                   const driver::Parameters& params, const driver::Tuning& tuning) noexcept {
  using Rows = Widened<B, T>;
  const auto& of_floats = *static_cast<const driver::BoundKernel*>(state);
  const T* const x = static_cast<const T*>(operands.source) + operands.first;
  Rows widened;
  const auto sweep = [&](const SpanOf& piece) {
    driver::Span rows = piece.span;
    rows.source_stride = static_cast<std::ptrdiff_t>(rows.length);
    rows.source_step = 1;
    driver::Operands own = operands;
    own.source = widened.gather(x + piece.source, piece.span).data();
    own.first = 0;
    own.target = static_cast<std::byte*>(operands.target) +
                 driver::bytes_to(piece.target, of_floats.kernel().sink_bits);
    own.draw_index += static_cast<std::uint64_t>(piece.target);
    driver::sweep(of_floats, own, rows, piece.params, tuning);
  };
  cut({span, params}, Rows::capacity, 1, [&](const SpanOf& part) {
    if (part.span.length <= Rows::capacity) return sweep(part);
    SpanOf group = part;  // one that is longer than there is room
    group.params.group = driver::whole_row;
    cut(group, Rows::capacity, 1, sweep);
  });
}

// A kernel of float32 as one that reads T, which is bound to the first one. Precondition: its codes
// have whole bytes each.
template <Backend B, Real T>
[[nodiscard]] driver::Kernel widening_kernel(const driver::Kernel& of_floats) noexcept {
  return {8 * static_cast<int>(sizeof(T)), of_floats.sink_bits, &sweep_widened<B, T>};
}

// Calls f with a kernel of float32 as one that reads T.
template <Backend B, Real T, class F>
void with_source(const driver::BoundKernel& of_floats, F&& f) {
  if constexpr (std::same_as<T, float>) {
    f(of_floats);
  } else {
    const driver::Kernel kernel = widening_kernel<B, T>(of_floats.kernel());
    f(driver::bind<driver::BoundKernel>({kernel}, of_floats));
  }
}

// From float32 to codes that have whole bytes each. Precondition: a scheme that `validate_encoding`
// accepts.
template <class Types, Backend B>
[[nodiscard]] HeldOperation quantize_kernel_of(const QuantSpec& spec, CodeRange range) {
  using shift = Numerics<NearestEven, PowerOfTwo>;  // where scales are powers of two
  using multiply = Numerics<NearestEven, Reciprocal>;
  using divide = Numerics<NearestEven, Divide>;
  return with_name<HeldOperation>(spec.type, Types{}, [&]<class T>(std::type_identity<T>) {
    const auto by = [&]<class N>(N n) {
      if constexpr (SymmetryFor<FloatOffset, T>)
        if (spec.symmetry == FloatOffset::name) {
          using Operation = operation::QuantizeOffset<float, T, Unpacked, N>;
          return HeldOperation(B::template kernel<Operation>(), Operation{range, n});
        }
      using Operation = operation::Quantize<float, T, Unpacked, N>;
      return HeldOperation(B::template kernel<Operation>(), Operation{range, n});
    };
    if constexpr (is_grid<T>)
      return spec.scale_type != float8_e8m0fnu::name ? by(divide{}) : by(shift{});
    else return multiplies(spec) ? by(multiply{}) : by(divide{});
  });
}

// From codes that have whole bytes each to float32.
template <class Types, Backend B>
[[nodiscard]] HeldOperation dequantize_kernel_of(const QuantSpec& spec) {
  return with_name<HeldOperation>(spec.type, Types{}, [&]<class T>(std::type_identity<T>) {
    if constexpr (SymmetryFor<FloatOffset, T>)
      if (spec.symmetry == FloatOffset::name) {
        using Operation = operation::DequantizeOffset<T, Unpacked, float>;
        return HeldOperation(B::template kernel<Operation>(), Operation{});
      }
    using Operation = operation::Dequantize<T, Unpacked, float>;
    return HeldOperation(B::template kernel<Operation>(), Operation{});
  });
}

}  // namespace tq::detail
