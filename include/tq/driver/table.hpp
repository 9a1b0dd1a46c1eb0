// SPDX-License-Identifier: MIT
#pragma once
// Table: parameters as loops read them. Filling it is all that touches how they are stored.

#include <tq/arch/lanes.hpp>
#include <tq/arch/lookup.hpp>
#include <tq/driver/planes.hpp>
#include <tq/driver/reciprocal.hpp>
#include <tq/driver/span.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tq::driver {

/// Elements that a loop takes at a time.
template <class Arch>
inline constexpr std::size_t block = 32;
#if TQ_HAS_SIMD
template <class Arch>
  requires(!std::is_same_v<Arch, arch::scalar>)
inline constexpr std::size_t block<Arch> = 4 * arch::width<Arch>;
#endif

/// The least number of elements that loops know to share a parameter without its being that of the
/// row.
template <class Arch>
inline constexpr std::size_t least_grain =
    std::is_same_v<Arch, arch::scalar> || block<Arch> < 16 ? block<Arch> : 16;

/// Scales, what stands for 1 / scale (inverse + rest) where loops read that, and zero points or the
/// bits of minimums, which are not there where the planes have none.
template <class Arch>
struct Table {
  static constexpr std::size_t padding = 2 * block<Arch>;  ///< entries behind the last one
  float *inverse, *rest, *scale;
  std::int32_t* origin;
  std::size_t capacity;
  bool divides;  ///< the kernel does, by correctable scales perhaps
  bool has_reciprocals;
  bool all_correctable = true;  ///< of the scales that are in it
  bool has_origins = false;

  /// Entries [at, at + n): n parameters, `stride` apart from number `first` on. After the last ones
  /// `finish` is due.
  TQ_NO_INLINE void read(std::size_t at, const Parameters& p, std::size_t first, std::size_t n,
                         std::size_t stride) noexcept {
    has_origins = p.origins.exists();
    p.scales.read(p.scales.data, first, n, stride, scale + at);
    if (has_origins) p.origins.read(p.origins.data, first, n, stride, origin + at);
  }

  /// Makes what is made of the first n entries, and some behind them, which the last blocks read
  /// for lanes that are of no element.
  TQ_NO_INLINE void finish(std::size_t n) noexcept {
    std::fill_n(scale + n, 2 * width, 1.0f);
    if (has_origins) std::fill_n(origin + n, 2 * width, 0);
    if (divides) all_correctable = invert(scale, n + width, inverse, rest);
  }

  /// The first n entries.
  void take(const Parameters& p, std::size_t first, std::size_t n, std::size_t stride) noexcept {
    read(0, p, first, n, stride);
    finish(n);
  }

  /// The first entry, for all lanes: a register of copies is there at once, while one of which a
  /// lane was just written waits.
  TQ_NO_INLINE void take_one(const Parameters& p, std::size_t first) noexcept {
    has_origins = p.origins.exists();
    float only;
    p.scales.read(p.scales.data, first, 1, 1, &only);
    if (has_origins) p.origins.read(p.origins.data, first, 1, 1, origin);
    std::fill_n(scale, width, only);
    if (divides) all_correctable = invert(scale, 1, inverse, rest);
  }

  /// Origins of 0, for loops that read them wherever there are some.
  TQ_NO_INLINE void take_no_origins() noexcept { std::fill_n(origin, capacity + padding, 0); }

  /// The first n entries, for elements [begin, begin + n) of row `row`.
  TQ_NO_INLINE void take_lanes(const Parameters& p, std::size_t row, std::size_t begin,
                               std::size_t n) noexcept {
    const std::size_t first = p.first + row * p.row_step;
    if (p.group == 1) {
      take(p, first + begin * p.step, n, p.step);
      return fill_block(n);
    }
    Groups groups;
    has_origins = p.origins.exists();
    all_correctable = true;
    std::size_t group = begin / p.group, phase = begin % p.group;
    for (std::size_t at = 0; at < n; phase = 0) {
      const std::size_t some = std::min((phase + n - at - 1) / p.group + 1, groups.capacity),
                        end = std::min(at + some * p.group - phase, n);
      take_groups(p, first + group * p.step, some, groups, origin + at);
      repeat_groups(groups, at, end, p.group, phase);
      group += some;
      at = end;
    }
    fill_block(n);
  }

  /// The first n entries `times` times, one after the other.
  TQ_NO_INLINE void copy(std::size_t n, std::size_t times) noexcept {
    if (times == 1) return;
    for (std::size_t k = 1; k < times; ++k) {
      std::copy_n(scale, n, scale + k * n);
      if (has_origins) std::copy_n(origin, n, origin + k * n);
      if (!has_reciprocals) continue;
      std::copy_n(inverse, n, inverse + k * n);
      std::copy_n(rest, n, rest + k * n);
    }
    fill_block(n * times);
  }

  /// Each of the first n entries `times` times.
  TQ_NO_INLINE void repeat(std::size_t n, std::size_t times) noexcept {
    for (std::size_t k = n; k-- > 0;) {
      std::fill_n(scale + k * times, times, float(scale[k]));
      if (has_origins) std::fill_n(origin + k * times, times, std::int32_t(origin[k]));
      if (!has_reciprocals) continue;
      std::fill_n(inverse + k * times, times, float(inverse[k]));
      std::fill_n(rest + k * times, times, float(rest[k]));
    }
    fill_block(n * times);
  }

 private:
  static constexpr std::size_t width = std::is_same_v<Arch, arch::scalar> ? 1 : block<Arch> / 4;

  // Behind the last entry, for two blocks: see `finish`.
  TQ_FORCE_INLINE void fill_block(std::size_t at) noexcept {
    pad(scale + at, 1.0f);
    if (has_origins) pad(origin + at, 0);
    if (!has_reciprocals) return;
    pad(inverse + at, 1.0f);
    pad(rest + at, 0.0f);
  }
  template <class T>
  TQ_FORCE_INLINE static void pad(T* to, T value) noexcept {
    for (std::size_t k = 0; k < padding; k += width)  // g++ makes a slow instruction of fill_n
      std::fill_n(to + k, width, value);
  }

  // The parameters that the table repeats: of some groups, and of some behind them. Origins are
  // read to the place of the first of their entries.
  struct Groups {
    static constexpr std::size_t capacity = 256;
    alignas(64) float inverse[capacity + 2 * width];
    alignas(64) float rest[capacity + 2 * width];
    alignas(64) float scale[capacity + 2 * width];
    alignas(64) float origin_bits[capacity + 2 * width];
  };
  TQ_FORCE_INLINE void take_groups(const Parameters& p, std::size_t first, std::size_t n, Groups& g,
                                   std::int32_t* entries) noexcept {
    p.scales.read(p.scales.data, first, n, p.step, g.scale);
    std::fill_n(g.scale + n, 2 * width, 1.0f);
    if (has_origins) {
      p.origins.read(p.origins.data, first, n, p.step, entries);
      std::memcpy(g.origin_bits, entries, n * sizeof(float));
      std::fill_n(g.origin_bits + n, 2 * width, 0.0f);
    }
    if (divides) all_correctable = invert(g.scale, n + width, g.inverse, g.rest) && all_correctable;
  }

  // Entries [begin, end): those of `length` elements from each group, but of the first one, which
  // `phase` others have come before. And some behind them, which come next or are padding.
  TQ_NO_INLINE void repeat_groups(const Groups& from, std::size_t begin, std::size_t end,
                                  std::size_t length, std::size_t phase) noexcept {
    // Copies, as what is stored might be these for all g++ knows.
    float *const to_scale = scale, *const to_inverse = inverse, *const to_rest = rest;
    std::int32_t* const to_origin = origin;
    const bool origins = has_origins, reciprocals = has_reciprocals;
    const std::size_t groups = width / length, elements = width % length;  // from step to step
    std::size_t group = 0;
    const auto advance = [&] {
      group += groups;
      phase += elements;
      if (phase >= length) phase -= length, ++group;
    };
#if TQ_HAS_SIMD
    if constexpr (!std::is_same_v<Arch, arch::scalar>) {
      using Floats = arch::floats<Arch>;
      // Lane k is of the group that is (phase + k) / length further. Of a long group only the end
      // counts, so that floats hold it.
      alignas(64) float lane[width];
      for (std::size_t k = 0; k < width; ++k) lane[k] = static_cast<float>(k) + 0.5f;
      const std::size_t end_of_group = std::min(length, 2 * width), before = length - end_of_group;
      const Floats lanes = Floats::load_aligned(lane),
                   per_group(1.0f / static_cast<float>(end_of_group));
      for (std::size_t i = begin; i < end; i += width, advance()) {
        const Floats at(static_cast<float>(phase > before ? phase - before : 0));
        const arch::ints<Arch> index = arch::truncate_to_int<Arch>((lanes + at) * per_group);
        const auto entry = [&](const float* numbers) {
          return arch::lookup<Arch, width>(numbers + group, index);
        };
        entry(from.scale).store_unaligned(to_scale + i);
        if (origins)
          arch::bit_cast<std::int32_t>(entry(from.origin_bits)).store_unaligned(to_origin + i);
        if (!reciprocals) continue;
        entry(from.inverse).store_unaligned(to_inverse + i);
        entry(from.rest).store_unaligned(to_rest + i);
      }
      return;
    }
#endif
    for (std::size_t i = begin; i < end; ++i, advance()) {
      to_scale[i] = from.scale[group];
      if (origins) to_origin[i] = std::bit_cast<std::int32_t>(from.origin_bits[group]);
      if (!reciprocals) continue;
      to_inverse[i] = from.inverse[group];
      to_rest[i] = from.rest[group];
    }
  }

  // The reciprocals of n scales, and of some behind them, where there are some. Whether all of the
  // scales are correctable.
  bool invert(const float* scales, std::size_t n, float* inverses, float* rests) const noexcept {
#if TQ_HAS_SIMD
    if constexpr (!std::is_same_v<Arch, arch::scalar>) {
      using Floats = arch::floats<Arch>;
      using I = arch::ints<Arch>;
      I low(std::bit_cast<std::int32_t>(1.0f)),
          high = low;  // bits have the order of positive floats
      for (std::size_t k = 0; k < n; k += width) {
        const Floats s = Floats::load_unaligned(scales + k);
        if (has_reciprocals) {
          const Floats one_over = arch::divide<Arch>(Floats(1.0f), s);
          one_over.store_unaligned(inverses + k);
          rest_of<Arch>(s, one_over).store_unaligned(rests + k);
        }
        low = xsimd::min(low, arch::bit_cast<std::int32_t>(s));
        high = xsimd::max(high, arch::bit_cast<std::int32_t>(s));
      }
      return !xsimd::any(low < I(std::bit_cast<std::int32_t>(least_correctable))) &&
             !xsimd::any(high > I(std::bit_cast<std::int32_t>(most_correctable)));
    }
#endif
    if (!has_reciprocals) return true;
    for (std::size_t k = 0; k < n; ++k) inverses[k] = 1.0f / scales[k], rests[k] = 0.0f;
    return true;
  }
};

/// The columns of a table, each with those before it.
enum class TableColumns : std::uint8_t { scales, origins, reciprocals };

/// A table with room for `Capacity` entries. Loops that read neither reciprocals nor origins do not
/// need room for them, so the same stack holds more entries.
template <class Arch, std::size_t Capacity, TableColumns Held = TableColumns::reciprocals>
class TableOf : public Table<Arch> {
 public:
  /// A table for a kernel that divides or multiplies, with reciprocals or without. Precondition: a
  /// table with reciprocals holds them.
  explicit TableOf(bool kernel_divides, bool with_reciprocals) noexcept
      : Table<Arch>{inverse_, rest_, scale_, origin_, Capacity, kernel_divides, with_reciprocals} {}
  explicit TableOf(bool kernel_divides) noexcept : TableOf(kernel_divides, kernel_divides) {}
  TableOf(const TableOf&) = delete;
  TableOf& operator=(const TableOf&) = delete;

 private:
  static constexpr std::size_t room_for(TableColumns column) noexcept {
    return Held >= column ? Capacity + Table<Arch>::padding : 1;
  }
  alignas(64) float inverse_[room_for(TableColumns::reciprocals)];
  alignas(64) float rest_[room_for(TableColumns::reciprocals)];
  alignas(64) float scale_[room_for(TableColumns::scales)];
  alignas(64) std::int32_t origin_[room_for(TableColumns::origins)];
};

}  // namespace tq::driver
