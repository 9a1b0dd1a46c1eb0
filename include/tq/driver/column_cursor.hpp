// SPDX-License-Identifier: MIT
#pragma once
// ColumnCursor: from columns to the registers of the block at element i of a row.

#include <tq/arch/lanes.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tq::driver {

/// Where loops find a column: element i of row r has the number of 32 bits that is i & `mask` after
/// begin + r * row_bytes. The mask has all bits, or none where a row shares a number: then there is
/// a register of it.
struct ColumnEntries {
  const unsigned char* begin = nullptr;
  std::size_t row_bytes = 0, mask = 0;
};

/// A column with a number for each element.
template <class T>
  requires(sizeof(T) == 4)
[[nodiscard]] ColumnEntries numbers_at(const T* begin) noexcept {
  return {reinterpret_cast<const unsigned char*>(begin), 0, ~std::size_t{0}};
}
/// A column of one number, of which there are as many copies as a register has.
template <class T>
  requires(sizeof(T) == 4)
[[nodiscard]] ColumnEntries shared_number(const T* copies) noexcept {
  return {reinterpret_cast<const unsigned char*>(copies), 0, 0};
}

/// Numbers of the N columns that a stage reads in one row.
template <class Arch, std::size_t N>
class ColumnCursor {
 public:
  static constexpr bool has_reciprocals = false, per_lane = true;
  static constexpr std::size_t grain = 1;

  TQ_FORCE_INLINE ColumnCursor(const ColumnEntries* all, std::size_t row) noexcept {
    TQ_UNROLL for (std::size_t c = 0; c < N; ++c) {
      begin_[c] = all[c].begin + row * all[c].row_bytes;
      mask_[c] = all[c].mask;
    }
  }

  /// The number of element i: a float or an int32.
  template <class T>
  [[nodiscard]] TQ_FORCE_INLINE T number(std::size_t column, std::size_t i) const noexcept {
    static_assert(sizeof(T) == 4);
    T v;
    std::memcpy(&v, begin_[column] + 4 * (i & mask_[column]), 4);
    return v;
  }
#if TQ_HAS_SIMD
  /// The numbers of register k of the block at element i.
  template <class T>
  [[nodiscard]] TQ_FORCE_INLINE xsimd::batch<T, Arch> numbers(std::size_t column, std::size_t i,
                                                              std::size_t k) const noexcept {
    static_assert(sizeof(T) == 4);
    const std::size_t at = (i + k * arch::width<Arch>)&mask_[column];
    return xsimd::batch<T, Arch>::load_unaligned(reinterpret_cast<const T*>(begin_[column]) + at);
  }
#endif

 private:
  std::array<const unsigned char*, N> begin_;
  std::array<std::size_t, N> mask_;
};

}  // namespace tq::driver
