// SPDX-License-Identifier: MIT
#pragma once
// Scales<SuperBlock<...>>: whole numbers as scales, and a float16 for every few of them.

#include <tq/core/detail/decoded_view.hpp>
#include <tq/core/detail/scale_fit.hpp>
#include <tq/core/detail/scale_limits.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/offsets.hpp>
#include <tq/core/plain_scales.hpp>
#include <tq/core/scale_kinds.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/numeric/rounding.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tq {

namespace detail {

// "uint6_super_block_8": the name of a scale type over the one of its codes.
template <class Code, std::size_t Count>
struct super_block_name {
  static constexpr std::string_view infix = "_super_block_";
  static constexpr std::size_t digits = [] {
    std::size_t n = 1;
    for (std::size_t rest = Count; rest >= 10; rest /= 10) ++n;
    return n;
  }();
  static constexpr auto text = [] {
    constexpr std::string_view element = Code::name;
    std::array<char, element.size() + infix.size() + digits> out{};
    std::copy(infix.begin(), infix.end(), std::copy(element.begin(), element.end(), out.begin()));
    std::size_t at = out.size();
    for (std::size_t rest = Count; at-- > out.size() - digits; rest /= 10)
      out[at] = static_cast<char>('0' + rest % 10);
    return out;
  }();
};

// The codes of an unsigned integer element as names of themselves.
template <IntegerElement Code>
struct WholeNumbers {
  static constexpr int bits = Code::bits;
  static constexpr bool has_nan = false;
  static constexpr auto max_finite = static_cast<float>(Code::qmax);
  template <OverflowPolicy O, Rounding R>
  [[nodiscard]] static constexpr std::uint32_t encode(float x, const R& rounding,
                                                      std::uint64_t index) noexcept {
    const float inside = x > 0.0f ? (x < max_finite ? x : max_finite) : 0.0f;
    return static_cast<std::uint32_t>(rounding(inside, index));
  }
  [[nodiscard]] static constexpr float decode(std::uint32_t code) noexcept {
    return static_cast<float>(code);
  }
};

}  // namespace detail

/// Scales as whole numbers of type `Code` under a float16 for every `Count` of them in order:
/// scale i = d[i / Count] * code i, exact in float32. Offsets in this type have a d of either sign.
/// Source: the super-blocks of ggml's K-quants.
template <IntegerElement Code, std::size_t Count>
  requires(Code::qmin == 0 && Code::bits <= 8 && Count > 0)
struct SuperBlock {
  static constexpr std::string_view name{detail::super_block_name<Code, Count>::text.data(),
                                         detail::super_block_name<Code, Count>::text.size()};
  static constexpr std::size_t block = Count;
  using element = Code;
};

namespace detail {
template <class S>
inline constexpr bool is_super_block = false;
template <class Code, std::size_t Count>
inline constexpr bool is_super_block<SuperBlock<Code, Count>> = true;
template <class Code, std::size_t Count>
inline constexpr bool is_scale_type<SuperBlock<Code, Count>> = true;
template <class Code, std::size_t Count>
inline constexpr bool is_offset_type<SuperBlock<Code, Count>> = true;
}  // namespace detail

/// A scale type `SuperBlock<...>`.
template <class S>
concept SuperBlockScale = OffsetType<S> && detail::is_super_block<S>;

/// Whole numbers, and a float16 for every `Count` of them.
template <class Code, std::size_t Count>
class Scales<SuperBlock<Code, Count>> {
  using Half = float16::format;
  using Numbers = detail::WholeNumbers<Code>;

 public:
  using stored_type = typename Code::code_type;
  static constexpr std::size_t block = Count;

  /// Throws: `errc::shape_mismatch` unless there is a float16, given as its code, for every `Count`
  /// codes; `errc::bad_scale` for codes that `Code` does not have, and unless every float16 is
  /// finite.
  Scales(std::vector<stored_type> codes, std::vector<std::uint16_t> super_scales)
      : stored_(std::move(codes)), super_scales_(std::move(super_scales)) {
    if (const std::size_t blocks = blocks_of(stored_.size()); blocks != super_scales_.size())
      detail::raise_expected(errc::shape_mismatch, "tq::Scales",
                             {blocks, " super scales for ", stored_.size(), " scales"},
                             {super_scales_.size()});
    stored_type most = 0;  // of all codes first: a loop for vectors
    for (const stored_type code : stored_) most = std::max(most, code);
    if (most > Code::qmax)
      detail::raise_expected(errc::bad_scale, "tq::Scales", {"codes up to ", Code::qmax},
                             {static_cast<std::int32_t>(most)});
    decoded_.reserve(super_scales_.size());
    for (const std::uint16_t d : super_scales_) {
      decoded_.push_back(Half::decode(d));
      if (!detail::is_finite(decoded_.back()))
        detail::raise_expected(errc::bad_scale, "tq::Scales", {"finite super scales"},
                               {decoded_.back()});
    }
  }

  /// The number of float16 for `count` scales.
  [[nodiscard]] static constexpr std::size_t blocks_of(std::size_t count) noexcept {
    return count / Count + (count % Count != 0 ? 1 : 0);
  }

  /// The stored scales nearest to `exact`, which were made of `ranges`: d takes the largest scale
  /// of its super-block to the largest code, and is not zero where that is not. Codes are nearest
  /// to the quotients by d. Where the rules do not allow that scale, it becomes the next one that
  /// they do; a positive scale becomes zero only if no code means 0. Super-blocks without a
  /// positive scale have d = 1, or 0 if scales may be 0.
  [[nodiscard]] static Scales nearest(std::span<const float> exact,
                                      std::span<const Range> ranges = {},
                                      const ScaleRules& rules = {}) {
    std::vector<stored_type> codes(exact.size());
    std::vector<std::uint16_t> super_scales;
    super_scales.reserve(blocks_of(exact.size()));
    for (std::size_t i = 0; i < exact.size(); i += Count) {
      const auto some = exact.subspan(i, std::min(Count, exact.size() - i));
      float top = 0.0f;
      for (const float s : some) top = std::max(top, s);
      super_scales.push_back(top > 0.0f || rules.may_vanish ? half_for(top) : one);
      const float d = Half::decode(super_scales.back());
      const auto to = std::span(codes).subspan(i, some.size());
      for (std::size_t k = 0; k < some.size(); ++k) {
        to[k] = number_for(some[k], d);
        const bool is_positive = some[k] > 0.0f && rules.has_zero;
        if (to[k] == 0 && (is_positive || !rules.may_vanish)) to[k] = 1;
      }
      detail::keep_rules<Numbers>(to, ranges.empty() ? ranges : ranges.subspan(i, some.size()),
                                  rules, [&](float number) { return number * d; });
    }
    return Scales(std::move(codes), std::move(super_scales));
  }

  /// The scales that fit `ranges`. Blocks of zeros, and constants beside offsets, have the scale 0
  /// where it may be and else the code 1: a 1 among small scales would cost the others their
  /// precision.
  template <Element T, class S, NumericsPolicy N, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges) {
    if constexpr (OffsetSymmetry<S>) return fit_beside_offsets(ranges, scale_fit<T, S, N>);
    else return fit<Encode>(ranges, scale_fit<T, S, N>);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges, const ScaleFit& how) {
    return fitted(ranges, how, [](Range r) { return r.min == 0.0f && r.max == 0.0f; });
  }
  /// The scales for ranges that have offsets of this type beside them. These share the sign of d:
  /// in a super-block with values below 0 no offset is above 0, and ranges begin at 0 at the
  /// latest.
  [[nodiscard]] static Scales fit_beside_offsets(std::span<const Range> ranges,
                                                 const ScaleFit& how) {
    std::vector<Range> extended(ranges.begin(), ranges.end());
    for (std::size_t i = 0; i < extended.size(); i += Count)
      if (const auto some = std::span(extended).subspan(i, std::min(Count, extended.size() - i));
          is_below_zero(some))
        for (Range& r : some) r.min = std::min(r.min, 0.0f);
    return fitted(extended, how, [](Range r) { return r.min == r.max; });
  }
  /// The offsets that are nearest to `exact` among those of the sign of their super-block: not
  /// above 0 where one of its ranges begins below 0, else not below 0.
  [[nodiscard]] static Scales nearest_offsets(std::span<const float> exact,
                                              std::span<const Range> ranges) {
    std::vector<float> magnitudes(exact.size());
    std::vector<std::uint16_t> signs;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (i % Count == 0) {
        const bool is_negative =
            is_below_zero(ranges.subspan(i, std::min(Count, exact.size() - i)));
        signs.push_back(static_cast<std::uint16_t>(is_negative ? Half::sign_bit : 0u));
      }
      magnitudes[i] = std::max(signs.back() != 0 ? -exact[i] : exact[i], 0.0f);
    }
    ScaleRules rules;
    rules.has_zero = false;  // what is nearer to 0 than to a step is 0
    Scales sizes = nearest(magnitudes, {}, rules);
    for (std::size_t b = 0; b < signs.size(); ++b)
      signs[b] = static_cast<std::uint16_t>(signs[b] | sizes.super_scales_[b]);
    return Scales(std::move(sizes.stored_), std::move(signs));
  }

  [[nodiscard]] auto values() const noexcept {
    return DecodedView(Decode{stored_.data(), decoded_.data()}, stored_.size());
  }
  /// The whole numbers.
  [[nodiscard]] std::span<const stored_type> stored() const noexcept { return stored_; }
  /// The codes of the float16.
  [[nodiscard]] std::span<const std::uint16_t> super_scales() const noexcept {
    return super_scales_;
  }
  /// Their values.
  [[nodiscard]] std::span<const float> super_values() const noexcept { return decoded_; }
  friend bool operator==(const Scales&, const Scales&) = default;

 private:
  static constexpr auto one = static_cast<std::uint16_t>(Half::encode(1.0f));

  // The nearest scales; those of ranges that need none are 0 before.
  static Scales fitted(std::span<const Range> ranges, const ScaleFit& how, const auto& needs_none) {
    std::vector<float> exact(ranges.size());
    how.exact_with_zeros(ranges, exact.data());
    if (!how.rules.may_vanish)
      for (std::size_t i = 0; i < exact.size(); ++i)
        if (needs_none(ranges[i])) exact[i] = 0.0f;
    return nearest(exact, ranges, how.rules);
  }
  // The float16 nearest to `top` over the largest code: positive if `top` is, and finite.
  static std::uint16_t half_for(float top) noexcept {
    const std::uint32_t code = Half::encode(top / Numbers::max_finite);
    return static_cast<std::uint16_t>(code == 0u && top > 0.0f ? 1u : code);
  }
  static stored_type number_for(float scale, float d) noexcept {
    if (!(d > 0.0f)) return 0;
    return static_cast<stored_type>(
        Numbers::template encode<Saturate>(scale / d, NearestEven{}, 0));
  }
  // True if one of the ranges of a super-block begins below 0.
  static bool is_below_zero(std::span<const Range> ranges) noexcept {
    return std::ranges::any_of(ranges, [](Range r) { return r.min < 0.0f; });
  }
  struct Decode {
    const stored_type* codes = nullptr;
    const float* super_values = nullptr;
    float operator()(std::size_t i) const noexcept {
      return super_values[i / Count] * static_cast<float>(codes[i]);
    }
  };
  std::vector<stored_type> stored_;
  std::vector<std::uint16_t> super_scales_;
  std::vector<float> decoded_;  // which reads need for every scale
};

/// The offsets that fit `ranges` beside scales as they are stored, as `offsets_for` of single
/// offsets makes them: by the formula of the symmetry, then the nearest that super-blocks have.
template <SuperBlockScale Stored>
[[nodiscard]] Offsets<Stored> offsets_for(std::span<const Range> ranges, const auto& scales,
                                          const OffsetFit& how) {
  std::vector<float> exact(ranges.size());
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = how.exact(ranges[i], scales[i]);
  return Offsets<Stored>::nearest_offsets(exact, ranges);
}

}  // namespace tq
