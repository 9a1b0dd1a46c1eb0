// SPDX-License-Identifier: MIT
#pragma once
// QuantParams: scales and zero points or offsets of a tensor, with type, granularity and symmetry
// in the C++ type.

#include <tq/core/affine_for.hpp>
#include <tq/core/detail/kept.hpp>
#include <tq/core/detail/require_parameters.hpp>
#include <tq/core/element.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/offsets.hpp>
#include <tq/core/scales.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/symmetry.hpp>
#include <tq/core/zero_points.hpp>
#include <tq/error.hpp>
#include <tq/numeric/numerics.hpp>

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
struct ValidParts {};
struct nothing {
  friend constexpr bool operator==(const nothing&, const nothing&) = default;
};
// The storage of zero points or offsets beside scales.
template <class Type, class Symmetry, class Scale, bool Inline>
struct origin_storage {
  using type = nothing;
};
template <class Type, class Symmetry, class Scale, bool Inline>
  requires(Symmetry::has_zero_point)
struct origin_storage<Type, Symmetry, Scale, Inline> {
  using type = std::conditional_t<Inline, std::array<std::int32_t, 1>, ZeroPoints<Type>>;
};
template <class Type, OffsetSymmetry Symmetry, class Scale, bool Inline>
struct origin_storage<Type, Symmetry, Scale, Inline> {
  using type = std::conditional_t<Inline, std::array<float, 1>, Offsets<Scale>>;
};
// Parameter i of those whose scales, and zero points or offsets, these are.
template <class Params>
[[nodiscard]] constexpr auto affine_of(const auto& scales, const auto& origins,
                                       std::size_t i) noexcept {
  if constexpr (Params::has_offset) return OffsetAffine{scales[i], origins[i]};
  else if constexpr (Params::has_zero_point) return Affine{scales[i], origins[i]};
  else return Affine{scales[i], 0};
}
}  // namespace detail

/// Scales (and zero points or offsets, where the symmetry has them) of a tensor, one per parameter
/// block, row-major over the grid of blocks: scales and offsets stored as `Scale`, zero points as
/// codes of the type, and nothing beside them. Per-tensor float32 parameters are inline. Every
/// object holds valid values: scales are positive and finite, offsets finite, zero points are
/// codes. Blocks of a float or code-book type may also have scale 0 (only zeros), or NaN where
/// scales are powers of two (no numbers).
///
/// `N` names the numerics that the parameters were made for; operations use them unless they are
/// told others. Scales and numerics belong together: the codes of values next to ties depend on
/// both.
template <Element Type, Granularity Gran, SymmetryFor<Type> Symmetry,
          ScaleTypeFor<Symmetry> Scale = float, NumericsPolicy N = numerics::onnx>
class QuantParams {
  static constexpr bool stores_inline = std::same_as<Gran, PerTensor> && std::same_as<Scale, float>;
  using origins_type = typename detail::origin_storage<Type, Symmetry, Scale, stores_inline>::type;

 public:
  using type = Type;
  using granularity_type = Gran;
  using symmetry_type = Symmetry;
  using scale_type = Scale;
  using numerics_type = N;
  using code_type = typename Type::code_type;
  /// The same scheme under other numerics: `typename P::template under<numerics::torch>`.
  template <NumericsPolicy M>
  using under = QuantParams<Type, Gran, Symmetry, Scale, M>;
  static constexpr bool has_zero_point = Symmetry::has_zero_point;
  static constexpr bool has_offset = OffsetSymmetry<Symmetry>;
  static constexpr bool is_per_tensor = std::same_as<Gran, PerTensor>;
  static constexpr bool is_inline = stores_inline;
  static constexpr CodeRange codes = Symmetry::template codes<Type>();

  /// Throws: `errc::bad_scale`; `errc::shape_mismatch` when a per-tensor granularity gets more or
  /// fewer than one.
  QuantParams(Gran granularity, Scales<Scale> scales)
    requires(!has_zero_point && !has_offset && !is_inline)
      : granularity_(granularity), scales_(std::move(scales)) {
    detail::require_scales<QuantParams>("tq::QuantParams", this->scales());
  }
  /// Throws: `errc::bad_scale`, `errc::bad_zero_point`, `errc::shape_mismatch`.
  QuantParams(Gran granularity, Scales<Scale> scales, const std::vector<std::int32_t>& zero_points)
    requires(has_zero_point && !is_inline)
      : granularity_(granularity), scales_(std::move(scales)) {
    detail::require_scales<QuantParams>("tq::QuantParams", this->scales());
    detail::require_zero_points<QuantParams>("tq::QuantParams", this->scales().size(), zero_points);
    origins_ = ZeroPoints<Type>(zero_points);
  }
  QuantParams(Gran granularity, Scales<Scale> scales, origins_type zero_points)
    requires(has_zero_point && !is_inline)
      : granularity_(granularity), scales_(std::move(scales)), origins_(std::move(zero_points)) {
    detail::require_scales<QuantParams>("tq::QuantParams", this->scales());
    detail::require_zero_points<QuantParams>("tq::QuantParams", this->scales().size(),
                                             this->zero_points());
  }
  /// Throws: `errc::bad_scale`, `errc::not_finite`, `errc::shape_mismatch`.
  QuantParams(Gran granularity, Scales<Scale> scales, Scales<Scale> offsets)
    requires(has_offset && !is_inline)
      : granularity_(granularity), scales_(std::move(scales)), origins_(std::move(offsets)) {
    detail::require_scales<QuantParams>("tq::QuantParams", this->scales());
    detail::require_offsets("tq::QuantParams", this->scales().size(), this->offsets());
  }
  /// Throws: `errc::bad_scale`.
  constexpr explicit QuantParams(Scale scale)
    requires(is_inline && !has_zero_point && !has_offset)
      : scales_{scale} {
    detail::require_scales<QuantParams>("tq::QuantParams", scales_);
  }
  /// Throws: `errc::bad_scale`, `errc::bad_zero_point`.
  constexpr QuantParams(Scale scale, std::int32_t zero_point)
    requires(is_inline && has_zero_point)
      : scales_{scale}, origins_{zero_point} {
    detail::require_scales<QuantParams>("tq::QuantParams", scales_);
    detail::require_zero_points<QuantParams>("tq::QuantParams", 1, origins_);
  }
  /// Throws: `errc::bad_scale`, `errc::not_finite`.
  constexpr QuantParams(Scale scale, Scale offset)
    requires(is_inline && has_offset)
      : scales_{scale}, origins_{offset} {
    detail::require_scales<QuantParams>("tq::QuantParams", scales_);
    detail::require_offsets("tq::QuantParams", 1, origins_);
  }

  /// Does not compile: zero points and offsets have no default.
  constexpr explicit QuantParams(Scale)
    requires(is_inline && (has_zero_point || has_offset))
      : scales_{} {
    static_assert(!has_zero_point,
                  "tq::QuantParams: an asymmetric scheme needs a zero point beside the scale: "
                  "(scale, zero_point)");
    static_assert(!has_offset,
                  "tq::QuantParams: this scheme needs an offset beside the scale: (scale, offset)");
  }
  /// Does not compile: symmetric schemes have no zero point.
  constexpr QuantParams(Scale, std::int32_t)
    requires(is_inline && !has_zero_point && !has_offset)
      : scales_{} {
    static_assert(has_zero_point, "tq::QuantParams: a symmetric scheme has a scale alone: (scale)");
  }
  /// Does not compile: parameters for other numerics become these by `made_for` only.
  template <NumericsPolicy M>
    requires(!std::same_as<M, N>)
  constexpr QuantParams(const under<M>& other)  // NOLINT(google-explicit-constructor)
      : QuantParams(other.template made_for<N>()) {
    static_assert(std::is_same_v<M, N>,
                  "tq::QuantParams: these parameters were made for other numerics: use auto, name "
                  "the numerics as the last argument of the type, or write p.made_for<numerics>()");
  }

  /// The same parameters, to be used under the numerics `M`.
  template <NumericsPolicy M>
  [[nodiscard]] constexpr under<M> made_for() const& {
    return under<M>(detail::ValidParts{}, granularity_, scales_, origins_);
  }
  template <NumericsPolicy M>
  [[nodiscard]] constexpr under<M> made_for() && {
    return under<M>(detail::ValidParts{}, granularity_, std::move(scales_), std::move(origins_));
  }

  [[nodiscard]] constexpr const Gran& granularity() const noexcept { return granularity_; }
  /// The scales as float32, what every operation computes with: a span of those that are stored so,
  /// else a view that makes each when it is read (`DecodedView`). A temporary gives the values
  /// themselves, in a range that owns them.
  [[nodiscard]] constexpr auto scales() const& noexcept TQ_LIFETIMEBOUND {
    if constexpr (is_inline) return std::span<const float>(scales_);
    else return scales_.values();
  }
  [[nodiscard]] constexpr auto scales() && noexcept {
    return detail::kept(std::move(*this), [](const QuantParams& p) { return p.scales(); });
  }
  /// The scales as they are stored; those of parameters that are not needed any more, without a
  /// copy.
  [[nodiscard]] const Scales<Scale>& stored_scales() const& noexcept
    requires(!is_inline)
  {
    return scales_;
  }
  [[nodiscard]] Scales<Scale> stored_scales() && noexcept
    requires(!is_inline)
  {
    return std::move(scales_);
  }
  /// The zero points as numbers: a view as of scales, a span of an inline one.
  [[nodiscard]] constexpr auto zero_points() const& noexcept TQ_LIFETIMEBOUND
    requires has_zero_point
  {
    if constexpr (is_inline) return std::span<const std::int32_t>(origins_);
    else return origins_.values();
  }
  [[nodiscard]] constexpr auto zero_points() && noexcept
    requires has_zero_point
  {
    return detail::kept(std::move(*this), [](const QuantParams& p) { return p.zero_points(); });
  }
  /// The zero points as they are stored.
  [[nodiscard]] const auto& stored_zero_points() const& noexcept
    requires(has_zero_point && !is_inline)
  {
    return origins_;
  }
  [[nodiscard]] auto stored_zero_points() && noexcept
    requires(has_zero_point && !is_inline)
  {
    return std::move(origins_);
  }
  /// The offsets as float32, what the codes 0 stand for: a view or a span, as of scales.
  [[nodiscard]] constexpr auto offsets() const& noexcept TQ_LIFETIMEBOUND
    requires has_offset
  {
    if constexpr (is_inline) return std::span<const float>(origins_);
    else return origins_.values();
  }
  [[nodiscard]] constexpr auto offsets() && noexcept
    requires has_offset
  {
    return detail::kept(std::move(*this), [](const QuantParams& p) { return p.offsets(); });
  }
  /// The offsets as they are stored.
  [[nodiscard]] const auto& stored_offsets() const& noexcept
    requires(has_offset && !is_inline)
  {
    return origins_;
  }
  [[nodiscard]] auto stored_offsets() && noexcept
    requires(has_offset && !is_inline)
  {
    return std::move(origins_);
  }
  /// Scale and zero point (0 where there is none) of parameter `i`; scale and offset, an
  /// `OffsetAffine`, where there are such.
  [[nodiscard]] constexpr auto affine(std::size_t i) const noexcept {
    return detail::affine_of<QuantParams>(scale_values(), origin_values(), i);
  }

  /// `errc::ok` when these parameters fit a tensor of `shape`.
  [[nodiscard]] constexpr errc check(const Shape& shape) const noexcept {
    if (const errc e = granularity_.check(shape); e != errc::ok) return e;
    return scales().size() == param_count(granularity_, shape) ? errc::ok : errc::shape_mismatch;
  }

  friend bool operator==(const QuantParams&, const QuantParams&) = default;

  // Takes the parts of parameters for other numerics, which are valid.
  constexpr QuantParams(detail::ValidParts, Gran granularity, auto scales, auto origins)
      : granularity_(std::move(granularity)),
        scales_(std::move(scales)),
        origins_(std::move(origins)) {}

 private:
  // Inline values, without a span: debug modes of g++ 12 do not make one in a constant expression.
  [[nodiscard]] constexpr decltype(auto) scale_values() const noexcept {
    if constexpr (is_inline) return (scales_);
    else return scales_.values();
  }
  [[nodiscard]] constexpr decltype(auto) origin_values() const noexcept {
    if constexpr (is_inline || !(has_zero_point || has_offset)) return (origins_);
    else return origins_.values();
  }

  [[no_unique_address]] Gran granularity_{};
  std::conditional_t<is_inline, std::array<float, 1>, Scales<Scale>> scales_;
  [[no_unique_address]] origins_type origins_;
};

namespace detail {
template <class T>
inline constexpr bool is_quant_params = false;
template <class T, class G, class S, class Scale, class N>
inline constexpr bool is_quant_params<QuantParams<T, G, S, Scale, N>> = true;

// Numerics whose rounding has a state, such as a seed: the type alone does not say what operations
// shall do, so none is made without an argument.
template <class N>
struct NumericsToPass : N {
  constexpr NumericsToPass() {
    static_assert(!sizeof(N),
                  "tq: these parameters were made for numerics that have a seed or another state: "
                  "pass the numerics to the operation too");
  }
};
template <class N>
inline constexpr bool is_numerics<NumericsToPass<N>> = true;
template <class N>
using remembered =
    std::conditional_t<std::is_empty_v<typename N::rounding_type>, N, NumericsToPass<N>>;
}  // namespace detail

/// Any `QuantParams<...>`, or a `ParamsView<...>` of such in memory of the caller's.
template <class P>
concept AnyParams = detail::is_quant_params<P>;

/// The numerics that operations on `Params` use unless they are told others.
template <AnyParams Params>
using numerics_of = detail::remembered<typename Params::numerics_type>;

/// `Params` as they are made for the numerics `N`.
template <AnyParams Params, NumericsPolicy N>
using params_under = typename Params::template under<N>;

/// Any `QuantParams<...>` of an integer element.
template <class P>
concept IntegerParams = AnyParams<P> && IntegerElement<typename P::type>;

/// Any `QuantParams<...>` whose codes stand for numbers of steps from an offset.
template <class P>
concept OffsetParams = AnyParams<P> && P::has_offset;

/// Any `QuantParams<...>` of a float or code-book element.
template <class P>
concept CodedParams = AnyParams<P> && CodedElement<typename P::type>;

/// Equal granularities, scales and zero points or offsets, whatever numerics they were made for.
template <class T, class G, class S, class Scale, class N, class M>
  requires(!std::same_as<N, M>)
[[nodiscard]] bool operator==(const QuantParams<T, G, S, Scale, N>& a,
                              const QuantParams<T, G, S, Scale, M>& b) {
  return a == b.template made_for<N>();
}

}  // namespace tq
