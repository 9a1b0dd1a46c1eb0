// SPDX-License-Identifier: MIT
#pragma once
// ParamsView: scales and zero points or offsets in memory of the caller's, used where QuantParams
// are.

#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/element.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/offsets.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/error.hpp>
#include <tq/numeric/numerics.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tq {

/// A scale type whose scales stand alone: float, or an element such as `float16`.
template <class S>
concept PlainScaleType = std::same_as<S, float> || CodedElement<S>;

namespace detail {
// Codes of scales in memory of somebody else's.
template <CodedElement E>
class ScaleCodes {
 public:
  using stored_type = typename E::code_type;
  explicit ScaleCodes(std::span<const stored_type> codes) noexcept : codes_(codes) {}
  [[nodiscard]] auto values() const noexcept {
    return DecodedView(DecodeScale<E>{codes_.data()}, codes_.size());
  }
  [[nodiscard]] std::span<const stored_type> stored() const noexcept { return codes_; }

 private:
  std::span<const stored_type> codes_;
};
}  // namespace detail

/// The parameters of `QuantParams` in memory of the caller's, which must outlive the view and keep
/// what it had when this was made: scales and offsets as they are stored, zero points as numbers,
/// as `quantize_dynamic` writes both. It is what operations take; what makes parameters
/// (`calibrate`) or keeps them (`QuantizedTensor`) has `QuantParams`.
template <Element Type, Granularity Gran, SymmetryFor<Type> Symmetry, PlainScaleType Scale = float,
          NumericsPolicy N = numerics::onnx>
  requires ScaleTypeFor<Scale, Symmetry>
class ParamsView {
 public:
  using type = Type;
  using granularity_type = Gran;
  using symmetry_type = Symmetry;
  using scale_type = Scale;
  using numerics_type = N;
  template <NumericsPolicy M>
  using under = ParamsView<Type, Gran, Symmetry, Scale, M>;
  using code_type = typename Type::code_type;
  using stored_type = typename Scales<Scale>::stored_type;
  static constexpr bool has_zero_point = Symmetry::has_zero_point;
  static constexpr bool has_offset = OffsetSymmetry<Symmetry>;
  static constexpr bool is_per_tensor = std::same_as<Gran, PerTensor>;
  static constexpr bool is_inline = false;
  static constexpr CodeRange codes = Symmetry::template codes<Type>();

  /// Throws: `errc::bad_scale`; `errc::shape_mismatch` when a per-tensor granularity gets more or
  /// fewer than one.
  ParamsView(Gran granularity, std::span<const stored_type> scales)
    requires(!has_zero_point && !has_offset)
      : granularity_(granularity), scales_(scales) {
    detail::require_scales<ParamsView>("tq::ParamsView", this->scales());
  }
  /// Throws: `errc::bad_scale`, `errc::bad_zero_point`, `errc::shape_mismatch`.
  ParamsView(Gran granularity, std::span<const stored_type> scales,
             std::span<const std::int32_t> zero_points)
    requires has_zero_point
      : granularity_(granularity), scales_(scales), origins_(zero_points) {
    detail::require_scales<ParamsView>("tq::ParamsView", this->scales());
    detail::require_zero_points<ParamsView>("tq::ParamsView", scales.size(), zero_points);
  }
  /// Throws: `errc::bad_scale`, `errc::not_finite`, `errc::shape_mismatch`.
  ParamsView(Gran granularity, std::span<const stored_type> scales,
             std::span<const stored_type> offsets)
    requires has_offset
      : granularity_(granularity), scales_(scales), origins_(numbers(offsets)) {
    detail::require_scales<ParamsView>("tq::ParamsView", this->scales());
    detail::require_offsets("tq::ParamsView", scales.size(), this->offsets());
  }

  [[nodiscard]] const Gran& granularity() const noexcept { return granularity_; }
  /// The scales as float32.
  [[nodiscard]] auto scales() const noexcept { return values_of(scales_); }
  /// The scales as they are stored.
  [[nodiscard]] const auto& stored_scales() const noexcept { return scales_; }
  [[nodiscard]] std::span<const std::int32_t> zero_points() const noexcept
    requires has_zero_point
  {
    return origins_;
  }
  [[nodiscard]] const auto& stored_zero_points() const noexcept
    requires has_zero_point
  {
    return origins_;
  }
  /// The offsets as float32, and as they are stored.
  [[nodiscard]] auto offsets() const noexcept
    requires has_offset
  {
    return values_of(origins_);
  }
  [[nodiscard]] const auto& stored_offsets() const noexcept
    requires has_offset
  {
    return origins_;
  }
  /// Scale and zero point (0 where there is none) of parameter `i`; scale and offset where there
  /// are such.
  [[nodiscard]] auto affine(std::size_t i) const noexcept {
    if constexpr (has_offset) return detail::affine_of<ParamsView>(scales(), offsets(), i);
    else return detail::affine_of<ParamsView>(scales(), origins_, i);
  }
  /// `errc::ok` when these parameters fit a tensor of `shape`.
  [[nodiscard]] errc check(const Shape& shape) const noexcept {
    if (const errc e = granularity_.check(shape); e != errc::ok) return e;
    return scales().size() == param_count(granularity_, shape) ? errc::ok : errc::shape_mismatch;
  }

 private:
  template <class S>
  struct scales_in {
    using type = detail::ScaleCodes<S>;
  };
  template <std::same_as<float> S>
  struct scales_in<S> {
    using type = std::span<const float>;
  };

  using numbers = typename scales_in<Scale>::type;
  static auto values_of(const numbers& stored) noexcept {
    if constexpr (std::same_as<Scale, float>) return stored;
    else return stored.values();
  }

  [[no_unique_address]] Gran granularity_;
  numbers scales_;
  [[no_unique_address]] std::conditional_t<has_zero_point, std::span<const std::int32_t>,
                                           std::conditional_t<has_offset, numbers, detail::nothing>>
      origins_;
};

namespace detail {
template <class T, class G, class S, class Scale, class N>
inline constexpr bool is_quant_params<ParamsView<T, G, S, Scale, N>> = true;
}  // namespace detail

}  // namespace tq
