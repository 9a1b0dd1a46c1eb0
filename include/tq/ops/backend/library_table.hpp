// SPDX-License-Identifier: MIT
#pragma once
// The library's kernels for the instruction set that this file is compiled for. Only the files that
// tq_add_kernels makes include it.

#include <tq/ops/backend/library.hpp>
#include <tq/ops/backend/native_backend.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernel_library {

/// The kernels of a list.
template <class List>
struct Kernels;
template <class... Operations>
struct Kernels<TypeList<Operations...>> {
  driver::Kernel all[sizeof...(Operations)];

  template <class Arch>
  [[nodiscard]] static constexpr Kernels of() noexcept {
    return {{tq::detail::operation_kernel<Arch, Operations>...}};
  }
};
template <std::size_t I>
using Group = Kernels<library_operations::groups::at<I>>;

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
