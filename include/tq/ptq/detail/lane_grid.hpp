// SPDX-License-Identifier: MIT
#pragma once
// LaneGrid: numbers that have a parameter each, rounded to codes, and the values of these.

#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/driver/known_parameters.hpp>
#include <tq/driver/planes.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/sweep.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tq::detail {

/// Scales, and zero points or offsets, of `size` lanes; codes and values are those of `quantize`
/// and `dequantize` under Params with the same numbers.
template <Backend B, AnyParams Params>
class LaneGrid {
  using N = numerics_of<Params>;
  using Origin = std::conditional_t<OffsetParams<Params>, float, std::int32_t>;

 public:
  using code_type = typename Params::code_type;

  explicit LaneGrid(std::size_t size) : scales_(size, 1.0f), origins_(size) {}

  /// Gives lane `i` the scale and zero point or offset of `affine`: an Affine or OffsetAffine.
  template <class A>
  void set(std::size_t i, const A& affine) noexcept {
    scales_[i] = affine.scale;
    if constexpr (OffsetParams<Params>) origins_[i] = affine.offset;
    else origins_[i] = affine.zero_point;
  }

  /// The code of each number of `x`, and its value.
  void round(const float* x, code_type* codes, float* values) const noexcept {
    const auto quantize = quantizing<Params, float, Unpacked>(N{});
    sweep(kernel_for<B, known>(quantize), x, codes);
    const dequantizing<Params, Unpacked, float> dequantize;
    sweep(kernel_for<B, known>(dequantize), codes, values);
  }

 private:
  static constexpr bool has_origins = Params::has_zero_point || Params::has_offset;
  static constexpr driver::KnownParameters known{.has_origins = has_origins,
                                                 .lacks_origins = !has_origins};

  void sweep(const driver::BoundKernel& kernel, const void* from, void* to) const noexcept {
    driver::Parameters parameters{.scales = driver::plain<B>(scales_.data()), .group = 1};
    if constexpr (Params::has_offset)
      parameters.origins = {origins_.data(), &offset_bits<B, float>};
    else if constexpr (Params::has_zero_point)
      parameters.origins = driver::plain<B>(origins_.data());
    driver::sweep(kernel, {.source = from, .target = to}, {.length = scales_.size()}, parameters);
  }

  std::vector<float> scales_;
  std::vector<Origin> origins_;
};

}  // namespace tq::detail
