// SPDX-License-Identifier: MIT
#pragma once
// Loops over rows: heads, bodies, tails and streaming, for any source, stage and sink. Those
// without SIMD are in driver/scalar_loops.hpp.

#include <tq/arch/cpu.hpp>
#include <tq/arch/prefetch.hpp>
#include <tq/driver/bits.hpp>
#include <tq/driver/column_cursor.hpp>
#include <tq/driver/column_sweep.hpp>
#include <tq/driver/cursor.hpp>
#include <tq/driver/kernel.hpp>
#include <tq/driver/policies.hpp>
#include <tq/driver/row.hpp>
#include <tq/driver/rows.hpp>
#include <tq/driver/scalar_loops.hpp>
#include <tq/driver/stores.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

namespace tq::driver {

namespace detail {

#if TQ_HAS_SIMD

/// A stage, and the values that it keeps in registers for all rows.
template <class Arch, class T>
struct BoundStage {
  T stage;
  typename kept_by<Arch, T>::type kept;
  TQ_FORCE_INLINE explicit BoundStage(const T& t) noexcept : stage(t), kept(stage) {}
};

/// By steps of a block, or of two.
template <class Arch, class S, class T, class K>
  requires(!std::is_same_v<Arch, arch::scalar>)
struct loops<Arch, S, T, K> {
  static constexpr bool sink_pairs = pairs<K, Arch>;
  static constexpr std::size_t blocks_per_step = sink_pairs || pairs<T, Arch> ? 2 : 1,
                               step = blocks_per_step * block<Arch>;
  static constexpr std::size_t in_bytes = bytes_of<S::bits>(step),
                               out_bytes = bytes_of<K::bits>(step);
  // The fewest whole steps that are whole lines of the target.
  static constexpr std::size_t streamed_at_once = [] {
    constexpr std::size_t bits = 8 * arch::line_bytes;
    return std::lcm(step, bits / std::gcd(bits, static_cast<std::size_t>(K::bits)));
  }();
  using Registers = typename S::template registers<Arch>[4];
  static constexpr bool by_lanes = ByLanes<T, S, Arch>, finds = FindsElements<S>;
  // Where blocks of the source may begin.
  static constexpr std::size_t source_grain = [] {
    if constexpr (finds) return S::template grain<Arch>;
    else return elements_of_whole_bytes<S::bits>;
  }();

  // Whether the two blocks of a step may overlap where a row has one parameter.
  template <class P>
  static constexpr bool overlaps =
      blocks_per_step == 2 && !sink_pairs && !T::draws && !finds && S::bits % 8 == 0 &&
      K::bits % 8 == 0 && std::is_same_v<P, Constant<Arch>>;

  // Converts and writes the blocks `v` at element i, which begin `apart` elements from each other;
  // false if the stage refuses them.
  template <bool Origins, bool Stream, class P>
  static TQ_FORCE_INLINE bool one_step(const Registers (&v)[blocks_per_step], unsigned char* out,
                                       const P& p, std::size_t i, const BoundStage<Arch, T>& d,
                                       [[maybe_unused]] std::uint64_t draw_index,
                                       std::size_t apart = block<Arch>) noexcept {
    if constexpr (by_lanes) {
      static_assert(blocks_per_step == 1);
      arch::floats<Arch> made[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) made[k] =
          d.stage.template lanes<Arch, Origins>(v[0][k], p, i, k);
      K::template put<Arch, Stream>(out, made);
    } else {
      typename T::template made<Arch> made[blocks_per_step];
      if (!d.stage.template blocks<Arch, Origins>(v, p, i, draw_index + i, d.kept, made))
          [[unlikely]]
        return false;
      if constexpr (sink_pairs) K::template put<Arch, Stream>(out, made[0], made[1]);
      else
        TQ_UNROLL for (std::size_t b = 0; b < blocks_per_step; ++b)
            K::template put<Arch, Stream>(out + b * byte_at<K::bits>(apart), made[b]);
    }
    return true;
  }

  // The blocks of a step, from memory where they lie side by side.
  static TQ_FORCE_INLINE void load(const unsigned char* in, std::size_t apart,
                                   Registers (&v)[blocks_per_step]) noexcept {
    TQ_UNROLL for (std::size_t b = 0; b < blocks_per_step; ++b)
        S::template load<Arch>(in + b * byte_at<S::bits>(apart), v[b]);
  }

  using Row = RowOf<Arch, S, K>;
  // Whether the source has blocks where those of a row begin.
  static TQ_FORCE_INLINE bool begins_block([[maybe_unused]] const Row& row) noexcept {
    if constexpr (finds) return row.first % source_grain == 0;
    else return true;
  }

  // Functions out of line take copies, so that the loops keep their objects in registers.
  template <class E>
  static TQ_RARE void scalar_fallback(Row row, std::size_t i, std::size_t n, E e,
                                      T stage) noexcept {
    detail::scalar_fallback<Arch, S, T, K>::run(row, i, n, e, stage);
  }
  template <bool Origins, class P>
  static TQ_FORCE_INLINE void refused(const Row& row, std::size_t i, std::size_t n, const P& p,
                                      const T& stage) noexcept {
    if constexpr (columns_of<T> != 0) {
      scalar_fallback(row, i, n, p, stage);
    } else {
      Entries e = p.entries();
      if (!Origins) e.origin = nullptr;
      scalar_fallback(row, i, n, e, stage);
    }
  }

  // The step at element i of a row.
  template <bool Origins, bool Stream, class P>
  static TQ_FORCE_INLINE void at_step(const Row& row, std::size_t i, const P& p,
                                      const BoundStage<Arch, T>& d,
                                      std::size_t apart = block<Arch>) noexcept {
    Registers v[blocks_per_step];
    if constexpr (finds)
      TQ_UNROLL for (std::size_t b = 0; b < blocks_per_step; ++b)
          S::template load<Arch>(row.in, row.number(i + b * block<Arch>), v[b]);
    else load(row.from(i), apart, v);
    if (!one_step<Origins, Stream>(v, row.to(i), p, i, d, row.draw_index, apart)) [[unlikely]]
      refused<Origins>(row, i, step - block<Arch> + apart, p, d.stage);
  }

  // `bytes`, rounded up to whole registers.
  static constexpr std::size_t whole_registers(std::size_t bytes) noexcept {
    constexpr std::size_t size = sizeof(typename arch::lanes<Arch>::bytes);
    return (bytes + size - 1) / size * size;
  }

  // The n elements from element i on, less than a step: the same on padded copies, where there are.
  template <bool Origins, class P>
  static TQ_NO_INLINE void part(Row row, std::size_t i, std::size_t n, P p, BoundStage<Arch, T> d,
                                bool past_cache = false) noexcept {
    if constexpr (finds) {
      refused<Origins>(row, i, n, p, d.stage);
    } else {
      alignas(64) unsigned char from[whole_registers(in_bytes)] = {},
                                to[whole_registers(out_bytes)];
      copy_some<Arch, true>(from, row.from(i), bytes_of<S::bits>(n));
      Registers v[blocks_per_step];
      load(from, block<Arch>, v);
      if (!one_step<Origins, false>(v, to, p, i, d, row.draw_index)) [[unlikely]]
        return refused<Origins>(row, i, n, p, d.stage);
      if constexpr (K::bits < 8) K::clear_from(to, n);
      const std::size_t whole =
          past_cache ? bytes_of<K::bits>(n) / arch::line_bytes * arch::line_bytes : 0;
      stream_lines<Arch>(row.to(i), to, whole);
      copy_some<Arch, false>(row.to(i) + whole, to + whole, bytes_of<K::bits>(n) - whole);
    }
  }

  static TQ_FORCE_INLINE void ask(const unsigned char* in, const unsigned char* out,
                                  const How& how) noexcept {
    if constexpr (!finds) {
      if (how.lines != 0)
        TQ_UNROLL for (std::size_t b = 0; b < in_bytes; b += 64)
            arch::prefetch<true>(in, how.lines + static_cast<std::ptrdiff_t>(b));
      if (how.pages != 0 && reinterpret_cast<std::uintptr_t>(in) % arch::page_bytes < in_bytes)
        arch::prefetch<true>(in, how.pages);
    }
    if (how.written_pages != 0 &&
        reinterpret_cast<std::uintptr_t>(out) % arch::page_bytes < out_bytes)
      arch::prefetch<true>(out, how.written_pages);
  }

  // The elements [i, end) of a row by parts, of which whole lines may go past the cache.
  template <bool Origins, class P>
  static TQ_FORCE_INLINE void parts(const Row& row, std::size_t i, std::size_t end, const P& p,
                                    const BoundStage<Arch, T>& d, bool past_cache) noexcept {
    for (; i < end; i += std::min(step, end - i))
      part<Origins>(row, i, std::min(step, end - i), p, d, past_cache);
  }

  // A row past the cache, but for the lines that it shares with others.
  template <bool Origins, class P>
  static TQ_FORCE_INLINE void streamed_row(const Row& row, const P& p, const BoundStage<Arch, T>& d,
                                           const How& how) noexcept {
    const std::size_t n = row.n;
    if (!begins_block(row)) return refused<Origins>(row, 0, n, p, d.stage);
    std::size_t i = 0;
    if (how.shifted) {
      arch::prefetch(row.out, static_cast<std::ptrdiff_t>(bytes_of<K::bits>(n)));
      const std::size_t head = elements_to_line<K::bits>(row.out);
      if (head % elements_of_whole_bytes<S::bits> != 0)
        return cached_row<Origins>(row, p, d);  // would cut a byte
      i = std::min(head, n);
      parts<Origins>(row, 0, i, p, d, false);
    }
    for (const std::size_t end = i + (n - i) / streamed_at_once * streamed_at_once; i < end;
         i += step) {
      ask(row.from(i), row.to(i), how);
      at_step<Origins, true>(row, i, p, d);
    }
    parts<Origins>(row, i, n, p, d, true);
  }

  // A row into the cache. The last step, or the second block of the only one, does some elements
  // again, which is faster than a copy of a part.
  template <bool Origins, class P>
  static TQ_FORCE_INLINE void cached_row(const Row& row, const P& p,
                                         const BoundStage<Arch, T>& d) noexcept {
    constexpr std::size_t grain =
        std::max(P::grain, std::max(source_grain, elements_of_whole_bytes<K::bits>));
    if (!begins_block(row)) return refused<Origins>(row, 0, row.n, p, d.stage);
    const bool in_place = S::bits == K::bits && row.in == row.out;  // would read what was written
    const std::size_t n = row.n, reach = n / grain * grain;
    std::size_t i = 0, stop = n / step * step, end = reach >= step && !in_place ? reach : stop,
                apart = block<Arch>;
    if constexpr (overlaps<P>)
      if (n < step && n >= block<Arch> && !in_place) {
        apart = n - block<Arch>;
        stop = end = n;
      }
    for (;;) {  // twice, so that there is one copy of a step
      for (; i < stop; i += step) at_step<Origins, false>(row, i, p, d, apart);
      if (stop >= end) break;
      i = end - step;
      stop = end;
    }
    if (end < n) part<Origins>(row, end, n - end, p, d);
  }

  // A row of which not all scales are correctable.
  template <bool Origins, class P>
  static TQ_RARE void mixed_row(Row row, P p, BoundStage<Arch, T> d) noexcept {
    const Entries e = p.entries();
    for (std::size_t i = 0; i < row.n; i += step) {
      const std::size_t m = std::min(step, row.n - i);
      bool usable = true;
      for (std::size_t k = e.of(i); k <= e.of(i + m - 1); ++k)
        usable = usable && correctable(e.scale[k]);
      if (usable) part<Origins>(row, i, m, p, d);
      else refused<Origins>(row, i, m, p, d.stage);
    }
  }

  // Calls f(row, cursor) for each of some rows.
  template <class P, class F>
  static TQ_FORCE_INLINE void each(const RowBatch<Arch>& at, F&& f) noexcept {
    Row row(at);
    if constexpr (columns_of<T> != 0) {
      for (std::size_t k = 0; k < at.count; ++k, row.advance(at)) f(row, P(at.columns, k));
    } else {
      const Table<Arch> table = *at.table;  // a copy, so that stores cannot alias it
      for (std::size_t k = 0; k < at.count; ++k, row.advance(at))
        f(row, P(table, k * at.entry_step, at.shift));
    }
  }

  // The loop for a form, out of line.
  template <class P, bool Stream, bool Origins>
  static TQ_NO_INLINE void rows(const RowBatch<Arch>& r) noexcept {
    const RowBatch<Arch> at = r;  // copies, so that stores cannot alias them
    [[maybe_unused]] const How how = r.how;
    const BoundStage<Arch, T> d(state_of<T>(r.stage));
    if constexpr (corrects || divides<T, Arch> == Divides::by_correctable)
      if (!at.table->all_correctable)
        return each<P>(at, [&](const Row& row, const P& p) { mixed_row<Origins>(row, p, d); });
    each<P>(at, [&](const Row& row, const P& p) TQ_LAMBDA_INLINE {
      if constexpr (Stream) streamed_row<Origins>(row, p, d, how);
      else cached_row<Origins>(row, p, d);
    });
  }

  static constexpr bool corrects = divides<T, Arch> == Divides::where_correctable,
                        can_stream = K::bits % 8 == 0 || K::bits == 4;

  template <Form F, std::size_t Grain>
  struct cursor {
    using type = std::conditional_t<F == Form::per_lane, PerLane<Arch>, cursor_of<Arch, T>>;
  };
  template <std::size_t Grain>
  struct cursor<Form::per_grain, Grain> {
    using type = std::conditional_t<Grain == block<Arch>, PerBlock<Arch>, PerGrain<Arch, Grain>>;
  };

  template <Form F, std::size_t Grain>
  static constexpr bool exists = F != Form::per_grain || Grain >= least_grain<Arch>;
  // Streaming loops wait for memory, where reading origins of 0 costs nothing unless every element
  // has its own: loops that read origins then serve spans without origins, too.
  template <Form F, std::size_t Grain, KnownParameters Known, bool Streams>
  static constexpr LoopsOfForm<Arch> of() noexcept {
    using P = typename cursor<F, Grain>::type;
    using Past = std::conditional_t<corrects, typename streamed<P>::type, P>;
    constexpr bool none = reads_none<T, Known>, some = reads_some<T, Known>,
                   reads_much = !std::is_same_v<Past, P>;
    LoopsOfForm<Arch> loops;
    if constexpr (none) loops.stored[0] = &rows<P, false, false>;
    if constexpr (some) loops.stored[1] = &rows<P, false, true>;
    if constexpr (Streams && none && (!some || reads_much))
      loops.streamed[0] = &rows<Past, true, false>;
    if constexpr (Streams && some) loops.streamed[1] = &rows<Past, true, true>;
    return loops;
  }
};

#endif

/// A policy's form for elements that have whole bytes each.
template <class Policy>
struct loose_form {
  using type = Policy;
};
template <class Policy>
  requires requires { typename Policy::loose; }
struct loose_form<Policy> {
  using type = typename Policy::loose;
};

/// The loops that read by S, go through T and write by K. Elements without bits of their own are
/// always unpacked first. Those of tiles, which stay in the cache, do not stream.
template <class Arch, Source S, Stage T, Sink K, KnownParameters Known, bool Streams = true>
inline constexpr RowLoops<Arch> row_loops = [] {
  static_assert(complete<Arch, S, T, K>());
  using From = typename loose_form<S>::type;
  using To = typename loose_form<K>::type;
  using L = loops<Arch, std::conditional_t<S::bits == 0 && !FindsElements<S>, From, S>, T, K>;
  constexpr std::size_t n = block<Arch>;
  constexpr bool streams = Streams && L::can_stream;
  RowLoops<Arch> k{.source_bits = S::bits,
                   .sink_bits = K::bits,
                   .streams = streams,
                   .takes_origins = T::takes_origins,
                   .divides = divides<T, Arch> != Divides::no,
                   .draws = T::draws,
                   .corrects = divides<T, Arch> == Divides::where_correctable,
                   .finds = FindsElements<S>,
                   .columns = columns_of<T>};
  static_assert(columns_of<T> <= ColumnSweep<Arch>::most);
  const auto add = [&]<Form F, std::size_t Grain>(LoopsOfForm<Arch>& to) {
    if constexpr (L::template exists<F, Grain> && is_needed<Arch>(Known, F, Grain))
      to = L::template of<F, Grain, Known, streams>();
  };
  if constexpr (requires { requires !T::takes_scales; }) {  // then all forms are alike
    k.constant = k.per_lane = L::template of<Form::constant, 0, Known, streams>();
    std::ranges::fill(k.per_grain, k.constant);
  } else {
    add.template operator()<Form::constant, 0>(k.constant);
    add.template operator()<Form::per_grain, n>(k.per_grain[0]);
    add.template operator()<Form::per_grain, n / 2>(k.per_grain[1]);
    add.template operator()<Form::per_grain, n / 4>(k.per_grain[2]);
    add.template operator()<Form::per_lane, 0>(k.per_lane);
  }
  if constexpr (!std::is_same_v<From, S> || !std::is_same_v<To, K>)
    k.loose = &row_loops<Arch, From, T, To, Known, false>;
  if constexpr (!std::is_same_v<From, S>) k.unpack = &S::template unpack<Arch>;
  if constexpr (!std::is_same_v<To, K>) k.pack = &K::template pack<Arch>;
  return k;
}();

}  // namespace detail

}  // namespace tq::driver
