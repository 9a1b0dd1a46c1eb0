// SPDX-License-Identifier: MIT
#pragma once
// A quantizer as data: what calibrators score ranges against, so that they are compiled once and
// not for every type.

#include <tq/bodies.hpp>
#include <tq/calibrate/range_for.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/numeric/value_format.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tq::detail {

/// Floats in ascending order have ascending ranks, one apart.
constexpr std::int64_t rank_of(float x) noexcept {
  const auto bits = std::int64_t{std::bit_cast<std::uint32_t>(x) & 0x7fffffffu};
  return std::bit_cast<std::int32_t>(x) < 0 ? -bits : bits;
}
constexpr float float_of_rank(std::int64_t rank) noexcept {
  const auto bits = static_cast<std::uint32_t>(rank < 0 ? -rank : rank);
  return std::bit_cast<float>(rank < 0 ? bits | 0x80000000u : bits);
}
/// The largest float of [lo, hi) for which `holds`; it does for lo, and not from some float on up
/// to hi.
template <class F>
[[nodiscard]] float last_where(float lo, float hi, F&& holds) {
  std::int64_t yes = rank_of(lo), no = rank_of(hi);
  while (no - yes > 1) {
    const std::int64_t middle = yes + (no - yes) / 2;
    (holds(float_of_rank(middle)) ? yes : no) = middle;
  }
  return float_of_rank(yes);
}

/// The values that a format encodes to, ascending; thresholds[i] is the largest number that becomes
/// levels[i] and not levels[i + 1]. What is below `lowest` or above `highest` does not become a
/// number.
struct LevelTable {
  std::vector<double> levels, thresholds;
  double lowest = -std::numeric_limits<double>::infinity(),
         highest = std::numeric_limits<double>::infinity();
};

/// Asks the format: so every rounding, tie rule and code book is as the operations have it.
[[nodiscard]] TQ_CORE_API LevelTable make_level_table(int bits, float (*decode)(std::uint32_t),
                                                      float (*quantize)(float));

/// The parameters for a range: code k stands for (k - zero point) * scale + offset.
struct Levels : Affine {
  float offset = 0;
  constexpr Levels(Affine a) noexcept : Affine(a) {}  // NOLINT: without an offset it is the same
  constexpr Levels(OffsetAffine a) noexcept : Affine{a.scale, 0}, offset(a.offset) {}  // NOLINT
  friend constexpr bool operator==(const Levels&, const Levels&) = default;
};

/// A quantizer at scale 1 and offset 0. Integers k in `codes` stand for themselves, and k becomes k
/// + 1 at k + up where k >= 0, at k + 1 + down where k < 0. Floats and code books have `levels`.
struct QuantizerGrid {
  Levels (*fit)(Range);
  const LevelTable& (*levels)();
  bool is_integer;
  Decides by;
  CodeRange codes;
  double up, down;
  double middle =
      0;  ///< what ranges lie on both sides of: 0, or of those with an offset the median

  [[nodiscard]] double covered(Range r) const noexcept { return detail::covered(r, by); }
  /// Whether both ends of a range decide on what it becomes.
  [[nodiscard]] bool has_two_ends() const noexcept {
    return by == Decides::ends || by == Decides::width;
  }
  /// How many values there are.
  [[nodiscard]] TQ_CORE_API std::size_t size() const;
  /// The symmetric range that reaches `top`.
  [[nodiscard]] TQ_CORE_API Range symmetric(double top) const noexcept;
  /// Whether scale and zero point depend on the range at all: what is seen once has no other range,
  /// and there are types without scales, and values too small for any.
  [[nodiscard]] TQ_CORE_API bool leaves_choice(Range seen) const;
  /// Whether a scale can be scored.
  [[nodiscard]] static bool usable(const Affine& a) noexcept {
    return a.scale > 0 && is_finite(a.scale);
  }
};

/// Where rounding goes from `from` up to `from` + 1, to 20 bits.
[[nodiscard]] TQ_CORE_API double rounding_threshold(float (*round)(float), float from);

/// `ScaleRaises` while ranges are tried: those without a usable scale are not chosen, and nothing
/// is thrown.
struct ScaleTried {
  static constexpr std::string_view name = "scale_tried";
  static constexpr float apply(float scale) noexcept { return usable_or(0.0f, scale); }
};

template <AnyParams Params, NumericsPolicy N>
[[nodiscard]] Levels try_fit(Range r) {
  using D = typename N::degenerate_type;
  return fit_affine<
      Params, with_degenerate<N, std::conditional_t<std::same_as<D, ScaleRaises>, ScaleTried, D>>>(
      r);
}

/// Stochastic rounding is scored as rounding to nearest.
template <class R>
using rounding_tried = std::conditional_t<std::same_as<R, Stochastic>, NearestEven, R>;

template <ValueFormat F, Rounding R, OverflowPolicy O>
[[nodiscard]] const LevelTable& level_table() {
  static const LevelTable table = make_level_table(
      F::bits, [](std::uint32_t code) { return F::decode(code); },
      [](float x) { return F::decode(F::template encode<O>(x, R{}, 0)); });
  return table;
}

/// The quantizer of `Params` under numerics N.
template <AnyParams Params, NumericsPolicy N>
  requires ExactInFloat32<typename Params::type>
[[nodiscard]] QuantizerGrid quantizer_grid() {
  using T = typename Params::type;
  using R = typename N::rounding_type;
  QuantizerGrid g{
      &try_fit<Params, N>, nullptr, IntegerElement<T>, decides<Params>, Params::codes, 0.5, -0.5};
  if constexpr (CodedElement<T>) {
    using F = typename T::format;
    using Tried =
        std::conditional_t<RoundsBy<F, rounding_tried<R>>, rounding_tried<R>, NearestEven>;
    g.levels = &level_table<F, Tried, typename N::overflow_type>;
  } else {
    constexpr auto round = [](float v) { return rounding_tried<R>{}(v, 0); };
    g.up = rounding_threshold(round, 0);
    g.down = rounding_threshold(round, -1);
  }
  return g;
}

}  // namespace tq::detail

#ifndef TQ_KERNEL_LIBRARY
#include <tq/calibrate/detail/quantizer_grid.ipp>
#endif
