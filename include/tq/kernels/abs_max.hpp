// SPDX-License-Identifier: MIT
#pragma once
// The largest finite magnitude of each of many short stretches: what the scales of block formats
// are made of.

#include <tq/arch/lanes.hpp>
#include <tq/kernels/short_reductions.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tq::kernels {

/// `rows` writes for each of `count` stretches of `length` values, `stride` apart, the largest
/// magnitude of its finite values; 0 where there is none.
template <class Arch>
struct abs_max;

namespace detail {
// Arch is in the name, not in the code: one symbol per instruction set.
template <class Arch>
inline float abs_max_exactly(const float* x, std::size_t n) noexcept {
  std::uint32_t top = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
    top = magnitude < 0x7f800000u && magnitude > top ? magnitude : top;
  }
  return std::bit_cast<float>(top);
}
}  // namespace detail

/// Without SIMD.
template <>
struct abs_max<arch::scalar> {
  static void rows(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride,
                   float* out) noexcept {
    for (std::size_t k = 0; k < count; ++k, x += stride)
      out[k] = detail::abs_max_exactly<arch::scalar>(x, length);
  }
};

#if TQ_HAS_SIMD

template <class Arch>
struct abs_max {
  static void rows(const float* x, std::size_t count, std::size_t length, std::ptrdiff_t stride,
                   float* out) noexcept {
    fours::run(
        x, count, length, stride,
        [&](std::size_t k, const Lanes(&of)[4]) TQ_LAMBDA_INLINE {
          L::highest4(out + k, of[0].values(), of[1].values(), of[2].values(), of[3].values());
        },
        [&](std::size_t k, const float* at) TQ_LAMBDA_INLINE { out[k] = one(at, length); });
  }

 private:
  using L = arch::lanes<Arch>;
  using Floats = arch::floats<Arch>;
  using I = arch::ints<Arch>;

  // The largest magnitudes by lane, as bits, which have the order of the values.
  struct Lanes {
    I top = I(0);

    static TQ_FORCE_INLINE I batch(const float* x) noexcept {
      return arch::bit_cast<std::int32_t>(arch::load_in_order<Arch>(x)) & I(0x7fffffff);
    }
    TQ_FORCE_INLINE void add(const I& magnitudes) noexcept { top = xsimd::max(top, magnitudes); }
    TQ_FORCE_INLINE void join(const Lanes& other) noexcept { add(other.top); }
    TQ_FORCE_INLINE Floats values() const noexcept { return arch::bit_cast<float>(top); }
    TQ_FORCE_INLINE bool all_finite() const noexcept { return !xsimd::any(top > I(0x7f7fffff)); }

    struct Watch {
      Lanes most = {};
      TQ_FORCE_INLINE void add(const Lanes (&of)[4]) noexcept {
        most.add(xsimd::max(xsimd::max(of[0].top, of[1].top), xsimd::max(of[2].top, of[3].top)));
      }
      TQ_FORCE_INLINE bool all_finite() const noexcept { return most.all_finite(); }
    };
  };
  using fours = short_reductions<Arch, Lanes>;

  static float one(const float* x, std::size_t length) noexcept {
    if (length >= fours::width) {
      const Lanes all = fours::stretch(x, length);
      if (all.all_finite()) return L::highest(all.values());
    }
    return detail::abs_max_exactly<Arch>(x, length);
  }
};

#endif

}  // namespace tq::kernels
