// SPDX-License-Identifier: MIT
#pragma once
// take_multiple: takes a multiple of a row of numbers from a row of sums.

#include <tq/config.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::detail {

// sums[c] -= factor * of_column[c], modulo 2^32 or 2^64. Compilers make registers of a loop whose
// length they know.
template <std::size_t Columns, class Sum>
TQ_FORCE_INLINE void take_multiple(Sum* __restrict sums, std::int64_t factor,
                                   const std::int32_t* __restrict of_column) noexcept {
  using Bits = std::make_unsigned_t<Sum>;
  const auto times = static_cast<Bits>(factor);
  for (std::size_t c = 0; c < Columns; ++c)
    sums[c] =
        static_cast<Sum>(static_cast<Bits>(sums[c]) - times * static_cast<Bits>(of_column[c]));
}

}  // namespace tq::detail
