// SPDX-License-Identifier: MIT
#pragma once
// Kernel: a source, a stage and a sink, compiled into a function for each form of parameters.

#include <tq/driver/table.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::driver {

/// How all rows of a sweep are read and written.
struct How {
  bool streams = false;  ///< past the cache
  bool shifted = false;  ///< with a short block before, so that what is streamed is aligned
  bool offsets = false;  ///< not all of them are 0
  std::ptrdiff_t lines = 0, pages = 0,
                 written_pages = 0;  ///< bytes ahead that are asked for; 0: not at all
};

/// `count` rows of n elements; the parameters of row r begin at entry r * entry_step of a table.
template <class Arch>
struct Rows {
  const unsigned char* in;
  unsigned char* out;
  std::size_t n, count;
  std::ptrdiff_t in_step, out_step;  ///< bytes from row to row
  const Table<Arch>& table;
  std::size_t entry_step;
  unsigned shift;  ///< where blocks have a parameter each: that of element i is entry i >> shift
  const How& how;
  const void* stage;          ///< the stage, or null: one made of nothing
  std::uint64_t place;        ///< of the first element in the target, which draws depend on
  std::ptrdiff_t place_step;  ///< from row to row
};

/// What the driver knows of a source, a stage and a sink.
template <class Arch>
struct Kernel {
  using Function = void (*)(const Rows<Arch>&) noexcept;
  Function constant, per_grain[3],
      per_lane;  ///< per_grain: a block, half of it, a quarter; null below `least_grain`
  int source_bits, sink_bits;  ///< of an element in memory; 0 where several share theirs
  bool takes_offsets, divides, draws;

  /// Where elements are packed: the same kernel for elements that have whole bytes each. Else null.
  const Kernel* loose = nullptr;
  /// How n elements of the source, from number `first` on, come by those, and how n of them become
  /// packed ones of the target. Null where they have whole bytes already.
  void (*unpack)(const unsigned char* in, std::size_t first, std::size_t n,
                 unsigned char* out) noexcept = nullptr;
  void (*pack)(const unsigned char* in, std::size_t n, unsigned char* out) noexcept = nullptr;
};

/// What a stage does with scales.
enum class Divides : std::uint8_t {
  no,                 ///< multiplies by them, or divides by the processor's division
  by_reciprocals,     ///< multiplies by 1 / scale
  where_correctable,  ///< the same, but only by those that are `correctable()`
};

/// A source reads registers of floats or int32 from elements of `bits` bits. Smallest model:
///     struct Bytes {
///       static constexpr int bits = 8;
///       template <class Arch> static std::int32_t one(const unsigned char* p, std::size_t i)
///       noexcept { return p[i]; } template <class Arch> static void load(const unsigned char* p,
///       arch::ints<Arch> (&v)[4]) noexcept {
///         arch::lanes<Arch>::template widen8<false>(p, v);
///       }
///     };
template <class S, class Arch>
concept Source = requires(const unsigned char* p, std::size_t i) {
  { S::bits } -> std::convertible_to<int>;
  S::template one<Arch>(p, i);
};

/// A stage is arithmetic between a source and a sink; it knows neither memory nor lengths. It is
/// an object, as it may have numbers of its own. Smallest model:
///     struct Scaled {
///       static constexpr bool takes_offsets = false;
///       template <class Arch> float one(float v, float scale, std::int32_t, std::uint64_t) const;
///       template <class Arch, bool Offsets, class P> arch::floats<Arch>
///       lanes(const arch::floats<Arch>& v, const P& p, std::size_t i, std::size_t k) const {
///         return p.scaled(v, i, k);
///       }
///     };
/// Where registers do not become registers of floats one by one, `blocks` is there in place of
/// `lanes`: it makes N blocks at once, `made<Arch>` each, or refuses to, and then `one` does it.
/// See `kernels::Quantize`. A stage whose results depend on the element's place `draws`.
template <class T>
concept Stage = std::default_initializable<T> && requires {
  { T::takes_offsets } -> std::convertible_to<bool>;
};

/// What a stage does with scales, and whether it draws. Without SIMD it divides.
template <class T, class Arch>
inline constexpr Divides divides = [] {
  if constexpr (std::is_same_v<Arch, arch::scalar>) return Divides::no;
  else if constexpr (requires { T::template divides<Arch>; }) return T::template divides<Arch>;
  else return Divides::no;
}();
template <class T>
inline constexpr bool draws = [] {
  if constexpr (requires { T::draws; }) return T::draws;
  else return false;
}();

/// What a stage keeps in registers while it goes over rows, made of it once, where it has no
/// `kept`.
struct NothingKept {
  explicit NothingKept(const auto&) noexcept {}
};

/// A sink writes what a stage made as elements of `bits` bits, into the cache or past it; a block
/// at a time, or where it `pairs` them two. `put_one` of packed elements needs memory of zeros.
/// Smallest model:
///     struct Plain {
///       static constexpr int bits = 32;
///       template <class Arch> static void put_one(unsigned char* p, std::size_t i, float v)
///       noexcept; template <class Arch, bool Stream> static void put(unsigned char* p, const
///       arch::floats<Arch> (&v)[4]) noexcept;
///     };
template <class K, class Arch>
concept Sink = requires(unsigned char* p, std::size_t i, float v) {
  { K::bits } -> std::convertible_to<int>;
  K::template put_one<Arch>(p, i, v);
};

}  // namespace tq::driver
