// SPDX-License-Identifier: MIT
#pragma once
// The kernels for codes whose element type is known at run time only. Types with the same codes in
// memory, and numerics that make the same codes, share theirs.

#include <tq/core/element.hpp>
#include <tq/core/scales.hpp>
#include <tq/kernels/code_range.hpp>
#include <tq/kernels/backend.hpp>
#include <tq/model/quant_spec.hpp>
#include <tq/model/visit.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize_kernel.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tq::detail {

// A kernel that makes codes of float32, one in a `code_type` each, and its stage.
template <class Arch>
class AnyQuantize {
 public:
  AnyQuantize() = default;
  template <class Stage>
  AnyQuantize(const driver::Kernel<Arch>& kernel, const Stage& stage) noexcept : kernel_(&kernel) {
    static_assert(std::is_trivially_copyable_v<Stage> && sizeof(Stage) <= sizeof(stage_));
    std::memcpy(stage_, &stage, sizeof(stage));
  }
  [[nodiscard]] bool exists() const noexcept { return kernel_ != nullptr; }
  [[nodiscard]] const driver::Kernel<Arch>& kernel() const noexcept { return *kernel_; }
  [[nodiscard]] const void* stage() const noexcept { return stage_; }

 private:
  const driver::Kernel<Arch>* kernel_ = nullptr;
  alignas(8) unsigned char stage_[24] = {};
};

// Precondition: a scheme that `validate_encoding` accepts.
template <class Types, Backend B>
[[nodiscard]] AnyQuantize<typename B::arch> quantize_kernel_of(const QuantSpec& spec, kernels::Codes range) {
  using Arch = typename B::arch;
  using Any = AnyQuantize<Arch>;
  using shift = Numerics<NearestEven, PowerOfTwo>;  // where scales are powers of two
  using multiply = Numerics<NearestEven, Reciprocal>;
  using divide = Numerics<NearestEven, Divide>;
  return with_name<Any>(spec.type, Types{}, [&]<class T>(std::type_identity<T>) {
    const auto by = [&]<class N>(N n) {
      return Any(quantize_kernel<Arch, float, T, Unpacked, N>, quantize_stage<T, Unpacked>(range, n));
    };
    if constexpr (is_grid<T>) return spec.scale_type != float8_e8m0fnu::name ? by(divide{}) : by(shift{});
    else return multiplies(spec) ? by(multiply{}) : by(divide{});
  });
}

// From codes that have whole bytes each to float32.
template <class Types, Backend B>
[[nodiscard]] const driver::Kernel<typename B::arch>& dequantize_kernel_of(const QuantSpec& spec) {
  using Kernel = driver::Kernel<typename B::arch>;
  return *with_name<const Kernel*>(spec.type, Types{}, []<class T>(std::type_identity<T>) -> const Kernel* {
    return &dequantize_kernel<typename B::arch, T, float>;
  });
}

}  // namespace tq::detail
