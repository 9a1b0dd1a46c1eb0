// SPDX-License-Identifier: MIT
#pragma once
// add_products: sums of products in float64, with a fixed order of additions.

#include <tq/arch/batch.hpp>
#include <tq/arch/scalar.hpp>
#include <tq/config.hpp>
#include <tq/numeric/rounding.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace tq::kernels {

/// The way a product meets its sum.
enum class Product {
  exact,    ///< factors are float32 numbers: their product has no error in float64
  rounded,  ///< the product is rounded to float64 before it is added
};

/// Rows of sums that `add_products` makes together.
inline constexpr std::size_t product_rows = 8;
/// The rows of sums, each from its first column on.
using SumRows = std::array<double*, product_rows>;

namespace detail {

template <class Arch, Product P, std::size_t Rows, std::size_t Registers>
TQ_FORCE_INLINE void product_tile(const double* a, const double* b, std::size_t stride,
                                  std::size_t count, double* const* sums,
                                  std::size_t column) noexcept {
#if TQ_HAS_SIMD
  using Doubles = arch::doubles<Arch>;
  constexpr std::size_t width = Doubles::size;
  Doubles sum[Rows][Registers];
  TQ_UNROLL
  for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
  for (std::size_t c = 0; c < Registers; ++c)
    sum[r][c] = Doubles::load_unaligned(sums[r] + column + c * width);
  for (std::size_t k = 0; k < count; ++k) {
    Doubles factor[Registers];
    TQ_UNROLL
    for (std::size_t c = 0; c < Registers; ++c)
      factor[c] = arch::load_once<Arch>(b + k * stride + column + c * width);
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      const Doubles first(a[k * product_rows + r]);
      TQ_UNROLL
      for (std::size_t c = 0; c < Registers; ++c)
        if constexpr (P == Product::exact) sum[r][c] = xsimd::fma(first, factor[c], sum[r][c]);
        else sum[r][c] = sum[r][c] + arch::uncontracted<Arch>(first * factor[c]);
    }
  }
  TQ_UNROLL
  for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
  for (std::size_t c = 0; c < Registers; ++c)
    sum[r][c].store_unaligned(sums[r] + column + c * width);
#else
  static_cast<void>(a), static_cast<void>(b), static_cast<void>(stride), static_cast<void>(count);
  static_cast<void>(sums), static_cast<void>(column);
#endif
}

template <class Arch, Product P, std::size_t Registers>
TQ_NO_INLINE void product_strip(const double* a, const double* b, std::size_t stride,
                                std::size_t count, const SumRows& sums,
                                std::size_t column) noexcept {
#if TQ_HAS_SIMD
  constexpr std::size_t rows = arch::registers<Arch> == 32 ? product_rows : product_rows / 2;
  for (std::size_t r = 0; r < product_rows; r += rows)
    product_tile<Arch, P, rows, Registers>(a + r, b, stride, count, sums.data() + r, column);
#else
  product_tile<Arch, P, product_rows, Registers>(a, b, stride, count, sums.data(), column);
#endif
}

inline void product_column(const double* a, const double* b, std::size_t stride, std::size_t count,
                           const SumRows& sums, std::size_t column) noexcept {
  for (std::size_t r = 0; r < product_rows; ++r) {
    double sum = sums[r][column];
    for (std::size_t k = 0; k < count; ++k)
      sum += tq::detail::uncontracted(a[k * product_rows + r] * b[k * stride + column]);
    sums[r][column] = sum;
  }
}

}  // namespace detail

/// sums[r][c] += a[k][r] * b[k][c] for every k of `count` in ascending order, in float64; a has
/// `product_rows` numbers for every k, and rows of b begin `stride` numbers apart. The results are
/// the same on every instruction set. Precondition: for `Product::exact`, all factors are float32
/// numbers.
template <class Arch, Product P>
TQ_NO_INLINE void add_products(const double* a, const double* b, std::size_t stride,
                               std::size_t count, const SumRows& sums,
                               std::size_t columns) noexcept {
  if (count == 0) return;  // a and b may be null
  std::size_t c = 0;
#if TQ_HAS_SIMD
  if constexpr (!std::is_same_v<Arch, arch::scalar>) {
    constexpr std::size_t width = arch::doubles<Arch>::size;
    for (; c + 3 * width <= columns; c += 3 * width)
      detail::product_strip<Arch, P, 3>(a, b, stride, count, sums, c);
    for (; c + width <= columns; c += width)
      detail::product_strip<Arch, P, 1>(a, b, stride, count, sums, c);
  }
#endif
  for (; c < columns; ++c) detail::product_column(a, b, stride, count, sums, c);
}

}  // namespace tq::kernels
