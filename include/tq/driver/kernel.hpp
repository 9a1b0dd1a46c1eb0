// SPDX-License-Identifier: MIT
#pragma once
// Kernel: a source, a stage and a sink, compiled into a function for each form of parameters.

#include <tq/driver/table.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

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
};

/// What the driver knows of a source, a stage and a sink.
template <class Arch>
struct Kernel {
  using Function = void (*)(const Rows<Arch>&) noexcept;
  Function constant, per_grain[3],
      per_lane;  ///< per_grain: a block, half of it, a quarter; null below `least_grain`
  int source_bits, sink_bits;  ///< of an element in memory; 0 where several share theirs
  bool takes_offsets;

  /// Where elements are packed: the same kernel for elements that have whole bytes each, and how n
  /// of them, from element `first` on, come by those. Else null.
  const Kernel* unpacked = nullptr;
  void (*unpack)(const unsigned char* in, std::size_t first, std::size_t n,
                 unsigned char* out) noexcept = nullptr;
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

/// A stage is arithmetic between a source and a sink; it knows neither memory nor lengths. Smallest
/// model:
///     struct Scaled {
///       static constexpr bool takes_offsets = false;
///       template <class Arch> static float one(float v, float scale, std::int32_t) noexcept {
///       return v * scale; } template <class Arch, bool Offsets, class P> static arch::floats<Arch>
///       lanes(const arch::floats<Arch>& v, const P& p, std::size_t i, std::size_t k) noexcept {
///         return p.scaled(v, i, k);
///       }
///     };
template <class T>
concept Stage = requires {
  { T::takes_offsets } -> std::convertible_to<bool>;
};

/// A sink writes blocks of floats as elements of `bits` bits, into the cache or past it. Smallest
/// model:
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
