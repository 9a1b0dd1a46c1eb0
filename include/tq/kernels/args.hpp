// SPDX-License-Identifier: MIT
#pragma once
// What kernels are called with: raw pointers and plain numbers.

#include <tq/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// The codes in use, both ends included.
struct Codes {
  std::int32_t min, max;
};

/// The byte in which element `i` of those of `Bits` bits begins. As i * Bits / 8, without a multiplication that could wrap.
template <int Bits, class Index>
constexpr Index byte_of(Index i) noexcept {
  static_assert(Bits % 8 == 0 || 8 % Bits == 0);
  if constexpr (Bits % 8 == 0) return i * (Bits / 8);
  else return i / (8 / Bits);
}

}  // namespace tq::kernels
