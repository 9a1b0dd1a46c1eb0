// SPDX-License-Identifier: MIT
#pragma once
// Scales<float>, one code of a small float per scale, and the scale 1 of codes that have none.

#include <tq/core/detail/decoded_view.hpp>
#include <tq/core/detail/scale_fit.hpp>
#include <tq/core/detail/scale_limits.hpp>
#include <tq/core/element.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/core/scale_kinds.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/numeric/rounding.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace tq {

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

// Scales of one type are templates of it nevertheless, so that only their users compile their
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

}  // namespace tq
