// SPDX-License-Identifier: MIT
#pragma once
// Backends: where kernels come from. A backend is a type parameter of everything that reaches a kernel, so
// choosing another one changes the symbol, never the meaning of a symbol.

#include <tq/arch/isa.hpp>
#include <tq/kernels/abs_max.hpp>
#include <tq/kernels/backward.hpp>
#include <tq/kernels/differences.hpp>
#include <tq/kernels/histogram.hpp>
#include <tq/kernels/min_max.hpp>
#include <tq/kernels/pack.hpp>
#include <tq/kernels/pack_ternary.hpp>

namespace tq {

/// A source of kernels. Model: `backend::native`.
template <class B>
concept Backend = requires {
  typename B::arch;
  typename B::min_max;
};

namespace backend {
/// Kernels compiled into this translation unit for one instruction set.
template <class Arch>
struct native {
  using arch = Arch;
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
}  // namespace backend

/// The best instruction set that the compiler flags of this build allow.
using default_backend = backend::native<arch::native>;

}  // namespace tq
