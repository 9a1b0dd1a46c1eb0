// SPDX-License-Identifier: MIT
#pragma once
// Sources, stages and sinks: what loops read of them, so that a misspelt name is an error.

#include <tq/driver/column_cursor.hpp>
#include <tq/driver/columns.hpp>
#include <tq/driver/cursor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::driver {

/// How a stage applies scales. Without SIMD it divides.
enum class Divides : std::uint8_t {
  no,                 ///< multiplies by them, or divides by the processor's division
  by_reciprocals,     ///< multiplies by 1 / scale
  by_correctable,     ///< the same, but only by those that are `correctable()`
  where_correctable,  ///< finds the quotient by 1 / scale and its rest, but only by those; or
                      ///< divides by scales, where a cursor has no reciprocals
};

/// Default for stages without a type `kept`, whose objects are made of the stage once and stay in
/// registers while it goes over rows.
struct NothingKept {
  explicit NothingKept(const auto&) noexcept {}
};

/// A source reads registers of floats or int32 from elements of `bits` bits. Smallest model:
///
///     struct Bytes {
///       static constexpr int bits = 8;
///       template <class Arch>
///       static std::int32_t one(const unsigned char* p, std::size_t i) noexcept { return p[i]; }
///       template <class Arch>
///       using registers = arch::ints<Arch>;
///       template <class Arch>
///       static void load(const unsigned char* p, arch::ints<Arch> (&v)[4]) noexcept {
///         arch::lanes<Arch>::template widen8<false>(p, v);
///       }
///     };
/// Where elements share bytes, `loose` is the source of those that have whole bytes, and
/// `unpack<Arch>` makes them; where they have no bits of their own (`bits` is 0), all are unpacked.
/// But a source that says itself where bits are has a `grain<Arch>`: `one` and `load(p, i, v)` are
/// given where all of it begins and the number of an element, for `load` a multiple of the grain,
/// which is at most a block. See `kernels::Q4K`.
template <class S>
concept Source = requires(const unsigned char* p, std::size_t i) {
  { S::bits } -> std::convertible_to<int>;
  S::template one<arch::scalar>(p, i);
};

/// A stage is arithmetic between a source and a sink; it knows neither memory nor lengths. It is
/// an object, as it may have numbers of its own. Smallest model:
///
///     struct Scaled {
///       static constexpr bool takes_origins = false, draws = false;
///       template <class Arch>
///       static constexpr Divides divides = Divides::no;
///       template <class Arch>
///       float one(float v, float scale, std::int32_t, std::uint64_t) const noexcept;
///       template <class Arch, bool Origins, class P>
///       arch::floats<Arch> lanes(const arch::floats<Arch>& v, const P& p, std::size_t i,
///                                std::size_t k) const noexcept {
///         return p.scaled(v, i, k);
///       }
///     };
/// A stage that does not turn each register into a register of floats has `blocks` in place of
/// `lanes`: `blocks` makes N blocks at once, `made<Arch>` each, or refuses, and then `one` is used.
/// See `kernels::Quantize`. A stage whose results depend on the index of the element `draws`.
/// With `takes_scales` false, a single form is compiled. A stage with a number of `columns` takes
/// neither scales nor origins: its blocks get a cursor of columns, and `one` gets that cursor and
/// the index of the element in place of a scale and an origin. See `kernels::Rescale`.
template <class T>
concept Stage = std::copyable<T> && requires {
  { T::takes_origins } -> std::convertible_to<bool>;
  { T::draws } -> std::convertible_to<bool>;
};

/// A sink writes what a stage made as elements of `bits` bits, into the cache or past it; a block
/// at a time, or where it `pairs` them two. `put_one` of packed elements needs memory of zeros.
/// Smallest model:
///
///     struct Plain {
///       static constexpr int bits = 32;
///       template <class Arch>
///       static void put_one(unsigned char* p, std::size_t i, float v) noexcept;
///       template <class Arch, bool Stream>
///       static void put(unsigned char* p, const arch::floats<Arch> (&v)[4]) noexcept;
///     };
/// Where elements share bytes, `loose` is the sink of those that have whole bytes, `pack<Arch>`
/// packs them, and `clear_from` makes zeros of what a byte has behind the last one.
template <class K>
concept Sink = requires {
  { K::bits } -> std::convertible_to<int>;
  requires K::bits > 0;
};

namespace detail {

/// Whether a source says itself where the bits of an element are.
template <class S>
concept FindsElements = requires {
  { S::template grain<arch::scalar> } -> std::convertible_to<std::size_t>;
};

/// How many columns a stage names.
template <class T>
inline constexpr std::size_t columns_of = 0;
template <class T>
  requires requires { T::columns; }
inline constexpr std::size_t columns_of<T> = T::columns;

template <class S, class Arch>
concept Unpacks = (S::bits > 0 && S::bits % 8 == 0) ||
                  requires(const unsigned char* in, std::size_t n, unsigned char* out) {
                    typename S::loose;
                    S::template unpack<Arch>(in, n, n, out);
                  };
template <class K, class Arch>
concept Packs =
    K::bits % 8 == 0 || requires(const unsigned char* in, std::size_t n, unsigned char* out) {
      typename K::loose;
      K::template pack<Arch>(in, n, out);
      K::clear_from(out, n);
    };
template <class S, class T, class K, class Arch>
concept OneOfColumns =
    requires(const T& stage, unsigned char* p, std::size_t i,
             const ColumnCursor<Arch, columns_of<T>>& cursor, std::uint64_t draw_index) {
      K::template put_one<Arch>(
          p, i, stage.template one<Arch>(S::template one<Arch>(p, i), cursor, i, draw_index));
    };
template <class S, class T, class K, class Arch>
concept OneOfScales = requires(const T& stage, unsigned char* p, std::size_t i, float scale,
                               std::int32_t origin, std::uint64_t draw_index) {
  K::template put_one<Arch>(
      p, i, stage.template one<Arch>(S::template one<Arch>(p, i), scale, origin, draw_index));
};

template <class T>
concept TakesOneKind =
    columns_of<T> == 0 || requires { requires !T::takes_scales && !T::takes_origins; };
template <class S, class T, class K, class Arch>
concept OneByOne = (columns_of<T> != 0 && OneOfColumns<S, T, K, Arch>) ||
                   (columns_of<T> == 0 && OneOfScales<S, T, K, Arch>);

#if TQ_HAS_SIMD
// The cursor that all stages know, or all that name columns.
template <class Arch, class T>
using cursor_of =
    std::conditional_t<columns_of<T> == 0, Constant<Arch>, ColumnCursor<Arch, columns_of<T>>>;

template <class Arch, class T>
struct kept_by {
  using type = NothingKept;
};
template <class Arch, class T>
  requires requires { typename T::template kept<Arch>; }
struct kept_by<Arch, T> {
  using type = typename T::template kept<Arch>;
};

template <class S, class Arch>
concept Loads = FindsElements<S> ||
                requires(const unsigned char* p, typename S::template registers<Arch> (&v)[4]) {
                  S::template load<Arch>(p, v);
                };
template <class S, class Arch>
concept LoadsFound = !FindsElements<S> || requires(const unsigned char* p, std::size_t i,
                                                   typename S::template registers<Arch> (&v)[4]) {
  S::template load<Arch>(p, i, v);
  requires block<Arch> % S::template grain<Arch> == 0;
};
template <class T, class Arch>
concept SaysHowItDivides = requires {
  { T::template divides<Arch> } -> std::convertible_to<Divides>;
};
template <class T, class S, class Arch>
concept ByLanes = requires(const T& stage, const typename S::template registers<Arch>& v,
                           const cursor_of<Arch, T>& p) {
  { stage.template lanes<Arch, false>(v, p, 0, 0) } -> std::convertible_to<arch::floats<Arch>>;
};
template <class T, class S, class Arch>
concept ByBlocks =
    requires(const T& stage, const typename S::template registers<Arch> (&v)[1][4],
             const cursor_of<Arch, T>& p, const typename kept_by<Arch, T>::type& kept,
             typename T::template made<Arch> (&made)[1]) {
      { stage.template blocks<Arch, false>(v, p, 0, 0, kept, made) } -> std::convertible_to<bool>;
    };

// The type of a block that a stage has made.
template <class T, class Arch>
struct made_by {
  using type = arch::floats<Arch>[4];
};
template <class T, class Arch>
  requires requires { typename T::template made<Arch>; }
struct made_by<T, Arch> {
  using type = typename T::template made<Arch>;
};
template <class K, class Arch>
inline constexpr bool pairs = requires { requires K::template pairs<Arch>; };
template <class K, class T, class Arch>
concept Puts = requires(unsigned char* p, const typename made_by<T, Arch>::type& made) {
  K::template put<Arch, false>(p, made);
} && (!pairs<K, Arch> || requires(unsigned char* p, const typename made_by<T, Arch>::type& made) {
                 K::template put<Arch, false>(p, made, made);
               });
#endif

/// Says what a source, a stage and a sink lack of what loops read.
template <class Arch, class S, class T, class K>
constexpr bool complete() noexcept {
  static_assert(Unpacks<S, Arch>, "tq: a packed source has `loose` and `unpack`");
  static_assert(Packs<K, Arch>, "tq: a packed sink has `loose`, `pack` and `clear_from`");
  static_assert(TakesOneKind<T>,
                "tq: a stage that names `columns` takes neither scales nor origins");
  static_assert(
      OneByOne<S, T, K, Arch>,
      "tq: what `one` of a source reads and `one` of a stage makes, `put_one` of the sink "
      "writes");
#if TQ_HAS_SIMD
  if constexpr (!std::is_same_v<Arch, arch::scalar>) {
    static_assert(Loads<S, Arch>, "tq: a source has `registers` and `load`");
    static_assert(LoadsFound<S, Arch>,
                  "tq: a source with a `grain` has `load(p, i, v)`, and the grain divides blocks");
    static_assert(SaysHowItDivides<T, Arch>, "tq: a stage says what it `divides` by");
    static_assert(ByLanes<T, S, Arch> || ByBlocks<T, S, Arch>,
                  "tq: a stage has `lanes`, or `blocks` and `made`");
    static_assert(Puts<K, T, Arch>, "tq: a sink has `put` for what the stage makes");
  }
#endif
  return true;
}

}  // namespace detail

/// How stage T applies scales.
template <class T, class Arch>
inline constexpr Divides divides = [] {
  if constexpr (std::is_same_v<Arch, arch::scalar>) return Divides::no;
  else return T::template divides<Arch>;
}();

}  // namespace tq::driver
