// SPDX-License-Identifier: MIT
#pragma once
// The library's kernels for the instruction set that this file is compiled for. Only the files that
// tq_add_kernels makes include it.

#include <tq/ops/backend/library.hpp>
#include <tq/ops/backend/library_lists.hpp>
#include <tq/ops/backend/native_backend.hpp>

#include <cstdint>

namespace tq::kernel_library {

template <class Isa, class Operation>
const driver::Kernel& kernel_for() noexcept {
  return tq::detail::operation_kernel<arch::native, Operation>;
}

template <class Arch>
constexpr Functions functions_of() noexcept {
  using B = backend::native<Arch>;
  return {.min_max_run = &B::min_max::run,
          .min_max_rows = &B::min_max::rows,
          .min_max_columns = &B::min_max::columns,
          .abs_max_rows = &B::abs_max::rows,
          .histogram_run = &B::histogram::template run<false>,
          .histogram_magnitudes = &B::histogram::template run<true>,
          .histogram_extremes = &B::histogram::template extremes<false>,
          .magnitude_extremes = &B::histogram::template extremes<true>,
          .add_differences = &B::differences::add,
          .pack_signed = &B::template bit_pack<std::int8_t>::pack,
          .pack_unsigned = &B::template bit_pack<std::uint8_t>::pack,
          .unpack_signed = &B::template bit_pack<std::int8_t>::unpack,
          .unpack_unsigned = &B::template bit_pack<std::uint8_t>::unpack,
          .gather = &B::tiles::template gather<float>};
}

}  // namespace tq::kernel_library
