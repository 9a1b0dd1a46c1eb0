// SPDX-License-Identifier: MIT
#pragma once
// group_values: the floats that levels of a group stand for; and values_tile: a few rows of floats
// times a panel of such.

#include <tq/arch/batch.hpp>
#include <tq/arch/group_dot.hpp>
#include <tq/config.hpp>
#include <tq/kernels/group_dot.hpp>
#include <tq/numeric/rounding.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// The map from the levels of a group to values.
struct GroupValues {
  const float* scales;        ///< of 32 columns
  const std::uint8_t* zeros;  ///< of 32 columns, or null where all share `zero`
  std::int32_t zero;
  const float* reals;  ///< 16 values that levels name, in place of numbers; null where they do not
  const float* offsets = nullptr;  ///< of 32 columns, or null where there are none
};

namespace detail {
// A product that is not fused with what is added to it.
template <class Arch, class Floats>
TQ_FORCE_INLINE Floats rounded_product(const Floats& a, const Floats& b) noexcept {
  const Floats product = arch::group_dot<Arch>::times(a, b);
#if TQ_HAS_SIMD
  if constexpr (!std::same_as<Floats, float>) return arch::uncontracted<Arch>(product);
  else
#endif
    return tq::detail::uncontracted(product);
}
}  // namespace detail

/// out[k][c] = (level - zero point) * scale, or reals[level] * scale, rounded once, and again after
/// an offset is added: of `inputs` inputs (a multiple of 4) by 32 columns. Levels are bytes, as
/// `group_levels` writes them.
template <class Arch>
TQ_NO_INLINE void group_values(const std::uint8_t* levels, std::size_t inputs,
                               const GroupValues& of, float* out) noexcept {
  using dot = arch::group_dot<Arch>;
  for (std::size_t c = 0; c < group_columns; c += dot::width) {
    const auto scale = dot::read(of.scales + c);
    const auto zero = of.zeros != nullptr ? dot::numbers(of.zeros + c) : dot::all(of.zero);
    for (std::size_t k = 0; k < inputs; k += 4) {
      const auto four = dot::lanes(dot::load(levels + k * group_columns + 4 * c));
      detail::unrolled<4>([&](auto j) TQ_LAMBDA_INLINE {
        const auto level = dot::template byte<decltype(j)::value>(four);
        const auto value = of.reals != nullptr ? dot::entry(of.reals, level)
                                               : dot::value(dot::subtract(level, zero));
        float* const to = out + (k + static_cast<std::size_t>(j)) * group_columns + c;
        if (of.offsets == nullptr) dot::write(to, dot::times(value, scale));
        else
          dot::write(to, dot::plus(detail::rounded_product<Arch>(value, scale),
                                   dot::read(of.offsets + c)));
      });
    }
  }
}

/// Rows that one call of `values_tile` takes at most.
template <class Arch>
inline constexpr std::size_t values_tile_rows = arch::group_dot<Arch>::float_rows;

namespace detail {

template <class Arch, std::size_t Rows>
TQ_NO_INLINE void values_rows(const float* x, std::size_t stride, const float* values,
                              std::size_t inputs, float* sums) noexcept {
  using dot = arch::group_dot<Arch>;
  constexpr std::size_t width = dot::width, registers = dot::registers;
  for (std::size_t from = 0; from < group_columns; from += registers * width) {
    typename dot::floats total[2][Rows][registers];
    const auto place = [&](std::size_t odd, std::size_t r, std::size_t c) {
      return sums + (2 * r + odd) * group_columns + from + c * width;
    };
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) {
      total[0][r][c] = dot::read(place(0, r, c));
      total[1][r][c] = dot::read(place(1, r, c));
    }
    for (std::size_t k = 0; k < inputs; k += 2)
      unrolled<2>([&](auto odd) TQ_LAMBDA_INLINE {
        constexpr std::size_t o = decltype(odd)::value;
        typename dot::floats v[registers];
        TQ_UNROLL
        for (std::size_t c = 0; c < registers; ++c)
          v[c] = dot::read(values + (k + o) * group_columns + from + c * width);
        TQ_UNROLL
        for (std::size_t r = 0; r < Rows; ++r) {
          const auto a = dot::splat(x[r * stride + k + o]);
          TQ_UNROLL
          for (std::size_t c = 0; c < registers; ++c)
            total[o][r][c] = dot::add_product(a, v[c], total[o][r][c]);
        }
      });
    TQ_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) {
      dot::write(place(0, r, c), total[0][r][c]);
      dot::write(place(1, r, c), total[1][r][c]);
    }
  }
}

template <class Arch, std::size_t Rows>
void values_some_rows(std::size_t rows, const float* x, std::size_t stride, const float* values,
                      std::size_t inputs, float* sums) noexcept {
  if (rows == Rows) return values_rows<Arch, Rows>(x, stride, values, inputs, sums);
  if constexpr (Rows > 1) values_some_rows<Arch, Rows - 1>(rows, x, stride, values, inputs, sums);
}

}  // namespace detail

/// Adds the products of rows of x, which begin `stride` apart, and `values` [inputs, 32] to `sums`
/// [rows, 2, 32]: those of even inputs to one, of odd inputs to the other, in ascending inputs, of
/// which there are an even number. Each is rounded once, with what it is added to, and twice on
/// instruction sets without FMA (`group_dot::fuses`). 1 <= `rows` <= `values_tile_rows`.
template <class Arch>
void values_tile(std::size_t rows, const float* x, std::size_t stride, const float* values,
                 std::size_t inputs, float* sums) noexcept {
  detail::values_some_rows<Arch, values_tile_rows<Arch>>(rows, x, stride, values, inputs, sums);
}

}  // namespace tq::kernels
