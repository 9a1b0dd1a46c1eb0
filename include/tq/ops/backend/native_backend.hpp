// SPDX-License-Identifier: MIT
#pragma once
// backend::native: kernels compiled where they are used.

#include <tq/arch/isa.hpp>
#include <tq/arch/isa_name.hpp>
#include <tq/driver/tiles.hpp>
#include <tq/kernels/abs_max.hpp>
#include <tq/kernels/backward.hpp>
#include <tq/kernels/differences.hpp>
#include <tq/kernels/histogram.hpp>
#include <tq/kernels/min_max.hpp>
#include <tq/kernels/pack.hpp>
#include <tq/kernels/pack_ternary.hpp>
#include <tq/ops/backend/copy_kernel.hpp>
#include <tq/ops/backend/dequantize_kernel.hpp>
#include <tq/ops/backend/fake_quantize_kernel.hpp>
#include <tq/ops/backend/kernel_of.hpp>
#include <tq/ops/backend/native_fallback.hpp>
#include <tq/ops/backend/quantize_kernel.hpp>

#include <string_view>

namespace tq::backend {

/// Kernels compiled into this translation unit for one instruction set.
template <class Arch>
struct native {
  using arch = Arch;
  [[nodiscard]] static constexpr std::string_view isa() noexcept {
    return tq::arch::isa_name<Arch>();
  }
  template <class Operation, driver::KnownParameters Known = driver::KnownParameters{}>
  [[nodiscard]] static constexpr driver::KernelFor<Operation> kernel() noexcept {
    return {detail::operation_kernel<Arch, Operation, Known>};
  }
  using tiles = driver::tiles<Arch>;
  template <bool Integers, NumericsPolicy N, class Gradient>
  using backward = kernels::backward<Arch, Integers, N, Gradient>;
  using histogram = kernels::histogram<Arch>;
  using min_max = kernels::min_max<Arch>;
  using abs_max = kernels::abs_max<Arch>;
  using differences = kernels::differences<Arch>;
  template <class Code>
  using bit_pack = kernels::bit_pack<Arch, Code>;
  using five_in_byte = kernels::five_in_byte<Arch>;
};

}  // namespace tq::backend

namespace tq::kernel_library::detail {

// Kernels that the library does not have.
template <class Operation, driver::KnownParameters Known>
struct include_tq_ops_native_hpp {
  [[nodiscard]] static constexpr driver::KernelFor<Operation> kernel() noexcept {
    return {tq::detail::operation_kernel<arch::native, Operation, Known>};
  }
};
template <bool Integers, class N, class Gradient>
struct include_tq_ops_native_hpp_for_gradients
    : kernels::backward<arch::native, Integers, N, Gradient> {};

}  // namespace tq::kernel_library::detail
