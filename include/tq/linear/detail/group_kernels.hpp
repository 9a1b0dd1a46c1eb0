// SPDX-License-Identifier: MIT
#pragma once
// GroupKernels and FloatKernels: the functions of an instruction set that products of groups and of
// floats call; of the kernel library for `kernel_library::Running`.

#include <tq/arch/group_dot.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/kernels/group_row.hpp>
#include <tq/kernels/group_values.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/library_groups.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace tq::detail {

/// Functions of floats. Members:
///   rows()    rows that one call of `tile` takes at most
///   tile      `kernels::values_tile`
template <class Arch>
struct FloatKernels {
  static constexpr std::size_t rows() noexcept { return kernels::values_tile_rows<Arch>; }
  static void tile(std::size_t rows, const float* x, std::size_t stride, const float* values,
                   std::size_t inputs, float* sums) noexcept {
    kernels::values_tile<Arch>(rows, x, stride, values, inputs, sums);
  }
};

/// Functions of weights in groups. Members:
///   has_wide                          whether levels above 31 have functions of their own
///   tile_rows(), row_rows<Bits>()     rows that one call of `tile` and of `row` takes at most,
///   most_tile_rows, most_row_rows     and bounds of them that are known when this is compiled
///   tile, levels, row, values         `kernels::group_tile`, `group_levels`, ...
template <class Arch>
struct GroupKernels {
  /// Sums of bytes have instructions of their own beside some instruction sets.
  using Bytes = arch::best_group<Arch>;
  static constexpr bool has_wide = kernels::group_has_wide<Bytes>;
  static constexpr std::size_t most_tile_rows = kernels::group_tile_rows<Bytes>;
  template <class Bits>
  static constexpr std::size_t most_row_rows = kernels::group_row_rows<Arch, Bits>;
  static constexpr std::size_t tile_rows() noexcept { return most_tile_rows; }
  template <class Bits>
  static constexpr std::size_t row_rows() noexcept {
    return most_row_rows<Bits>;
  }

  template <class Bits>
  static void tile(std::size_t rows, const kernels::GroupRows& x, const kernels::GroupPanel& w,
                   const kernels::GroupExtent& extent, float* out, std::size_t stride) noexcept {
    kernels::group_tile<Bytes, Bits>(rows, x, w, extent, out, stride);
  }
  template <class Bits>
  static void levels(const std::uint8_t* codes, std::size_t units, const std::uint8_t* table,
                     std::uint8_t* out) noexcept {
    kernels::group_levels<Arch, Bits>(codes, units, table, out);
  }
  template <class Bits, bool Reals, bool Offsets>
  static void row(std::size_t rows, const float* x, std::size_t stride,
                  const kernels::GroupPanel& w, const kernels::GroupExtent& extent,
                  const kernels::GroupValues& of, float* sums) noexcept {
    kernels::group_row<Arch, Bits, Reals, Offsets>(rows, x, stride, w, extent, of, sums);
  }
  static void values(const std::uint8_t* levels, std::size_t inputs, const kernels::GroupValues& of,
                     float* out) noexcept {
    kernels::group_values<Arch>(levels, inputs, of, out);
  }
};

template <>
struct FloatKernels<kernel_library::Running> {
  static std::size_t rows() noexcept { return kernel_library::float_tiles().rows; }
  static void tile(std::size_t rows, const float* x, std::size_t stride, const float* values,
                   std::size_t inputs, float* sums) noexcept {
    kernel_library::float_tiles().tile(rows, x, stride, values, inputs, sums);
  }
};

template <>
struct GroupKernels<kernel_library::Running> {
  static constexpr bool has_wide = true;
  static constexpr std::size_t most_tile_rows = 8;  // more than any instruction set has
  template <class Bits>
  static constexpr std::size_t most_row_rows = Bits::width == 4 && !Bits::has_table ? 8 : 1;
  static std::size_t tile_rows() noexcept { return kernel_library::group_tiles().rows; }
  template <class Bits>
  static std::size_t row_rows() noexcept {
    return most_row_rows<Bits> == 1 ? 1 : kernel_library::float_tiles().rows;
  }

  template <class Bits>
  static void tile(std::size_t rows, const kernels::GroupRows& x, const kernels::GroupPanel& w,
                   const kernels::GroupExtent& extent, float* out, std::size_t stride) noexcept {
    std::get<kernel_library::GroupTile<Bits>>(kernel_library::group_tiles().tiles)
        .of(rows, x, w, extent, out, stride);
  }
  template <class Bits>
  static void levels(const std::uint8_t* codes, std::size_t units, const std::uint8_t* table,
                     std::uint8_t* out) noexcept {
    using Narrow = kernels::LevelBits<Bits::width, Bits::has_table, false>;
    if constexpr (Bits::width != 8)  // bytes are read as they are
      std::get<kernel_library::GroupLevels<Narrow>>(kernel_library::group_levels())
          .of(codes, units, table, out);
  }
  template <class Bits, bool Reals, bool Offsets>
  static void row(std::size_t rows, const float* x, std::size_t stride,
                  const kernels::GroupPanel& w, const kernels::GroupExtent& extent,
                  const kernels::GroupValues& of, float* sums) noexcept {
    std::get<kernel_library::GroupRow<Bits, Reals, Offsets>>(kernel_library::group_rows().rows)
        .of(rows, x, stride, w, extent, of, sums);
  }
  static void values(const std::uint8_t* levels, std::size_t inputs, const kernels::GroupValues& of,
                     float* out) noexcept {
    kernel_library::group_rows().values(levels, inputs, of, out);
  }
};

}  // namespace tq::detail
