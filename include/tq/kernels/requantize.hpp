// SPDX-License-Identifier: MIT
#pragma once
// Stage of requantization: sums of products -> integer codes, by float32 factors.

#include <tq/arch/lanes.hpp>
#include <tq/driver/columns.hpp>
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/nearest_int32.hpp>
#include <tq/kernels/scaled_sum.hpp>
#include <tq/kernels/to_codes.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tq::kernels {

/// clamp(v + zero point, low, high) of a rounded number of 32 bits, which stays within these.
class CodeLimits {
 public:
  /// Precondition: low <= high, both of them codes.
  TQ_FORCE_INLINE CodeLimits(std::int32_t zero_point, std::int32_t low,
                             std::int32_t high) noexcept {
    const std::int64_t least = std::int64_t{low} - zero_point,
                       most = std::int64_t{high} - zero_point;
    if (least > int32::max()) zero_point_ = low, least_ = most_ = 0;  // no sum reaches more
    else if (most < int32::min()) zero_point_ = high, least_ = most_ = 0;
    else {
      zero_point_ = zero_point;
      least_ = least < int32::min() ? int32::min() : static_cast<std::int32_t>(least);
      most_ = most > int32::max() ? int32::max() : static_cast<std::int32_t>(most);
    }
  }
  [[nodiscard]] TQ_FORCE_INLINE std::int32_t code(std::int32_t v) const noexcept {
    return (v < least_ ? least_ : v > most_ ? most_ : v) + zero_point_;
  }
#if TQ_HAS_SIMD
  template <class Arch>
  [[nodiscard]] TQ_FORCE_INLINE arch::ints<Arch> codes(const arch::ints<Arch>& v) const noexcept {
    using I = arch::ints<Arch>;
    return xsimd::min(xsimd::max(v, I(least_)), I(most_)) + I(zero_point_);
  }
#endif

 private:
  using int32 = std::numeric_limits<std::int32_t>;
  std::int32_t least_, most_, zero_point_;  // limits of what is rounded
};

/// clamp(round(ScaledSum) + zero point, low, high) as a Code of 8 bits. What is rounded, to nearest
/// even, is clamped to 32 bits first, and 0 where it is NaN.
template <class Code>
class Requantize {
  static_assert(sizeof(Code) == 1);

 public:
  static constexpr std::size_t columns = 3;  ///< those of a ScaledSum
  static constexpr bool takes_scales = false, takes_origins = false, draws = false;

  /// Precondition: low <= high, both of them codes.
  TQ_FORCE_INLINE Requantize(std::int32_t zero_point, std::int32_t low, std::int32_t high) noexcept
      : limits_(zero_point, low, high) {}

  template <class Arch, class P>
  [[nodiscard]] TQ_FORCE_INLINE std::int32_t one(std::int32_t sum, const P& p, std::size_t i,
                                                 std::uint64_t) const noexcept {
    float v = ScaledSum::one(sum, p, i);
    if (!(v == v)) v = 0.0f;
    return limits_.code(NearestInt32::one(v));
  }

#if TQ_HAS_SIMD
  template <class Arch>
  static constexpr driver::Divides divides = driver::Divides::no;
  template <class Arch>
  using made = typename code_block<Arch, 1>::type;

  template <class Arch, bool, std::size_t Blocks, class P>
  TQ_FORCE_INLINE bool blocks(const arch::ints<Arch> (&sum)[Blocks][4], const P& p, std::size_t i,
                              std::uint64_t, const driver::NothingKept&,
                              made<Arch> (&out)[Blocks]) const noexcept {
    using L = arch::lanes<Arch>;
    TQ_UNROLL for (std::size_t b = 0; b < Blocks; ++b) {
      arch::ints<Arch> v[4];
      TQ_UNROLL for (std::size_t k = 0; k < 4; ++k) v[k] =
          code<Arch>(sum[b][k], p, i + b * driver::block<Arch>, k);
      out[b] =
          L::template narrow8<std::is_signed_v<Code>>(L::pack16(v[0], v[1]), L::pack16(v[2], v[3]));
    }
    return true;
  }

 private:
  template <class Arch, class P>
  [[nodiscard]] TQ_FORCE_INLINE arch::ints<Arch> code(const arch::ints<Arch>& sum, const P& p,
                                                      std::size_t i, std::size_t k) const noexcept {
    using Floats = arch::floats<Arch>;
    const Floats product =
        arch::replace_nan<Arch>(ScaledSum::lanes<Arch>(sum, p, i, k), Floats(0.0f));
    return limits_.template codes<Arch>(NearestInt32::lanes<Arch>(product));
  }
#endif

 private:
  CodeLimits limits_;
};

/// The kernel of requantization.
template <class Arch, class Code>
inline constexpr auto requantizing =
    driver::kernel<Arch, IntegerCodes<std::int32_t>, Requantize<Code>, ToBytes>;

/// The codes of some rows of sums, such as a tile of a product. A tile is fast where its rows are
/// of `driver::block<Arch>` elements or more, and columns of more than a number a row lie ready.
template <class Arch, class Code>
void requantize(const Requantize<Code>& stage, const std::int32_t* sums, Code* codes,
                const driver::Span& span, const driver::Columns& columns) noexcept {
  driver::sweep(driver::bind(requantizing<Arch, Code>, stage), {.source = sums, .target = codes},
                span, {.columns = &columns});
}

}  // namespace tq::kernels
