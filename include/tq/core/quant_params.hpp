// SPDX-License-Identifier: MIT
#pragma once
// QuantParams: scales and zero points of a tensor, with type, granularity and symmetry in the C++ type.

#include <tq/core/element.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq {

namespace detail {
struct nothing {
  friend constexpr bool operator==(const nothing&, const nothing&) = default;
};
constexpr bool valid_scale(float s) noexcept { return s > 0.0f && s <= std::numeric_limits<float>::max(); }
}  // namespace detail

/// Scales (and zero points, where the symmetry has them) of a tensor, one per parameter block, row-major
/// over the grid of blocks. Per-tensor parameters are stored inline. Every object holds valid values:
/// scales are positive and finite, zero points are codes.
template <Element Type, Granularity Gran, SymmetryFor<Type> Symmetry, class Scale = float>
class QuantParams {
 public:
  using type = Type;
  using granularity_type = Gran;
  using symmetry_type = Symmetry;
  using scale_type = Scale;
  using code_type = typename Type::code_type;
  static constexpr bool has_zero_point = Symmetry::has_zero_point;
  static constexpr bool is_per_tensor = std::same_as<Gran, PerTensor>;
  static constexpr CodeRange codes = Symmetry::template codes<Type>();

  /// Throws: `errc::bad_scale`.
  QuantParams(Gran granularity, std::vector<Scale> scales)
    requires(!has_zero_point && !is_per_tensor)
      : granularity_(granularity), scales_(std::move(scales)) {
    validate();
  }
  /// Throws: `errc::bad_scale`, `errc::bad_zero_point`, `errc::shape_mismatch`.
  QuantParams(Gran granularity, std::vector<Scale> scales, std::vector<std::int32_t> zero_points)
    requires(has_zero_point && !is_per_tensor)
      : granularity_(granularity), scales_(std::move(scales)), zero_points_(std::move(zero_points)) {
    validate();
  }
  /// Throws: `errc::bad_scale`.
  constexpr explicit QuantParams(Scale scale)
    requires(is_per_tensor && !has_zero_point)
      : scales_{scale} {
    validate();
  }
  /// Throws: `errc::bad_scale`, `errc::bad_zero_point`.
  constexpr QuantParams(Scale scale, std::int32_t zero_point)
    requires(is_per_tensor && has_zero_point)
      : scales_{scale}, zero_points_{zero_point} {
    validate();
  }

  [[nodiscard]] constexpr const Gran& granularity() const noexcept { return granularity_; }
  [[nodiscard]] constexpr std::span<const Scale> scales() const noexcept { return scales_; }
  [[nodiscard]] constexpr std::span<const std::int32_t> zero_points() const noexcept
    requires has_zero_point
  {
    return zero_points_;
  }
  /// Scale and zero point (0 where there is none) of parameter `i`.
  [[nodiscard]] constexpr Affine affine(std::size_t i) const noexcept {
    if constexpr (has_zero_point)
      return {static_cast<float>(scales_[i]), zero_points_[i]};
    else
      return {static_cast<float>(scales_[i]), 0};
  }

  /// `errc::ok` when these parameters fit a tensor of `shape`.
  [[nodiscard]] constexpr errc check(const Shape& shape) const noexcept {
    if (const errc e = granularity_.check(shape); e != errc::ok) return e;
    return scales_.size() == param_count(granularity_, shape) ? errc::ok : errc::shape_mismatch;
  }

  friend constexpr bool operator==(const QuantParams&, const QuantParams&) = default;

 private:
  template <class T>
  using storage = std::conditional_t<is_per_tensor, std::array<T, 1>, std::vector<T>>;

  constexpr void validate() const {
    for (std::size_t i = 0; i < scales_.size(); ++i)
      if (!detail::valid_scale(static_cast<float>(scales_[i])))
        raise(errc::bad_scale, "tq::QuantParams: expected positive finite scales, got " +
                                   std::to_string(static_cast<float>(scales_[i])) + " at parameter " +
                                   std::to_string(i));
    if constexpr (has_zero_point) {
      if (zero_points_.size() != scales_.size())
        raise(errc::shape_mismatch, "tq::QuantParams: expected as many zero points as scales (" +
                                        std::to_string(scales_.size()) + "), got " +
                                        std::to_string(zero_points_.size()));
      for (std::size_t i = 0; i < zero_points_.size(); ++i)
        if (zero_points_[i] < codes.min || zero_points_[i] > codes.max)
          raise(errc::bad_zero_point, "tq::QuantParams: expected zero points in [" +
                                          std::to_string(codes.min) + ", " + std::to_string(codes.max) +
                                          "], got " + std::to_string(zero_points_[i]) +
                                          " at parameter " + std::to_string(i));
    }
  }

  [[no_unique_address]] Gran granularity_{};
  storage<Scale> scales_;
  [[no_unique_address]] std::conditional_t<has_zero_point, storage<std::int32_t>, detail::nothing>
      zero_points_;
};

namespace detail {
template <class T>
inline constexpr bool is_quant_params = false;
template <class T, class G, class S, class Scale>
inline constexpr bool is_quant_params<QuantParams<T, G, S, Scale>> = true;
}  // namespace detail

/// Any `QuantParams<...>`.
template <class P>
concept AnyParams = detail::is_quant_params<P>;

/// Any `QuantParams<...>` of an integer element.
template <class P>
concept IntegerParams = AnyParams<P> && IntegerElement<typename P::type>;

/// QuantParams of a granularity with one entry per parameter: the constructor every granularity has.
/// Throws: what the constructors of `QuantParams` throw; `errc::shape_mismatch` when a per-tensor
/// granularity gets more or fewer than one scale.
template <AnyParams Params>
[[nodiscard]] Params make_params(const typename Params::granularity_type& granularity,
                                 std::vector<typename Params::scale_type> scales,
                                 std::vector<std::int32_t> zero_points = {}) {
  if constexpr (Params::is_per_tensor) {
    if (scales.size() != 1 || (Params::has_zero_point && zero_points.size() != 1))
      raise(errc::shape_mismatch, "tq::make_params: expected one scale (and zero point) per tensor, got " +
                                      std::to_string(scales.size()) + " and " +
                                      std::to_string(zero_points.size()));
    if constexpr (Params::has_zero_point)
      return Params(scales[0], zero_points[0]);
    else
      return Params(scales[0]);
  } else if constexpr (Params::has_zero_point) {
    return Params(granularity, std::move(scales), std::move(zero_points));
  } else {
    return Params(granularity, std::move(scales));
  }
}

}  // namespace tq
