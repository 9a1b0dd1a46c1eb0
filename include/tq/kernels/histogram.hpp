// SPDX-License-Identifier: MIT
#pragma once
// Counts values in bins of equal width, a power of two.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/bins.hpp>
#include <tq/kernels/min_max.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tq::kernels {

#if TQ_HAS_SIMD

template <class Arch>
struct histogram {
  template <bool Absolute>
  static std::size_t run(const float* x, std::size_t n, const Bins& bins, std::uint64_t* counts,
                         Counted& c) noexcept {
    if (bins.exponent < -127 || n < width)
      return detail::count_exactly<Arch, Absolute>(x, n, bins, counts, c);
    std::size_t done = 0;
    while (bins.count <= capacity && n - done >= many) {
      const std::size_t m = n - done < most ? n - done : most;
      const std::size_t counted = count_in_tables<Absolute>(x + done, m, bins, counts, c);
      done += counted;
      if (counted < m) return done;
    }
    for (std::size_t m = 0, counted = 0; done < n; done += counted) {
      m = n - done < at_once ? n - done : at_once;
      counted = count<Absolute, 1>(x + done, m, bins, counts, c);
      if (counted < m) return done + counted;
    }
    return done;
  }

  template <bool Absolute>
  static Extremes extremes(const float* x, std::size_t n) noexcept {
    if constexpr (!Absolute) {
      return min_max<Arch>::run(x, n);
    } else {
      constexpr std::size_t part = 2048;
      alignas(64) float magnitudes[part];
      Extremes all;
      for (std::size_t i = 0; i < n; i += part) {
        const std::size_t m = n - i < part ? n - i : part;
        std::size_t k = 0;
        for (; k + width <= m; k += width)
          xsimd::abs(Floats::load_unaligned(x + i + k)).store_aligned(magnitudes + k);
        for (; k < m; ++k) magnitudes[k] = x[i + k] < 0.0f ? -x[i + k] : x[i + k];
        const Extremes e = min_max<Arch>::run(magnitudes, m);
        all.min = e.min < all.min ? e.min : all.min;
        all.max = e.max > all.max ? e.max : all.max;
        all.nan += e.nan;
        all.infinite += e.infinite;
      }
      return all;
    }
  }

 private:
  using L = arch::lanes<Arch>;
  using Floats = arch::floats<Arch>;
  using I = arch::ints<Arch>;
  static constexpr std::size_t width = arch::width<Arch>, block = Counted::block;
  static constexpr std::size_t at_once = std::size_t{1} << 30;  // zeros are counted in 32 bits
  // From `many` values on, neighbours are counted in different tables: an increment of a count that
  // was just stored waits for that store, and there may be nothing but zeros. After `most` values
  // no sum of two counts exceeds 16 bits.
  static constexpr std::size_t tables = 8, many = 8192, most = 131072;
  static constexpr std::int32_t capacity = 2048;

  // Turns blocks into places in `Tables` interleaved tables.
  template <bool Absolute, std::size_t Tables>
  class Places {
   public:
    explicit TQ_FORCE_INLINE Places(const Bins& bins) noexcept
        : scale_(static_cast<float>(detail::bins_per_unit(bins.exponent))),
          lo_(infinity),
          hi_(-infinity),
          zeros_(0),
          first_(bins.first),
          next_(bins.first + 1),
          outside_(-bins.count) {}

    // False when the block has a value without a bin. x * 2^-k is exact where it is 1 or more in
    // magnitude. Infinite and large values become int32's ends, which stay outside when `first` is
    // subtracted.
    TQ_FORCE_INLINE bool of(const float* x, std::int32_t* out) noexcept {
      Floats lo = lo_, hi = hi_;
      I bits(0), zeros = zeros_;
      for (std::size_t i = 0; i < block; i += width) {
        Floats v = Floats::load_unaligned(x + i);
        if constexpr (Absolute) v = xsimd::abs(v);
        lo = xsimd::min(lo, v);
        hi = xsimd::max(hi, v);
        zeros = zeros + arch::int_where<Arch>(v == Floats(0.0f), 1);
        using arch::bit_cast;
        const Floats start = Absolute ? bit_cast<float>(first_)
                                      : xsimd::select(v < Floats(0.0f), bit_cast<float>(next_),
                                                      bit_cast<float>(first_));
        const I index = arch::truncate_to_int<Arch>(v * scale_) - bit_cast<std::int32_t>(start);
        bits = bits | index;
        if constexpr (L::conversion_saturates) bits = bits | arch::int_where<Arch>(v != v, -1);
        (shift == 0 ? index : index << shift).store_aligned(out + i);
      }
      if (xsimd::any((bits & outside_) != I(0))) return false;
      lo_ = lo;
      hi_ = hi;
      zeros_ = zeros;
      return true;
    }
    TQ_FORCE_INLINE void add_to(Counted& c) const noexcept {
      const float lo = L::lowest(lo_), hi = L::highest(hi_);
      c.extremes.min = lo < c.extremes.min ? lo : c.extremes.min;
      c.extremes.max = hi > c.extremes.max ? hi : c.extremes.max;
      alignas(64) std::int32_t zeros[width];
      zeros_.store_aligned(zeros);
      for (const std::int32_t z : zeros) c.zeros += static_cast<std::uint32_t>(z);
    }

   private:
    static constexpr float infinity = std::numeric_limits<float>::infinity();
    static constexpr int shift = std::bit_width(Tables) - 1;
    Floats scale_, lo_, hi_;
    I zeros_, first_, next_, outside_;
  };

  template <std::size_t Tables, class Count>
  static TQ_FORCE_INLINE void increment(const std::int32_t* places, Count* table) noexcept {
    for (std::size_t i = 0; i < block; i += 8) {
      const auto two = [&](std::size_t k) TQ_LAMBDA_INLINE {  // one load for both
        std::uint64_t pair = 0;
        std::memcpy(&pair, places + i + k, sizeof pair);
        ++table[(pair & 0xffffffffu) + k % Tables];
        ++table[(pair >> 32) + (k + 1) % Tables];
      };
      two(0);
      two(2);
      two(4);
      two(6);
    }
  }

  // Always a block ahead, so that the arithmetic of one runs beside the increments of the other. A
  // block that has a value without a bin is counted one by one.
  template <bool Absolute, std::size_t Tables, class Count>
  static TQ_FORCE_INLINE std::size_t count(const float* x, std::size_t n, const Bins& bins,
                                           Count* table, Counted& c) noexcept {
    alignas(64) std::int32_t places[2][block];
    Places<Absolute, Tables> places_of(bins);
    std::size_t i = 0, at = 0;
    for (;;) {
      bool ready = n - i >= block && places_of.of(x + i, places[at]);
      while (ready) {
        ready = n - i >= 2 * block && places_of.of(x + i + block, places[at ^ 1]);
        increment<Tables>(places[at], table);
        at ^= 1;
        i += block;
      }
      if (n - i < block || !c.has_room()) break;
      count_slowly<Absolute, Tables>(x + i, block, bins, table, c);
      i += block;
    }
    const std::size_t rest = n - i;
    if (rest > 0 && rest < block) {  // in a block that repeats the last value
      float padded[block];
      std::memcpy(padded, x + i, rest * sizeof(float));
      for (std::size_t k = rest; k < block; ++k) padded[k] = x[n - 1];
      if (places_of.of(padded, places[0])) {
        for (std::size_t k = 0; k < rest; ++k)
          ++table[static_cast<std::size_t>(places[0][k]) + k % Tables];
        if (x[n - 1] == 0.0f) c.zeros -= block - rest;
        i = n;
      } else if (c.has_room()) {
        count_slowly<Absolute, Tables>(x + i, rest, bins, table, c);
        i = n;
      }
    }
    places_of.add_to(c);
    return i;
  }
  template <bool Absolute, std::size_t Tables, class Count>
  static TQ_NO_INLINE void count_slowly(const float* x, std::size_t n, const Bins& bins,
                                        Count* table, Counted& c) noexcept {
    detail::count_each<Arch, Absolute>(x, n, bins, c, [&](std::int32_t index, std::size_t k) {
      ++table[static_cast<std::size_t>(index) * Tables + k % Tables];
    });
  }

  // Counts of 16 bits: eight tables fill half the first cache, and some processors guess wrong, at
  // a high price, which earlier store of 32 or 64 bits an increment has to wait for.
  template <bool Absolute>
  static TQ_NO_INLINE std::size_t count_in_tables(const float* x, std::size_t n, const Bins& bins,
                                                  std::uint64_t* counts, Counted& c) noexcept {
    alignas(64) std::uint16_t table[tables * static_cast<std::size_t>(capacity)];
    std::memset(table, 0, static_cast<std::size_t>(bins.count) * tables * sizeof(std::uint16_t));
    const Extremes before = c.extremes;
    c.extremes = Extremes{};
    const std::size_t counted = count<Absolute, tables>(x, n, bins, table, c);
    const Extremes seen = c.extremes;
    c.extremes = before;
    if (!(seen.min <= seen.max)) return counted;
    const std::int32_t end = bin_index(seen.max, bins.exponent) - bins.first;
    for (std::int32_t i = bin_index(seen.min, bins.exponent) - bins.first; i <= end; ++i) {
      std::uint64_t four[2];
      std::memcpy(four, table + static_cast<std::size_t>(i) * tables, sizeof four);
      const std::uint64_t sum = four[0] + four[1], even = 0x0000ffff0000ffff;
      const std::uint64_t two = (sum & even) + ((sum >> 16) & even);
      counts[i] += (two + (two >> 32)) & 0xffffffffu;
    }
    c.extremes.min = seen.min < before.min ? seen.min : before.min;
    c.extremes.max = seen.max > before.max ? seen.max : before.max;
    return counted;
  }
};

#endif

}  // namespace tq::kernels
