// SPDX-License-Identifier: MIT
#pragma once
// backend::library: kernels that tq_add_kernels compiled once for several instruction sets, of
// which a program runs the best that its processor has.

#include <tq/driver/kernel.hpp>
#include <tq/kernels/bins.hpp>
#include <tq/kernels/differences.hpp>
#include <tq/kernels/extremes.hpp>
#include <tq/kernels/pack_ternary.hpp>
#include <tq/ops/backend/library_operations.hpp>
#include <tq/ops/backend/native_fallback.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tq::kernel_library {

/// Functions that are no kernels of the driver.
struct Functions {
  kernels::Extremes (*min_max_run)(const float* x, std::size_t n) noexcept;
  void (*min_max_rows)(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride,
                       float* low, float* high) noexcept;
  void (*min_max_columns)(const float* x, std::size_t rows, std::size_t n, std::ptrdiff_t stride,
                          kernels::Extremes* e) noexcept;
  void (*abs_max_rows)(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride,
                       float* out) noexcept;
  std::size_t (*histogram_run)(const float* x, std::size_t n, const kernels::Bins& bins,
                               std::uint64_t* counts, kernels::Counted& c) noexcept;
  std::size_t (*histogram_magnitudes)(const float* x, std::size_t n, const kernels::Bins& bins,
                                      std::uint64_t* counts, kernels::Counted& c) noexcept;
  kernels::Extremes (*histogram_extremes)(const float* x, std::size_t n) noexcept;
  kernels::Extremes (*magnitude_extremes)(const float* x, std::size_t n) noexcept;
  void (*add_differences)(const float* x, const float* y, std::size_t n,
                          kernels::Differences& sums) noexcept;
  void (*pack_signed)(const std::int8_t* codes, unsigned char* out, std::size_t n, int bits,
                      bool low_first) noexcept;
  void (*pack_unsigned)(const std::uint8_t* codes, unsigned char* out, std::size_t n, int bits,
                        bool low_first) noexcept;
  void (*unpack_signed)(const unsigned char* bytes, std::int8_t* codes, std::size_t n, int bits,
                        bool low_first) noexcept;
  void (*unpack_unsigned)(const unsigned char* bytes, std::uint8_t* codes, std::size_t n, int bits,
                          bool low_first) noexcept;
  void (*gather)(const float* from, std::ptrdiff_t row, std::ptrdiff_t column, std::size_t rows,
                 std::size_t columns, float* to, std::size_t pitch) noexcept;
};

/// The functions of one instruction set. Instruction sets that differ in products alone share
/// them.
struct Table {
  const char* isa;
  const Functions* functions;
};

/// The tables that were built, the best one last.
[[nodiscard]] std::span<const Table* const> tables() noexcept;
/// The index in `tables` of the instruction set that runs.
[[nodiscard]] std::size_t running() noexcept;
/// The table of the instruction set that runs.
[[nodiscard]] const Table& table() noexcept;

/// Returns the kernel of an operation for one instruction set.
using KernelFunction = const driver::Kernel& (*)() noexcept;
/// The kernels of an operation, in the order of `tables`. Every operation has functions of its own,
/// so that a linker takes only what a program calls.
template <class Operation>
[[nodiscard]] const KernelFunction* kernels() noexcept;

namespace detail {
// Calls one of the functions of the table that runs.
template <auto Function>
struct Call;
template <class Result, class... Args, Result (*Functions::*Function)(Args...) noexcept>
struct Call<Function> {
  Result operator()(Args... args) const noexcept { return (table().functions->*Function)(args...); }
};
}  // namespace detail

}  // namespace tq::kernel_library

namespace tq::backend {

/// The kernels of a library with the families (`library_operations::Family`). Operations that are
/// not listed in library_operations.hpp (of formats, roundings and gradients of the user's) are
/// compiled where they are used, as with `backend::native`, and need
/// <tq/ops/backend/native_backend.hpp>.
template <unsigned Families>
struct library_of {
  template <class Operation, driver::KnownParameters Known = driver::KnownParameters{}>
  [[nodiscard]] static driver::KernelFor<Operation> kernel() noexcept {
    if constexpr (library_operations::has<Operation, Families>)
      return {kernel_library::kernels<Operation>()[kernel_library::running()]()};
    else return kernel_library::detail::include_tq_ops_native_hpp<Operation, Known>::kernel();
  }

  template <bool Integers, class N, class Gradient>
  using backward =
      kernel_library::detail::include_tq_ops_native_hpp_for_gradients<Integers, N, Gradient>;

  using Functions = kernel_library::Functions;
  template <auto Function>
  using Call = kernel_library::detail::Call<Function>;

  struct tiles {
    static constexpr Call<&Functions::gather> gather{};
  };
  struct min_max {
    static constexpr Call<&Functions::min_max_run> run{};
    static constexpr Call<&Functions::min_max_rows> rows{};
    static constexpr Call<&Functions::min_max_columns> columns{};
  };
  struct abs_max {
    static constexpr Call<&Functions::abs_max_rows> rows{};
  };
  struct histogram {
    template <bool Absolute>
    static constexpr Call<Absolute ? &Functions::histogram_magnitudes : &Functions::histogram_run>
        run{};
    template <bool Absolute>
    static constexpr Call<Absolute ? &Functions::magnitude_extremes
                                   : &Functions::histogram_extremes>
        extremes{};
  };
  struct differences : kernels::differences<library_of> {
    static constexpr Call<&Functions::add_differences> add{};
  };
  template <class Code>
  struct bit_pack {
    static constexpr Call<&Functions::pack_unsigned> pack{};
    static constexpr Call<&Functions::unpack_unsigned> unpack{};
  };
  template <std::signed_integral Code>
  struct bit_pack<Code> {
    static constexpr Call<&Functions::pack_signed> pack{};
    static constexpr Call<&Functions::unpack_signed> unpack{};
  };
  using five_in_byte = kernels::five_in_byte<library_of>;
};

/// The library that the program is linked with.
using library = library_of<library_operations::families>;

}  // namespace tq::backend
