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

// True if no distance from a code is above a quarter of a step: values that codes meet by design.
template <class Lanes>
[[nodiscard]] bool are_near(Lanes farthest) noexcept {
  return !Lanes::any(farthest > Lanes(0.25f));
}

// The codes 0 to Top of P sub-blocks of N values x ~ scale * code - minimum. Returns true if all
// values are near their codes.
template <class Arch, std::size_t N, std::size_t P, int Top>
bool offset_codes(const float* x, const float* scales, const float* minimums,
                  std::uint8_t* codes) noexcept {
  using Lanes = FloatLanes<Arch>;
  float per_scale[P];
  for (std::size_t j = 0; j < P; ++j) per_scale[j] = scales[j] > 0.0f ? 1.0f / scales[j] : 0.0f;
  Lanes farthest = 0.0f;
  code_bytes<Arch>(N * P, codes, [&](std::size_t i) TQ_LAMBDA_INLINE {
    const Lanes at = (Lanes::load(x + i) + Lanes(minimums[i / N])) * Lanes(per_scale[i / N]);
    const auto code = smaller(larger(at, 0.0f), static_cast<float>(Top)).rounded();
    farthest = larger(farthest, magnitude(at - Lanes::of(code)));
    return code;
  });
  return are_near(farthest);
}

// The codes of P sub-blocks of N values x ~ scale * q, as they are stored. Returns true if all
// values are near their codes.
template <class Arch, std::size_t N, std::size_t P, class Codes>
bool symmetric_codes(const float* x, const float* scales, std::uint8_t* codes) noexcept {
  using Lanes = FloatLanes<Arch>;
  float per_scale[P];
  for (std::size_t j = 0; j < P; ++j) per_scale[j] = inverse(scales[j]);
  Lanes farthest = 0.0f;
  code_bytes<Arch>(N * P, codes, [&](std::size_t i) TQ_LAMBDA_INLINE {
    const Lanes at = Lanes::load(x + i) * Lanes(per_scale[i / N]);
    const auto code = Codes::stored(at);
    farthest = larger(farthest, magnitude(Codes::distance(at, code)));
    return code;
  });
  return are_near(farthest);
}

}  // namespace tq::layouts::gguf::detail
