// SPDX-License-Identifier: MIT
#pragma once
// From ranges to parameters of the moment: as they are stored, and as kernels read them.

#include <tq/core/affine_for.hpp>
#include <tq/core/detail/run.hpp>
#include <tq/core/params_view.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/scales.hpp>
#include <tq/numeric/numerics.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/detail/stored_planes.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tq::detail {

// Whether a degenerate range may throw.
template <NumericsPolicy N>
inline constexpr bool scales_may_throw = !noexcept(N::degenerate_type::apply(0.0f));

// Codes of scales by a backend's kernel; see `EncodeOneByOne`.
template <Backend B>
struct EncodeBatches {
  template <CodedElement E>
  static void codes(std::span<const float> scales, std::span<typename E::code_type> out) noexcept {
    cast_to<E>(scales, out, on<B>);
  }
};

// How a scale of this type is stored.
template <ScaleType Scale>
using stored_scale = typename Scales<Scale>::stored_type;

// Where parameters are written: scales as they are stored, and zero points where there are some.
template <AnyParams Params>
struct ParamsOut {
  using Scales = std::span<stored_scale<typename Params::scale_type>>;
  Scales scales;
  std::span<std::int32_t> zero_points;

  template <std::convertible_to<Scales> S>
  ParamsOut(S&& scales_out, std::span<std::int32_t> zero_points_out = {}) noexcept
      : scales(scales_out), zero_points(zero_points_out) {}
};

// Scales that depend on nothing but their own ranges.
template <Backend B, AnyParams Params, NumericsPolicy N>
struct FitAlone {
  [[nodiscard]] auto operator()(std::span<const Range> ranges) const {
    using T = typename Params::type;
    using S = typename Params::symmetry_type;
    return Scales<typename Params::scale_type>::template fit<T, S, N, EncodeBatches<B>>(ranges);
  }
};

// Scales under one of the tensor.
template <Backend B, AnyParams Params, NumericsPolicy N>
struct FitUnder {
  float tensor_scale;
  [[nodiscard]] auto operator()(std::span<const Range> ranges) const {
    using T = typename Params::type;
    using S = typename Params::symmetry_type;
    return Scales<typename Params::scale_type>::template under<T, S, EncodeBatches<B>>(
        tensor_scale, ranges, scale_rules<T, S, N>);
  }
};

// The parameters of up to `most` blocks at a time, side by side.
template <Backend B, AnyParams Params, NumericsPolicy N>
class SomeParams {
  using T = typename Params::type;
  using S = typename Params::symmetry_type;
  using Scale = typename Params::scale_type;

 public:
  static constexpr std::size_t most = 512;

  // The ends of their ranges, to be filled.
  float low[most], high[most];

  // Makes those of `run`, a stretch a block, and writes them to their places.
  void make(const Run& run, const auto& fit, const ParamsOut<Params>& out) {
    const std::size_t n = run.count;
    if constexpr (std::same_as<Scale, float>) {
      scales_ = place_of(run, out.scales, own_scales_);
      make_exact_scales(n);
      write(run, scales_, out.scales);
    } else {
      for (std::size_t k = 0; k < n; ++k) ranges_[k] = range(k);
      const auto fitted = fit(std::span<const Range>(ranges_, n));
      reads<B, Scales<Scale>>::scales(&fitted, 0, n, 1, own_scales_);
      write(run, fitted.stored().data(), out.scales);
    }
    if constexpr (Params::has_zero_point) {
      zero_points_ = place_of(run, out.zero_points, own_zero_points_);
      for (std::size_t k = 0; k < n; ++k)
        zero_points_[k] = zero_point_for<T, S, N>(range(k), scales_[k]);
      write(run, zero_points_, out.zero_points);
    }
  }

  [[nodiscard]] const float* scales() const noexcept { return scales_; }
  // Null where the symmetry has none.
  [[nodiscard]] const std::int32_t* zero_points() const noexcept { return zero_points_; }

 private:
  [[nodiscard]] Range range(std::size_t k) const noexcept { return {low[k], high[k]}; }

  // As `affine_for` has them, in loops for vectors; ranges so wide that a code might become
  // infinite have another.
  void make_exact_scales(std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) scales_[k] = formula_for<T, S, N>(range(k)).scale;
    unsigned wide = 0;
    for (std::size_t k = 0; k < n; ++k) wide |= scales_[k] > always_finite<T, S> ? 1u : 0u;
    if (wide != 0)
      for (std::size_t k = 0; k < n; ++k) scales_[k] = finite_scale<T, S, N>(range(k), scales_[k]);
  }

  // Where the numbers of a run are made: where they belong, if they are side by side there.
  template <class Value>
  static Value* place_of(const Run& run, std::span<Value> to, Value* own) noexcept {
    return run.param_stride == 1 ? to.data() + run.param : own;
  }
  template <class Value>
  static void write(const Run& run, const Value* from, std::span<Value> to) noexcept {
    Value* const first = to.data() + run.param;
    if (from == first) return;
    if (run.param_stride == 1) return void(std::copy_n(from, run.count, first));
    for (std::size_t k = 0; k < run.count; ++k) first[k * run.param_stride] = from[k];
  }

  alignas(64) float own_scales_[most];
  alignas(64) std::int32_t own_zero_points_[Params::has_zero_point ? most : 1];
  float* scales_ = own_scales_;
  std::int32_t* zero_points_ = nullptr;
  Range ranges_[std::same_as<Scale, float> ? 1 : most];
};

}  // namespace tq::detail
