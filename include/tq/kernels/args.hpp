// SPDX-License-Identifier: MIT
#pragma once
// What kernels are called with: raw pointers and plain numbers.

#include <tq/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::kernels {

/// `count` stretches of `length` elements, see tq::Run. `scale` (and `zero_point`, which may be null) point
/// to the parameter of the first element; stretch r starts `r * param_stride` parameters further, and
/// inside a stretch every element advances the parameter by `step`, 0 or 1.
struct Span {
  std::size_t length = 0, count = 0;
  std::ptrdiff_t source_stride = 0, target_stride = 0;
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;
  std::size_t param_stride = 0, step = 0;
  std::ptrdiff_t next = 0;  ///< from the source to what is read after all this, if it is worth asking for meanwhile; else 0
};

/// Whether a span has zero points.
enum class Zeros : std::uint8_t { unknown, none, some };
/// How many neighbours share a parameter: a number, or one of these.
inline constexpr std::size_t any_number = 0, one_parameter = static_cast<std::size_t>(-1);

/// A span of which something is known at compile time: kernels are compiled for nothing else. `Shared` neighbours share a
/// parameter, or where their axis ends, fewer.
template <Zeros Z, std::size_t Shared>
struct KnownSpan : Span {
  // One field after the other: a copy by vector registers would wait for those that were just written.
  constexpr explicit KnownSpan(const Span& span) noexcept {
    length = span.length;
    count = span.count;
    source_stride = span.source_stride;
    target_stride = span.target_stride;
    scale = span.scale;
    zero_point = span.zero_point;
    param_stride = span.param_stride;
    step = span.step;
    next = span.next;
  }
};

namespace detail {
template <class S>
inline constexpr bool is_known = false;
template <Zeros Z, std::size_t Shared>
inline constexpr bool is_known<KnownSpan<Z, Shared>> = true;
template <class S>
inline constexpr Zeros zeros_of = Zeros::unknown;
template <Zeros Z, std::size_t Shared>
inline constexpr Zeros zeros_of<KnownSpan<Z, Shared>> = Z;
template <class S>
inline constexpr std::size_t shared_of = any_number;
template <Zeros Z, std::size_t Shared>
inline constexpr std::size_t shared_of<KnownSpan<Z, Shared>> = Shared;
}  // namespace detail

/// Whether a kernel called with a `streaming` of this type may write past the cache: not with a std::false_type, which saves
/// its compiling half of what a bool needs.
template <class Streaming>
inline constexpr bool may_stream = !std::same_as<Streaming, std::false_type>;

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
