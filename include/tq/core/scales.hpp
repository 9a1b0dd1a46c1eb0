// SPDX-License-Identifier: MIT
#pragma once
// Scales as they are stored: float32, a smaller float each, or on two levels.

#include <tq/core/block_reach.hpp>
#include <tq/core/codebook.hpp>
#include <tq/core/decoded_view.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/scale_fit.hpp>
#include <tq/core/scale_limits.hpp>
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
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

/// The smallest block scales that are made of a range.
enum class BlockScales : std::uint8_t {
  any,     ///< subnormal ones too, and 0 for blocks that are nothing beside the rest of the tensor
  normal,  ///< at least the smallest normal value (torchao)
};

namespace detail {
// "float8_e4m3fn_two_level": the name of a scale type over the one of its codes.
template <class E, BlockScales Least>
inline constexpr auto two_level_name = [] {
  constexpr std::string_view element = E::name;
  constexpr std::string_view suffix =
      Least == BlockScales::normal ? "_two_level_normal" : "_two_level";
  std::array<char, element.size() + suffix.size()> text{};
  std::copy(suffix.begin(), suffix.end(), std::copy(element.begin(), element.end(), text.begin()));
  return text;
}();
}  // namespace detail

/// Scales of type `Element` under one float32 for the whole tensor: scale i = tensor_scale *
/// value(code i). Source: NVIDIA NVFP4; torchao `nvfp4_quantize`.
template <CodedElement Element, BlockScales Least = BlockScales::any>
struct TwoLevel {
  static constexpr std::string_view name{detail::two_level_name<Element, Least>.data(),
                                         detail::two_level_name<Element, Least>.size()};
};

/// Scales quantized themselves: scale i = map[code i] * block_scale[i / 256] + offset, with
/// `dynamic8` as map and the mean of the scales as offset. Source: Dettmers et al., "QLoRA", 2023,
/// section 3; bitsandbytes `compress_statistics`.
struct DoubleQuantized {
  static constexpr std::string_view name = "double_quantized";
  static constexpr std::size_t block = 256;
  using code_type = std::uint8_t;
  using map = CodebookFormat<codebooks::dynamic8>;
};

/// No scales: codes stand for the values themselves, as a cast makes them.
struct Unscaled {
  static constexpr std::string_view name = "none";
};

namespace detail {

// Scale i of those stored as codes of E.
template <CodedElement E>
struct DecodeScale {
  const typename E::code_type* codes = nullptr;
  float operator()(std::size_t i) const noexcept { return value_of<typename E::format>(codes[i]); }
};

}  // namespace detail

/// How scales are rounded to the codes they are stored as: nearest even, what is too large to the
/// largest finite value. Other models give the same codes by other means.
struct EncodeOneByOne {
  template <CodedElement E>
  static void codes(std::span<const float> scales, std::span<typename E::code_type> out) noexcept {
    for (std::size_t i = 0; i < scales.size(); ++i)
      out[i] = static_cast<typename E::code_type>(
          E::format::template encode<Saturate>(scales[i], NearestEven{}, 0));
  }
};

/// The scales of a tensor as they are stored. `values()` are the float32 numbers that every
/// operation uses: a view that makes each when it is read, a span where they are stored as such.
/// `S` is float, an element such as `float16` or `float8_e8m0fnu`, `TwoLevel<...>`,
/// `DoubleQuantized` or `Unscaled`.
template <class S>
class Scales;

// Those of one type are templates of it nevertheless, so that only who uses them compiles their
// members.

/// Plain float32.
template <std::same_as<float> Self>
class Scales<Self> {
 public:
  using stored_type = float;
  Scales(std::vector<float> scales) noexcept
      : values_(std::move(scales)) {}  // NOLINT: they are the same thing
  Scales(std::initializer_list<float> scales) : values_(scales) {}

  /// The scales that fit `ranges`, by symmetry S of element T.
  template <Element T, class S, NumericsPolicy N, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges) {
    return fit<Encode>(ranges, scale_fit<T, S, N>);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges, const ScaleFit& how) {
    std::vector<float> scales(ranges.size());
    how.exact(ranges, scales.data());
    return Scales(std::move(scales));
  }

  [[nodiscard]] std::span<const float> values() const noexcept { return values_; }
  [[nodiscard]] std::span<const float> stored() const noexcept { return values_; }
  friend bool operator==(const Scales&, const Scales&) = default;

 private:
  std::vector<float> values_;
};

/// One code of a small float per scale.
template <CodedElement E>
class Scales<E> {
 public:
  using stored_type = typename E::code_type;
  explicit Scales(std::vector<stored_type> codes) noexcept : stored_(std::move(codes)) {}

  /// The stored scales nearest to `exact`, which were made of `ranges`, of those that the rules
  /// allow: what is too large becomes the largest, and a positive scale never zero unless no code
  /// means 0.
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales nearest(std::span<const float> exact,
                                      std::span<const Range> ranges = {},
                                      const ScaleRules& rules = {}) {
    std::vector<stored_type> codes(exact.size());
    make_nearest<Encode>(exact, ranges, rules, codes);
    return Scales(std::move(codes));
  }

  /// The scales that fit `ranges`: exact ones rounded to be stored, powers of two by the exponent
  /// rule of the numerics.
  template <Element T, class S, NumericsPolicy N, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges) {
    return fit<Encode>(ranges, scale_fit<T, S, N>);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges, const ScaleFit& how) {
    std::vector<stored_type> codes(ranges.size());
    detail::for_each_stretch(ranges, [&](std::size_t first, std::span<const Range> some) {
      const std::span<stored_type> to = std::span(codes).subspan(first, some.size());
      if constexpr (std::same_as<typename E::format, ExponentFormat>) {
        how.powers(some, to.data());
        detail::keep_rules<typename E::format>(to, some, how.rules, std::identity{});
      } else {
        float exact[detail::stretch];
        how.exact(some, exact);
        make_nearest<Encode>({exact, some.size()}, some, how.rules, to);
      }
    });
    return Scales(std::move(codes));
  }

  [[nodiscard]] auto values() const noexcept {
    return DecodedView(detail::DecodeScale<E>{stored_.data()}, stored_.size());
  }
  [[nodiscard]] std::span<const stored_type> stored() const noexcept { return stored_; }
  friend bool operator==(const Scales&, const Scales&) = default;

 private:
  template <class Encode>
  static void make_nearest(std::span<const float> exact, std::span<const Range> ranges,
                           const ScaleRules& rules, std::span<stored_type> to) {
    Encode::template codes<E>(exact, to);
    if (rules.has_zero)
      for (std::size_t i = 0; i < to.size(); ++i)
        if (exact[i] > 0 && E::format::decode(to[i]) == 0.0f) to[i] = 1u;
    detail::keep_rules<typename E::format>(to, ranges, rules, std::identity{});
  }

  std::vector<stored_type> stored_;
};

/// Small block scales under a float32 scale of the tensor.
template <CodedElement E, BlockScales Least>
class Scales<TwoLevel<E, Least>> {
 public:
  using stored_type = typename E::code_type;
  /// Throws: `errc::bad_scale` unless `tensor_scale` is positive and finite.
  Scales(std::vector<stored_type> codes, float tensor_scale)
      : stored_(std::move(codes)), tensor_scale_(tensor_scale) {
    require_tensor_scale("tq::Scales", tensor_scale);
  }

  /// tensor_scale = max|x| / (max_finite(E) * max_finite(T)), and the block scales under it.
  template <Element T, class S, NumericsPolicy N, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges) {
    return fit<Encode>(ranges, scale_fit<T, S, N>);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges, const ScaleFit& how) {
    return under<Encode>(how.reach, tensor_scale_of(how.reach, ranges, how.rules), ranges,
                         how.rules);
  }
  /// The tensor scale of a tensor of blocks with these ranges.
  template <Element T, class S>
  [[nodiscard]] static float tensor_scale_of(
      std::span<const Range> ranges,
      const ScaleRules& rules = scale_rules<T, S, Numerics<>>) noexcept {
    return tensor_scale_of(detail::reach_of<T, S>, ranges, rules);
  }
  [[nodiscard]] static float tensor_scale_of(detail::CodeReach code, std::span<const Range> ranges,
                                             const ScaleRules& rules) noexcept {
    double most = 0;
    for (const Range r : ranges) most = std::max(most, code.of(r));
    return tensor_scale_for(code, most, rules);
  }
  /// The tensor scale of a tensor whose blocks reach `most`: 1 where there is nothing that could be
  /// scaled, and not so large that the code of `most` would decode to an infinity.
  template <Element T, class S>
  [[nodiscard]] static float tensor_scale_for(
      double most, const ScaleRules& rules = scale_rules<T, S, Numerics<>>) noexcept {
    return tensor_scale_for(detail::reach_of<T, S>, most, rules);
  }
  [[nodiscard]] static float tensor_scale_for(detail::CodeReach code, double most,
                                              const ScaleRules& rules) noexcept {
    const float top = code.top, safe = rules.safe;
    // With a zero point the codes lie on both sides of 0.
    const float largest = code.both_sides ? detail::largest_scale_for((top + 1) / 2) : safe;
    auto tensor = static_cast<float>(most / (double(E::format::max_finite) * double(top)));
    if (!(E::format::max_finite * tensor >= rules.least)) return 1.0f;
    const auto is_too_large = [&](float scale) {
      return scale > largest || (scale > safe && double(scale) * double(top) > most);
    };
    while (is_too_large(E::format::max_finite * tensor)) tensor = detail::float_below(tensor);
    return tensor;
  }

  /// Block scales under a given tensor scale (1 where there is none): max|block| / max_finite(T) /
  /// tensor_scale, rounded to E between the least and the largest block scale. Integers have no
  /// scale of 0; where no code means 0, what is nearer to 0 than to the least has it.
  template <Element T, class S, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales under(float tensor_scale, std::span<const Range> ranges,
                                    const ScaleRules& rules = scale_rules<T, S, Numerics<>>) {
    return under<Encode>(detail::reach_of<T, S>, tensor_scale, ranges, rules);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales under(detail::CodeReach code, float tensor_scale,
                                    std::span<const Range> ranges, const ScaleRules& rules) {
    const float least = Least == BlockScales::normal ? E::format::smallest_normal
                        : !rules.may_vanish          ? E::format::smallest_subnormal
                                                     : 0.0f;
    std::vector<stored_type> codes(ranges.size());
    detail::for_each_stretch(ranges, [&](std::size_t first, std::span<const Range> some) {
      float blocks[detail::stretch];
      for (std::size_t i = 0; i < some.size(); ++i) {
        const float block = code.scale(some[i]) / tensor_scale;
        const bool is_nothing = !rules.has_zero && rules.may_vanish && !(block > least / 2);
        blocks[i] = is_nothing ? 0.0f : std::clamp(block, least, E::format::max_finite);
      }
      const std::span<stored_type> to = std::span(codes).subspan(first, some.size());
      Encode::template codes<E>({blocks, some.size()}, to);
      detail::keep_rules<typename E::format>(to, some, rules,
                                             [&](float block) { return block * tensor_scale; });
    });
    return Scales(std::move(codes), tensor_scale);
  }

  [[nodiscard]] auto values() const noexcept {
    return DecodedView(Decode{stored_.data(), tensor_scale_}, stored_.size());
  }
  [[nodiscard]] std::span<const stored_type> stored() const noexcept { return stored_; }
  [[nodiscard]] float tensor_scale() const noexcept { return tensor_scale_; }
  /// Throws: `errc::bad_scale` unless `tensor_scale` is positive and finite.
  static void require_tensor_scale(const char* who, float tensor_scale) {
    if (!(tensor_scale > 0) || !detail::is_finite(tensor_scale))
      raise(errc::bad_scale, std::string(who) + ": expected a positive finite tensor scale, got " +
                                 detail::number_text(tensor_scale));
  }
  friend bool operator==(const Scales&, const Scales&) = default;

 private:
  struct Decode {
    const stored_type* codes = nullptr;
    float tensor_scale = 1.0f;
    float operator()(std::size_t i) const noexcept {
      return detail::uncontracted(detail::value_of<typename E::format>(codes[i]) * tensor_scale);
    }
  };
  std::vector<stored_type> stored_;
  float tensor_scale_;
};

/// 8-bit codes of the scales' distance from their mean, and a float32 for every 256 of them.
template <std::same_as<DoubleQuantized> Self>
class Scales<Self> {
 public:
  using stored_type = typename Self::code_type;
  using map = typename Self::map;
  /// Throws: `errc::shape_mismatch` unless there is a block scale for every 256 codes;
  /// `errc::bad_scale` unless they and the offset are finite.
  Scales(std::vector<stored_type> codes, std::vector<float> block_scales, float offset)
      : stored_(std::move(codes)), block_scales_(std::move(block_scales)), offset_(offset) {
    const std::size_t blocks =
        (stored_.size() + DoubleQuantized::block - 1) / DoubleQuantized::block;
    if (blocks != block_scales_.size())
      raise(errc::shape_mismatch, "tq::Scales: expected " + std::to_string(blocks) +
                                      " scales for " + std::to_string(stored_.size()) +
                                      " quantized scales, got " +
                                      std::to_string(block_scales_.size()));
    bool finite = detail::is_finite(offset_);
    for (const float s : block_scales_) finite = finite && detail::is_finite(s);
    if (!finite)
      raise(errc::bad_scale, "tq::Scales: expected finite scales and offset of the scales");
  }

  /// Quantizes `exact`, which were made of `ranges`, as bitsandbytes does: scale - mean, in blocks
  /// of 256, by the reciprocal of its largest magnitude. Where the rules do not allow what is
  /// nearest, the scale becomes the next one that they do. Where no code means 0, the offset is 0
  /// and not the mean, so that 0 is a scale.
  [[nodiscard]] static Scales nearest(std::span<const float> exact,
                                      std::span<const Range> ranges = {},
                                      const ScaleRules& rules = {}) {
    double sum = 0;
    for (const float s : exact) sum += double(s);
    const bool shifts = rules.has_zero && !exact.empty();
    const auto offset = shifts ? static_cast<float>(sum / static_cast<double>(exact.size())) : 0.0f;
    std::vector<stored_type> codes;
    std::vector<float> block_scales;
    codes.reserve(exact.size());
    block_scales.reserve((exact.size() + DoubleQuantized::block - 1) / DoubleQuantized::block);
    for (std::size_t i = 0; i < exact.size(); i += DoubleQuantized::block) {
      const auto block = exact.subspan(i, std::min(DoubleQuantized::block, exact.size() - i));
      float top = 0;
      bool is_wide = false;
      for (const float s : block) {
        top = std::max(top, std::abs(s - offset));
        is_wide |= s > rules.safe;
      }
      if (is_wide)
        top = std::max(top,
                       offset / 2);  // leaves codes below, for a zero point that does not overflow
      block_scales.push_back(top);
      const float inverse = 1.0f / std::max(top, 1e-38f);
      for (const float s : block)
        codes.push_back(static_cast<stored_type>(map::encode((s - offset) * inverse)));
      detail::keep_rules<map>(std::span(codes).subspan(i),
                              ranges.empty() ? ranges : ranges.subspan(i), rules,
                              [&](float distance) { return value(distance, top, offset); });
    }
    return Scales(std::move(codes), std::move(block_scales), offset);
  }
  /// Blocks of zeros keep the scale 0 under `ScaleOne`: a 1 among small scales would cost the
  /// others their precision.
  template <Element T, class S, NumericsPolicy N, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges) {
    return fit<Encode>(ranges, scale_fit<T, S, N>);
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges, const ScaleFit& how) {
    std::vector<float> exact(ranges.size());
    how.exact_with_zeros(ranges, exact.data());
    return nearest(exact, ranges, how.rules);
  }

  [[nodiscard]] auto values() const noexcept {
    return DecodedView(Decode{stored_.data(), block_scales_.data(), offset_}, stored_.size());
  }
  [[nodiscard]] std::span<const stored_type> stored() const noexcept { return stored_; }
  [[nodiscard]] std::span<const float> block_scales() const noexcept { return block_scales_; }
  [[nodiscard]] float offset() const noexcept { return offset_; }
  friend bool operator==(const Scales&, const Scales&) = default;

 private:
  static float value(float distance, float block_scale, float offset) noexcept {
    return std::max(detail::uncontracted(distance * block_scale) + offset, 0.0f);
  }
  struct Decode {
    const stored_type* codes = nullptr;
    const float* block_scales = nullptr;
    float offset = 0.0f;
    float operator()(std::size_t i) const noexcept {
      return value(detail::value_of<map>(codes[i]), block_scales[i / DoubleQuantized::block],
                   offset);
    }
  };
  std::vector<stored_type> stored_;
  std::vector<float> block_scales_;
  float offset_;
};

/// The scale 1 for every block; nothing is stored.
template <std::same_as<Unscaled> Self>
class Scales<Self> {
 public:
  explicit Scales(std::size_t count = 1) : values_(count, 1.0f) {}
  template <Element T, class S, NumericsPolicy N, class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges) {
    return Scales(ranges.size());
  }
  template <class Encode = EncodeOneByOne>
  [[nodiscard]] static Scales fit(std::span<const Range> ranges, const ScaleFit&) {
    return Scales(ranges.size());
  }
  [[nodiscard]] std::span<const float> values() const noexcept { return values_; }
  friend bool operator==(const Scales&, const Scales&) = default;

 private:
  std::vector<float> values_;
};

namespace detail {
template <class S>
inline constexpr bool is_two_level = false;
template <CodedElement E, BlockScales Least>
inline constexpr bool is_two_level<TwoLevel<E, Least>> = true;
template <class S>
inline constexpr bool is_scale_type =
    std::same_as<S, float> || std::same_as<S, DoubleQuantized> || std::same_as<S, Unscaled> ||
    CodedElement<S> || is_two_level<S>;
}  // namespace detail

/// A type scales can be stored as: float, a coded element, `TwoLevel<...>`, `DoubleQuantized`,
/// `Unscaled`.
template <class S>
concept ScaleType = detail::is_scale_type<S>;

/// The name of a scale type in JSON and on command lines; that of float is "float32".
template <ScaleType S>
inline constexpr std::string_view scale_type_name = [] {
  if constexpr (std::same_as<S, float>) return std::string_view("float32");
  else return std::string_view(S::name);
}();

}  // namespace tq
