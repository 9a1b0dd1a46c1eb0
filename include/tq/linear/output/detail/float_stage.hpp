// SPDX-License-Identifier: MIT
#pragma once
// FloatStage: sums become floats.

#include <tq/driver/column_cursor.hpp>
#include <tq/driver/columns.hpp>
#include <tq/error.hpp>
#include <tq/kernels/rescale.hpp>
#include <tq/kernels/sums_row.hpp>
#include <tq/linear/default_arch.hpp>
#include <tq/linear/detail/library_products.hpp>
#include <tq/linear/output/bias.hpp>
#include <tq/linear/output/clamp.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tq::detail {

// float(sum) * (scale of x * scale of weights) + bias, every operation rounded once, and clamped.
// Biases of int32 are added to the sum.
class FloatStage {
 public:
  // `weight_scales`: one, or one for each output; `bias` fits.
  FloatStage(std::size_t outputs, std::span<const float> weight_scales, const Bias& bias,
             const Clamp& clamp)
      : scales_(outputs + driver::Column::padding),
        whole_(scales_.size(), 0),
        real_(scales_.size(), -0.0f),
        clamp_(clamp) {
    for (std::size_t n = 0; n < outputs; ++n)
      scales_[n] = weight_scales[weight_scales.size() == 1 ? 0 : n];
    std::ranges::copy(bias.integers(), whole_.begin());
    std::ranges::copy(bias.floats(), real_.begin());
    if (outputs != 0) largest_ = *std::max_element(scales_.begin(), scales_.end());
  }

  // The values of the sums of outputs `first` to `first + count`.
  template <class Arch>
  void row(const std::int32_t* sums, std::size_t first, std::size_t count, float x_scale,
           float* out) const noexcept {
    std::array<float, kernels::widest_register> x;
    x.fill(x_scale);
    const kernels::Rescale stage(clamp_.low, clamp_.high);
    const std::array columns{
        driver::shared_number(x.data()), driver::numbers_at(scales_.data() + first),
        driver::numbers_at(whole_.data() + first), driver::numbers_at(real_.data() + first)};
    if constexpr (is_library<Arch>)
      kernel_library::products().rescale(stage, sums, out, count, columns);
    else kernels::sums_row<Arch>(stage, sums, out, count, columns);
  }

  // Throws where a product of scales is infinite, which 0 times is no number.
  void require_finite(const char* function, std::span<const float> x_scales) const {
    for (const float s : x_scales)
      if (!(s * largest_ <= std::numeric_limits<float>::max()))
        raise_expected(errc::bad_scale, function, {"scales whose product is finite"},
                       {s, " of x and ", largest_, " of weights"});
  }

 private:
  std::vector<float> scales_;  // of outputs, and what may be read behind them, as the others
  std::vector<std::int32_t> whole_;
  std::vector<float> real_;  // -0 where there is none, which changes nothing
  Clamp clamp_;
  float largest_ = 0;
};

}  // namespace tq::detail
