// SPDX-License-Identifier: MIT
#pragma once
// The nearest codes of values under scales that are stored, as bytes.

#include <tq/layouts/gguf/detail/float_lanes.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::layouts::gguf::detail {

// n values, `code(i)` makes integers of those from i on.
template <class Arch, class Code>
TQ_FORCE_INLINE void code_bytes(std::size_t n, std::uint8_t* codes, const Code& code) noexcept {
  using Lanes = FloatLanes<Arch>;
  if constexpr (Lanes::width == 1) {
    for (std::size_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>(code(i) & 0xff);
  } else {
#if TQ_HAS_SIMD
    using Pack = arch::lanes<Arch>;
    for (std::size_t i = 0; i < n; i += 4 * Lanes::width) {
      arch::ints<Arch> v[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] = code(i + k * Lanes::width);
      Pack::store8(codes + i,
                   Pack::template pack8<false>(Pack::pack16(v[0], v[1]), Pack::pack16(v[2], v[3])));
    }
#endif
  }
}

// True if none of n values is farther than a quarter of a step from its code: values that codes
// meet by design. `distance(i)` is that of the values from i on; others mostly end the loop at once.
template <class Arch, class Distance>
[[nodiscard]] TQ_FORCE_INLINE bool are_near(std::size_t n, const Distance& distance) noexcept {
  using Lanes = FloatLanes<Arch>;
  for (std::size_t i = 0; i < n; i += Lanes::width)
    if (Lanes::any(magnitude(distance(i)) > Lanes(0.25f))) return false;
  return true;
}

// The codes 0 to Top of P sub-blocks of N values x ~ scale * code - minimum. Returns true if all
// values are near their codes.
template <class Arch, std::size_t N, std::size_t P, int Top>
bool offset_codes(const float* x, const float* scales, const float* minimums,
                  std::uint8_t* codes) noexcept {
  using Lanes = FloatLanes<Arch>;
  float per_scale[P];
  for (std::size_t j = 0; j < P; ++j) per_scale[j] = scales[j] > 0.0f ? 1.0f / scales[j] : 0.0f;
  const auto at = [&](std::size_t i) TQ_LAMBDA_INLINE {
    return (Lanes::load(x + i) + Lanes(minimums[i / N])) * Lanes(per_scale[i / N]);
  };
  const auto code_of = [](Lanes v) TQ_LAMBDA_INLINE {
    return smaller(larger(v, 0.0f), static_cast<float>(Top)).rounded();
  };
  code_bytes<Arch>(N * P, codes, [&](std::size_t i) TQ_LAMBDA_INLINE { return code_of(at(i)); });
  return are_near<Arch>(N * P, [&](std::size_t i) TQ_LAMBDA_INLINE {
    const Lanes v = at(i);
    return v - Lanes::of(code_of(v));
  });
}

// The codes of P sub-blocks of N values x ~ scale * q, as they are stored. Returns true if all
// values are near their codes.
template <class Arch, std::size_t N, std::size_t P, class Codes>
bool symmetric_codes(const float* x, const float* scales, std::uint8_t* codes) noexcept {
  using Lanes = FloatLanes<Arch>;
  alignas(64) float per_scale[P];
  if constexpr (P % Lanes::width == 0)
    for (std::size_t j = 0; j < P; j += Lanes::width)
      inverse(Lanes::load(scales + j)).store(per_scale + j);
  else
    for (std::size_t j = 0; j < P; ++j) per_scale[j] = inverse(scales[j]);
  const auto at = [&](std::size_t i)
                      TQ_LAMBDA_INLINE { return Lanes::load(x + i) * Lanes(per_scale[i / N]); };
  code_bytes<Arch>(N * P, codes,
                   [&](std::size_t i) TQ_LAMBDA_INLINE { return Codes::stored(at(i)); });
  return are_near<Arch>(N * P, [&](std::size_t i) TQ_LAMBDA_INLINE {
    const Lanes v = at(i);
    return Codes::distance(v, Codes::stored(v));
  });
}

}  // namespace tq::layouts::gguf::detail
