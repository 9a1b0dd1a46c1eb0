// SPDX-License-Identifier: MIT
#pragma once
// Source of Q4_K, which lays 4-bit codes so that the first 32 and the next 32 share bytes.

#include <tq/arch/lanes.hpp>
#include <tq/driver/table.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/numeric/float_format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tq::kernels {

/// (d * scale) * code - dmin * minimum: blocks of 256 elements in 144 bytes, which are d and dmin
/// as float16, 12 bytes of scales and minimums of 6 bits for eight sub-blocks of 32, and 128 bytes
/// of codes, two sub-blocks in the halves of 32. Both products are exact as float32. Source:
/// block_q4_K and dequantize_row_q4_K of ggml.
struct Q4K {
  static constexpr int bits = 0;
  using loose = Float32;
  static constexpr std::size_t elements = 256, bytes = 144, sub_block = 32;

  template <class Arch>
  static constexpr std::size_t grain = std::min(sub_block, driver::block<Arch>);

  template <class Arch>
  static TQ_FORCE_INLINE float one(const unsigned char* p, std::size_t i) noexcept {
    const Part part = part_of(p, i);
    return part.scale * static_cast<float>(*part.codes >> part.shift & 15) - part.minimum;
  }
  template <class Arch>
  static void unpack(const unsigned char* in, std::size_t first, std::size_t n,
                     unsigned char* out) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
      const float v = one<Arch>(in, first + i);
      std::memcpy(out + i * sizeof(v), &v, sizeof(v));
    }
  }
#if TQ_HAS_SIMD
  template <class Arch>
  using registers = arch::floats<Arch>;
  template <class Arch>
  static TQ_FORCE_INLINE void load(const unsigned char* p, std::size_t i,
                                   arch::floats<Arch> (&v)[4]) noexcept {
    using Floats = arch::floats<Arch>;
    constexpr std::size_t width = arch::width<Arch>, step = grain<Arch>, parts = 4 * width / step;
    alignas(64) unsigned char codes[4 * width];
    arch::ints<Arch> code[4];
    float scale[parts], minimum[parts];
    TQ_UNROLL for (std::size_t s = 0; s < parts; ++s) {
      const Part part = part_of(p, i + s * step);
      scale[s] = part.scale, minimum[s] = part.minimum;
      take<step>(part, codes + s * step);
    }
    arch::lanes<Arch>::template widen8<false>(codes, code);
    TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t s = k * width / step;
      v[k] = xsimd::to_float(code[k]) * Floats(scale[s]) - Floats(minimum[s]);
    }
  }
#endif

 private:
  // The sub-block of an element, from its code on.
  struct Part {
    float scale, minimum;
    const unsigned char* codes;
    int shift;
  };
  static TQ_FORCE_INLINE float half(const unsigned char* p) noexcept {
    using format = FloatFormat<5, 10, 15, FloatSpecials::ieee>;
    return format::decode(static_cast<std::uint32_t>(p[0] | p[1] << 8));
  }
  static TQ_FORCE_INLINE Part part_of(const unsigned char* p, std::size_t i) noexcept {
    const unsigned char *block = p + i / elements * bytes, *s = block + 4;
    const std::size_t j = i % elements / sub_block;
    int scale = s[j] & 63, minimum = s[j + 4] & 63;
    if (j >= 4) {
      scale = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
      minimum = s[j + 4] >> 4 | s[j] >> 6 << 4;
    }
    return {half(block) * static_cast<float>(scale), half(block + 2) * static_cast<float>(minimum),
            block + 16 + sub_block * (j / 2) + i % sub_block, j % 2 == 0 ? 0 : 4};
  }
  template <std::size_t N>
  static TQ_FORCE_INLINE void take(const Part& part, unsigned char* codes) noexcept {
    if (part.shift == 0)
      for (std::size_t k = 0; k < N; ++k) codes[k] = part.codes[k] & 15;
    else
      for (std::size_t k = 0; k < N; ++k) codes[k] = static_cast<unsigned char>(part.codes[k] >> 4);
  }
};

}  // namespace tq::kernels
