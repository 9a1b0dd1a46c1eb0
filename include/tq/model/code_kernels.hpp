// SPDX-License-Identifier: MIT
#pragma once
// The kernels for codes whose element type is known at run time only. Types with the same codes in
// memory, and numerics that make the same codes, share theirs.

#include <tq/core/element.hpp>
#include <tq/core/scales.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/visit.hpp>
#include <tq/numeric/code_range.hpp>
#include <tq/ops/backend.hpp>
#include <tq/ops/operations.hpp>
#include <tq/ops/sweep.hpp>

#include <concepts>
#include <cstddef>
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
  void sweep(const driver::Operands& operands, const driver::Span& span,
             const driver::Parameters& params) const noexcept {
    driver::sweep(get(), operands, span, params);
  }

 private:
  const driver::Kernel* kernel_ = nullptr;
  driver::BoundKernel (*bind_)(const driver::Kernel&, const void* held) noexcept = nullptr;
  alignas(8) unsigned char operation_[24] = {};
};

// From float32 to codes that have whole bytes each. Precondition: a scheme that `validate_encoding`
// accepts.
template <class Types, Backend B>
[[nodiscard]] HeldOperation quantize_kernel_of(const QuantSpec& spec, CodeRange range) {
  using shift = Numerics<NearestEven, PowerOfTwo>;  // where scales are powers of two
  using multiply = Numerics<NearestEven, Reciprocal>;
  using divide = Numerics<NearestEven, Divide>;
  return with_name<HeldOperation>(spec.type, Types{}, [&]<class T>(std::type_identity<T>) {
    const auto by = [&]<class N>(N n) {
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
  return with_name<HeldOperation>(spec.type, Types{}, []<class T>(std::type_identity<T>) {
    using Operation = operation::Dequantize<T, Unpacked, float>;
    return HeldOperation(B::template kernel<Operation>(), Operation{});
  });
}

}  // namespace tq::detail
