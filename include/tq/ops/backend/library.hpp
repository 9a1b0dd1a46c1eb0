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

/// Everything for one instruction set.
struct Table {
  const char* isa;
  const driver::Kernel* groups[library_operations::groups::count];  ///< in the order of the lists
  Functions functions;
};

/// The table of the instruction set that runs.
[[nodiscard]] const Table& table() noexcept;
/// The tables that were built, the best one last.
[[nodiscard]] std::span<const Table* const> tables() noexcept;

namespace detail {
// Calls one of the functions of the table that runs.
template <auto Function>
struct Call;
template <class Result, class... Args, Result (*Functions::*Function)(Args...) noexcept>
struct Call<Function> {
  Result operator()(Args... args) const noexcept { return (table().functions.*Function)(args...); }
};

inline constexpr std::size_t none = ~std::size_t{0};

template <class Operation, class List>
inline constexpr std::size_t position = none;
template <class Operation, class... Ts>
inline constexpr std::size_t position<Operation, TypeList<Ts...>> = [] {
  constexpr bool is[] = {std::is_same_v<Operation, Ts>...};
  for (std::size_t i = 0; i < sizeof...(Ts); ++i)
    if (is[i]) return i;
  return none;
}();

// Where an operation is listed: `index` none where it is not.
struct Place {
  std::size_t group, index;
};
template <class Operation, class Groups>
inline constexpr Place place{};
template <class Operation, class... Lists>
inline constexpr Place place<Operation, library_operations::Groups<Lists...>> = [] {
  constexpr std::size_t at[] = {position<Operation, Lists>...};
  for (std::size_t g = 0; g < sizeof...(Lists); ++g)
    if (at[g] != none) return Place{g, at[g]};
  return Place{0, none};
}();
}  // namespace detail

}  // namespace tq::kernel_library

namespace tq::backend {

/// The kernels of the library that the program is linked with. What is not listed in shipped.hpp
/// (formats, roundings and gradients of the user's) is compiled where it is used, as with
/// `backend::native`, and needs <tq/ops/backend/native_backend.hpp>.
struct library {
  template <class Operation, driver::KnownParameters Known = driver::KnownParameters{}>
  [[nodiscard]] static driver::KernelFor<Operation> kernel() noexcept {
    constexpr auto place = kernel_library::detail::place<Operation, library_operations::groups>;
    if constexpr (place.index != kernel_library::detail::none)
      return {kernel_library::table().groups[place.group][place.index]};
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
  struct differences : kernels::differences<library> {
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
  using five_in_byte = kernels::five_in_byte<library>;
};

}  // namespace tq::backend
