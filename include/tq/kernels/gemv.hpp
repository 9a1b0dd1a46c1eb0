// SPDX-License-Identifier: MIT
#pragma once
// gemv: one row of numbers times a panel of weights, which are read once, as fast as memory gives
// them.

#include <tq/arch/pair_dot.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/config.hpp>
#include <tq/driver/gemm_tuning.hpp>
#include <tq/kernels/panel_layout.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// The sums that a tile starts from: zeros, or those in its output.
enum class Start : bool { zero, sums };

namespace detail {
inline constexpr std::size_t cache_line = 64;

// Adds the products of one step, and prefetches weights of later steps.
template <class Dot, std::size_t Registers>
TQ_FORCE_INLINE void gemv_step(const typename Dot::number* x, const std::int8_t* b,
                               typename Dot::sums (&sums)[Registers]) noexcept {
  const typename Dot::numbers a = Dot::splat(x);
  TQ_UNROLL
  for (std::size_t c = 0; c < Registers; ++c) {
    const std::int8_t* at = b + Dot::depth * c * Dot::width;
    if constexpr (Dot::width > 1)
      if (c * Dot::depth * Dot::width % cache_line == 0)
        arch::prefetch(at, driver::gemv_bytes_ahead);
    sums[c] = Dot::add(sums[c], a, Dot::load(at));
  }
}
}  // namespace detail

/// As `gemm_tile` of one row: `out` has `Dot::columns` sums. Steps are added by turns to two sums,
/// so that none waits for the one before.
template <class Dot>
TQ_NO_INLINE void gemv(const typename Dot::number* x, const std::int8_t* panel, std::size_t steps,
                       std::int32_t* out, Start start = Start::zero) noexcept {
  constexpr std::size_t width = Dot::width, columns = Dot::columns, depth = Dot::depth,
                        registers = width == 1 ? 1 : columns / width;
  for (std::size_t from = 0; from < columns; from += registers * width) {
    typename Dot::sums even[registers], odd[registers];
    TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c) {
      even[c] = start == Start::zero ? Dot::zero() : Dot::read(out + from + c * width);
      odd[c] = Dot::zero();
    }
    const std::int8_t* b = panel + depth * from;
    std::size_t k = 0;
    for (; k + 2 <= steps; k += 2) {
      detail::gemv_step<Dot>(x + depth * k, b + depth * columns * k, even);
      detail::gemv_step<Dot>(x + depth * (k + 1), b + depth * columns * (k + 1), odd);
    }
    if (k < steps) detail::gemv_step<Dot>(x + depth * k, b + depth * columns * k, even);
    TQ_UNROLL
    for (std::size_t c = 0; c < registers; ++c)
      Dot::store(out + from + c * width, Dot::plus(even[c], odd[c]));
  }
}

}  // namespace tq::kernels
