// SPDX-License-Identifier: MIT
#pragma once
// FloatLanes: a register of float32 whose products are rounded before they are added, so that a
// lane has the same result on every instruction set.

#include <tq/arch/lanes.hpp>
#include <tq/arch/word_lanes.hpp>
#include <tq/layouts/gguf/detail/arithmetic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tq::layouts::gguf::detail {

// The instruction set whose registers a search uses: 256 bits at most.
#if TQ_HAS_SIMD && defined(__AVX512BW__)
template <class Arch>
using search_arch =
    std::conditional_t<std::is_same_v<Arch, xsimd::avx512bw>, xsimd::fma3<xsimd::avx2>, Arch>;
#else
template <class Arch>
using search_arch = Arch;
#endif

template <class Arch>
struct FloatLanes;

template <>
struct FloatLanes<arch::scalar> {
  using A = arch::scalar;
  using Words = arch::word_lanes<A>;
  using Mask = bool;
  static constexpr std::size_t width = 1;

  float value = 0.0f;

  FloatLanes() = default;
  FloatLanes(float v) noexcept : value(v) {}
  static FloatLanes load(const float* p) noexcept { return *p; }
  void store(float* p) const noexcept { *p = value; }
  static FloatLanes of(Words::sums s) noexcept { return static_cast<float>(s); }
  // The nearest integers, ties to even. Precondition: they fit.
  [[nodiscard]] Words::sums rounded() const noexcept {
    return static_cast<std::int32_t>(std::nearbyint(value));
  }

  friend FloatLanes operator+(FloatLanes a, FloatLanes b) noexcept { return a.value + b.value; }
  friend FloatLanes operator-(FloatLanes a, FloatLanes b) noexcept { return a.value - b.value; }
  friend FloatLanes operator*(FloatLanes a, FloatLanes b) noexcept {
    return uncontracted(a.value * b.value);
  }
  friend FloatLanes operator/(FloatLanes a, FloatLanes b) noexcept { return a.value / b.value; }
  friend Mask operator<(FloatLanes a, FloatLanes b) noexcept { return a.value < b.value; }
  friend Mask operator>(FloatLanes a, FloatLanes b) noexcept { return a.value > b.value; }
  friend FloatLanes larger(FloatLanes a, FloatLanes b) noexcept {
    return a.value > b.value ? a : b;
  }
  friend FloatLanes smaller(FloatLanes a, FloatLanes b) noexcept {
    return a.value < b.value ? a : b;
  }
  static FloatLanes choose(Mask m, FloatLanes yes, FloatLanes no) noexcept { return m ? yes : no; }
  static bool any(Mask m) noexcept { return m; }
};

#if TQ_HAS_SIMD
template <class Arch>
struct FloatLanes {
  using A = Arch;
  using Words = arch::word_lanes<A>;
  using Register = arch::floats<A>;
  using Mask = xsimd::batch_bool<float, A>;
  static constexpr std::size_t width = arch::width<A>;

  Register value;

  FloatLanes() = default;
  TQ_FORCE_INLINE FloatLanes(float v) noexcept : value(v) {}
  TQ_FORCE_INLINE FloatLanes(Register v) noexcept : value(v) {}
  static TQ_FORCE_INLINE FloatLanes load(const float* p) noexcept {
    return Register::load_unaligned(p);
  }
  TQ_FORCE_INLINE void store(float* p) const noexcept { value.store_unaligned(p); }
  static TQ_FORCE_INLINE FloatLanes of(typename Words::sums s) noexcept {
    return xsimd::to_float(arch::ints<A>(s));
  }
  [[nodiscard]] TQ_FORCE_INLINE arch::ints<A> rounded() const noexcept {
    return arch::round_to_int<A>(value);
  }

  friend TQ_FORCE_INLINE FloatLanes operator+(FloatLanes a, FloatLanes b) noexcept {
    return Register(a.value + b.value);
  }
  friend TQ_FORCE_INLINE FloatLanes operator-(FloatLanes a, FloatLanes b) noexcept {
    return Register(a.value - b.value);
  }
  friend TQ_FORCE_INLINE FloatLanes operator*(FloatLanes a, FloatLanes b) noexcept {
    return arch::uncontracted<A>(Register(a.value * b.value));
  }
  friend TQ_FORCE_INLINE FloatLanes operator/(FloatLanes a, FloatLanes b) noexcept {
    return arch::divide<A>(a.value, b.value);
  }
  friend TQ_FORCE_INLINE Mask operator<(FloatLanes a, FloatLanes b) noexcept {
    return a.value < b.value;
  }
  friend TQ_FORCE_INLINE Mask operator>(FloatLanes a, FloatLanes b) noexcept {
    return a.value > b.value;
  }
  friend TQ_FORCE_INLINE FloatLanes larger(FloatLanes a, FloatLanes b) noexcept {
    return Register(xsimd::max(a.value, b.value));
  }
  friend TQ_FORCE_INLINE FloatLanes smaller(FloatLanes a, FloatLanes b) noexcept {
    return Register(xsimd::min(a.value, b.value));
  }
  static TQ_FORCE_INLINE FloatLanes choose(Mask m, FloatLanes yes, FloatLanes no) noexcept {
    return Register(xsimd::select(m, yes.value, no.value));
  }
  static TQ_FORCE_INLINE bool any(Mask m) noexcept { return xsimd::any(m); }
};
#endif

template <class Arch>
TQ_FORCE_INLINE FloatLanes<Arch> magnitude(FloatLanes<Arch> v) noexcept {
  return larger(v, FloatLanes<Arch>(0.0f) - v);
}

// 1 / v, and 0 for 0.
template <class Arch>
TQ_FORCE_INLINE FloatLanes<Arch> inverse(FloatLanes<Arch> v) noexcept {
  using Lanes = FloatLanes<Arch>;
  return Lanes::choose(magnitude(v) > Lanes(0.0f), Lanes(1.0f) / v, 0.0f);
}

// The least and the greatest of each of P times N values.
template <class Arch, std::size_t N, std::size_t P>
TQ_FORCE_INLINE void bounds_of(const float* x, float* low, float* high) noexcept {
  using Lanes = FloatLanes<Arch>;
  for (std::size_t j = 0; j < P; ++j, x += N) {
    Lanes least = Lanes::load(x), most = least;
    TQ_UNROLL for (std::size_t i = Lanes::width; i < N; i += Lanes::width) {
      const Lanes v = Lanes::load(x + i);
      least = smaller(least, v), most = larger(most, v);
    }
    if constexpr (Lanes::width == 1) low[j] = least.value, high[j] = most.value;
#if TQ_HAS_SIMD
    else
      low[j] = arch::lanes<Arch>::lowest(least.value),
      high[j] = arch::lanes<Arch>::highest(most.value);
#endif
  }
}

// As `extreme`, of P numbers that are no NaN.
template <class Arch, std::size_t P>
[[nodiscard]] TQ_FORCE_INLINE float extreme_of(const float* x) noexcept {
  float low, high;
  bounds_of<Arch, P, 1>(x, &low, &high);
  if (high == -low) return extreme(x, P);  // the first of both counts
  return high > -low ? high : low;
}

// True if no value is NaN or above `most` in magnitude.
template <class Arch>
[[nodiscard]] bool are_within(const float* x, std::size_t n, float most) noexcept {
  std::size_t i = 0;
#if TQ_HAS_SIMD
  if constexpr (!std::is_same_v<Arch, arch::scalar>) {
    using Floats = arch::floats<Arch>;
    constexpr std::size_t width = arch::width<Arch>;
    for (; i + 4 * width <= n; i += 4 * width) {
      auto within = xsimd::abs(Floats::load_unaligned(x + i)) <= Floats(most);
      TQ_UNROLL for (std::size_t k = 1; k < 4; ++k) within =
          within & (xsimd::abs(Floats::load_unaligned(x + i + k * width)) <= Floats(most));
      if (!xsimd::all(within)) return false;
    }
  }
#endif
  for (; i < n; ++i)
    if (!(std::fabs(x[i]) <= most)) return false;
  return true;
}

// The sum of P numbers in an order that is the same on every instruction set.
template <std::size_t P>
[[nodiscard]] TQ_FORCE_INLINE float tree_sum(const float* from) noexcept {
  if constexpr (P == 1) {
    return *from;
  } else {
    float s[P / 2];
    TQ_UNROLL for (std::size_t i = 0; i < P / 2; ++i) s[i] = from[i] + from[i + P / 2];
    return tree_sum<P / 2>(s);
  }
}

}  // namespace tq::layouts::gguf::detail
