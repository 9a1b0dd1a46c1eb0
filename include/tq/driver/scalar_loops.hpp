// SPDX-License-Identifier: MIT
#pragma once
// Loops without SIMD, element by element: the whole of a kernel for scalar code, and for the
// others what is done with elements that a stage refuses.

#include <tq/config.hpp>
#include <tq/driver/bits.hpp>
#include <tq/driver/column_cursor.hpp>
#include <tq/driver/cursor.hpp>
#include <tq/driver/kernel.hpp>
#include <tq/driver/policies.hpp>
#include <tq/driver/row.hpp>
#include <tq/driver/rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tq::driver::detail {

/// Result of a stage for the value of element i, by the entries of a table or by columns.
template <class Arch, class T, class V>
TQ_FORCE_INLINE auto made_of_one(const T& stage, V v, const Entries& e, std::size_t i,
                                 std::uint64_t draw_index) noexcept {
  const std::size_t at = e.of(i);
  const std::int32_t origin = e.origin != nullptr ? e.origin[at] : 0;
  return stage.template one<Arch>(v, e.scale[at], origin, draw_index);
}
template <class Arch, class T, class V, std::size_t N>
TQ_FORCE_INLINE auto made_of_one(const T& stage, V v, const ColumnCursor<Arch, N>& c, std::size_t i,
                                 std::uint64_t draw_index) noexcept {
  return stage.template one<Arch>(v, c, i, draw_index);
}

/// Elements one by one: without SIMD all of them, else those that a stage refuses.
template <class Arch, class S, class T, class K>
struct scalar_fallback {
  static constexpr std::size_t step = 2 * block<Arch>;

  using Row = RowOf<Arch, S, K>;

  // Elements [i, i + n) of a row. In pieces, as a row whose address was taken would be in memory.
  template <class E>
  static TQ_FORCE_INLINE void run(const Row& row, std::size_t i, std::size_t n, const E& e,
                                  const T& stage) noexcept {
    run(row.source(), row.out, i, n, e, stage, row.draw_index);
  }

 private:
  template <class E>
  static void run(typename Row::Source in, unsigned char* out, std::size_t i, std::size_t n,
                  const E& e, const T& stage, std::uint64_t draw_index) noexcept {
    alignas(64) unsigned char to[bytes_of<K::bits>(step)];
    for (const std::size_t end = i + n; i < end; i += step) {
      const std::size_t m = std::min(step, end - i);
      if constexpr (K::bits < 8) std::memset(to, 0, sizeof(to));
      for (std::size_t k = 0; k < m; ++k)
        K::template put_one<Arch>(
            to, k, made_of_one<Arch>(stage, Row::one(in, i + k), e, i + k, draw_index + i + k));
      std::memcpy(out + byte_at<K::bits>(i), to, bytes_of<K::bits>(m));
    }
  }
};

/// Whether loops are needed for parameters without origins, and for those with some.
template <class T, KnownParameters Known>
inline constexpr bool reads_none = !T::takes_origins || !Known.has_origins;
template <class T, KnownParameters Known>
inline constexpr bool reads_some = T::takes_origins && !Known.lacks_origins;

/// Without SIMD there is nothing else.
template <class Arch, class S, class T, class K>
struct loops {
  enum class Entry { row, block, element };
  template <Entry Of, bool Origins>
  static void rows(const RowBatch<Arch>& r) noexcept {
    const T stage = state_of<T>(r.stage);
    RowOf<Arch, S, K> row(r);
    for (std::size_t k = 0; k < r.count; ++k, row.advance(r))
      scalar_fallback<Arch, S, T, K>::run(row, 0, r.n, entries<Of, Origins>(r, k), stage);
  }
  template <Entry Of, bool Origins>
  static auto entries(const RowBatch<Arch>& r, std::size_t row) noexcept {
    if constexpr (columns_of<T> != 0) {
      return ColumnCursor<Arch, columns_of<T>>(r.columns, row);
    } else {
      return Entries{r.table->scale, Origins ? r.table->origin : nullptr, row * r.entry_step,
                     Of == Entry::row     ? one_entry
                     : Of == Entry::block ? r.shift
                                          : 0};
    }
  }
  static constexpr bool can_stream = false;
  template <Form F, std::size_t Grain>
  static constexpr bool exists = F != Form::per_grain || Grain == block<Arch>;
  template <Form F, std::size_t Grain, KnownParameters Known, bool>
  static constexpr LoopsOfForm<Arch> of() noexcept {
    constexpr Entry entry = F == Form::constant    ? Entry::row
                            : F == Form::per_grain ? Entry::block
                                                   : Entry::element;
    LoopsOfForm<Arch> loops;
    if constexpr (reads_none<T, Known>) loops.stored[0] = &rows<entry, false>;
    if constexpr (reads_some<T, Known>) loops.stored[1] = &rows<entry, true>;
    return loops;
  }
};

}  // namespace tq::driver::detail
