// SPDX-License-Identifier: MIT
#pragma once
// GradientTiles: parts of tensors through the kernel of fake_quantize_backward.

#include <tq/driver/planes.hpp>
#include <tq/kernels/gradient_rows.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/widened.hpp>
#include <tq/train/detail/gradient_parts.hpp>
#include <tq/train/gradient.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tq::detail {

// The three tensors.
template <Real X, Real Gy, Real Gx>
struct GradientTensors {
  TensorView<const X> x;
  TensorView<const Gy> gy;
  TensorView<Gx> gx;
};

// Takes parts of the tensors through the kernel by tiles: what is no float32, or has no neighbours,
// from and to memory of its own, in which the sums come out as if it had been. Too large for a
// stack.
template <Backend B, class Gradient, AnyParams Params, NumericsPolicy N, Real X, Real Gy, Real Gx>
class GradientTiles {
  using Kernel = typename B::template backward<IntegerParams<Params>, N, Gradient>;
  static constexpr bool integers = IntegerParams<Params>,
                        draws = may_be_stochastic<typename N::rounding_type>;
  static constexpr std::size_t capacity = 4096;

 public:
  GradientTiles(const GradientTensors<X, Gy, Gx>& tensors, const N& numerics) noexcept
      : tensors_(tensors), numerics_(numerics) {}

  // `sums` of the first parameter of the part.
  void run(const GradientPart& part, kernels::ParameterSums sums) noexcept {
    part.cut(capacity, [&](const GradientPart& t) {
      tile(t, sums.from(t.params.first - part.params.first));
    });
  }

 private:
  void tile(const GradientPart& t, kernels::ParameterSums sums) noexcept {
    const auto length = static_cast<std::ptrdiff_t>(t.length);
    kernels::GradientRows rows{
        .length = t.length, .count = t.count, .y = length, .gx = length, .draw_step = t.gx.row};
    kernels::Gradients at{nullptr, nullptr, nullptr, gx_};
    at.x = floats(x_, tensors_.x.data(), t, t.x, rows.x);
    at.gy = floats(gy_, tensors_.gy.data(), t, t.gy, rows.gy);
    bool in_place = false;
    if constexpr (std::same_as<Gx, float>)
      if (t.gx.step == 1) {
        in_place = true;
        at.gx = tensors_.gx.data() + t.gx.first;
        rows.gx = t.gx.row;
      }
    if constexpr (!integers) {
      make_y(t, at.x, rows.x);
      at.y = y_;
    }
    by_parameters(t, at, rows, sums);
    if (!in_place) write(t);
  }

  // The rows of a tile of `data`, so far apart.
  template <Real T>
  static const float* floats(Widened<B, T>& own, const T* data, const GradientPart& t,
                             const Places& p, std::ptrdiff_t& stride) noexcept {
    if constexpr (std::same_as<T, float>) {
      if (p.step == 1) {
        stride = p.row;
        return data + p.first;
      }
    }
    stride = static_cast<std::ptrdiff_t>(t.length);
    return own.gather(data + p.first, {t.length, t.count, p.row, 0, p.step}).data();
  }

  // The gradients of a tile to where they belong.
  void write(const GradientPart& t) noexcept {
    Gx* const to = tensors_.gx.data() + t.gx.first;
    const Gx* made = nullptr;
    if constexpr (std::same_as<Gx, float>) {
      made = gx_;
    } else {
      const auto length = static_cast<std::ptrdiff_t>(t.length);
      const bool is_row = t.gx.step == 1;
      driver::sweep(kernel_for<B>(operation::Copy<float, Gx>{}),
                    {.source = gx_, .target = is_row ? to : rounded_},
                    {t.length, t.count, length, is_row ? t.gx.row : length},
                    {.scales = driver::ones<B>()});
      if (is_row) return;
      made = rounded_;
    }
    for (std::size_t r = 0; r < t.count; ++r)
      for (std::size_t i = 0; i < t.length; ++i)
        to[static_cast<std::ptrdiff_t>(r) * t.gx.row + static_cast<std::ptrdiff_t>(i) * t.gx.step] =
            made[r * t.length + i];
  }

  // Makes the fake quantized values of coded elements again.
  void make_y(const GradientPart& t, const float* x, std::ptrdiff_t stride) noexcept {
    const auto operation = fake_quantizing<Params, float, float>(numerics_);
    const auto length = static_cast<std::ptrdiff_t>(t.length);
    const auto make = [&](std::size_t r, std::size_t i, driver::Span span) {
      driver::Parameters p = t.params;
      p.first += r * p.row_step + i / p.group * p.step;
      const auto row = static_cast<std::ptrdiff_t>(r), column = static_cast<std::ptrdiff_t>(i);
      driver::sweep(kernel_for<B, known_parameters<Params>>(operation),
                    {.source = x + row * stride + column,
                     .target = y_ + row * length + column,
                     .draw_index = static_cast<std::uint64_t>(t.gx.at(r, i))},
                    span, p);
    };
    if constexpr (draws) {  // by rows, or one by one, as their places lie
      const std::size_t some = t.gx.step == 1 ? t.length : 1;
      for (std::size_t r = 0; r < t.count; ++r)
        for (std::size_t i = 0; i < t.length; i += some) make(r, i, {.length = some});
    } else {
      make(0, 0, {t.length, t.count, stride, length});
    }
  }

  // Rows of one parameter, or of one an element that all of them share; others one by one, groups
  // as rows.
  void by_parameters(const GradientPart& t, const kernels::Gradients& at,
                     kernels::GradientRows rows, kernels::ParameterSums sums) noexcept {
    const driver::Parameters& p = t.params;
    const auto place = static_cast<std::uint64_t>(t.gx.first);
    if (p.group == driver::whole_row) {
      const bool share = p.row_step == 0;
      read(rows, p, p.first, share ? 1 : t.count, p.row_step);
      rows.param_row = share ? 0 : 1;
      rows.sum_row = p.row_step;
      return call(at, rows, t.gx.step, place, sums);
    }
    if (p.group == 1 && p.row_step == 0) {
      read(rows, p, p.first, t.length, p.step);
      rows.param_step = 1;
      rows.sum_step = p.step;
      return call(at, rows, t.gx.step, place, sums);
    }
    for (std::size_t r = 0; r < t.count; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      groups(t, at.from(row * rows.x, row * rows.y, row * rows.gy, row * rows.gx), r,
             sums.from(r * p.row_step));
    }
  }

  // Row r of a tile.
  void groups(const GradientPart& t, const kernels::Gradients& at, std::size_t r,
              kernels::ParameterSums sums) noexcept {
    const driver::Parameters& p = t.params;
    const std::size_t whole = t.length / p.group, rest = t.length % p.group;
    const auto apart = static_cast<std::ptrdiff_t>(p.group),
               end = static_cast<std::ptrdiff_t>(whole) * apart;
    kernels::GradientRows rows{.length = p.group,
                               .count = whole,
                               .x = apart,
                               .y = apart,
                               .gy = apart,
                               .gx = apart,
                               .draw_step = apart * t.gx.step,
                               .param_row = 1,
                               .sum_row = p.step};
    read(rows, p, p.first + r * p.row_step, whole + (rest != 0 ? 1 : 0), p.step);
    if (p.group == 1) {  // one row
      rows = {.length = whole,
              .scale = rows.scale,
              .zero_point = rows.zero_point,
              .param_step = 1,
              .sum_step = p.step};
    }
    call(at, rows, t.gx.step, static_cast<std::uint64_t>(t.gx.at(r, 0)), sums);
    if (rest == 0) return;
    kernels::GradientRows last{.length = rest, .scale = rows.scale + whole};
    if (rows.zero_point != nullptr) last.zero_point = rows.zero_point + whole;
    call(at.from(end, end, end, end), last, t.gx.step,
         static_cast<std::uint64_t>(t.gx.at(r, whole * p.group)), sums.from(whole * p.step));
  }

  void read(kernels::GradientRows& rows, const driver::Parameters& p, std::size_t first,
            std::size_t n, std::size_t stride) noexcept {
    p.scales.read(p.scales.data, first, n, stride, scales_);
    rows.scale = scales_;
    if (!p.origins.exists()) return;
    p.origins.read(p.origins.data, first, n, stride, zero_points_);
    rows.zero_point = zero_points_;
  }

  // Elements whose places are `step` apart are rows of their own where something is drawn.
  void call(const kernels::Gradients& at, const kernels::GradientRows& rows, std::ptrdiff_t step,
            std::uint64_t place, kernels::ParameterSums sums) noexcept {
    constexpr kernels::Bounds bounds = code_bounds<Params>();
    if (!draws || step == 1) return Kernel::run(at, rows, bounds, numerics_, place, sums);
    for (std::size_t r = 0; r < rows.count; ++r) {
      const auto row = static_cast<std::ptrdiff_t>(r);
      const std::size_t p = r * rows.param_row;
      kernels::GradientRows one{.length = 1,
                                .count = rows.length,
                                .x = 1,
                                .y = 1,
                                .gy = 1,
                                .gx = 1,
                                .draw_step = step,
                                .scale = rows.scale + p,
                                .param_row = rows.param_step,
                                .sum_row = rows.sum_step};
      if (rows.zero_point != nullptr) one.zero_point = rows.zero_point + p;
      Kernel::run(at.from(row * rows.x, row * rows.y, row * rows.gy, row * rows.gx), one, bounds,
                  numerics_, place + static_cast<std::uint64_t>(row * rows.draw_step),
                  sums.from(r * rows.sum_row));
    }
  }

  const GradientTensors<X, Gy, Gx>& tensors_;
  const N& numerics_;
  Widened<B, X> x_;
  Widened<B, Gy> gy_;
  alignas(64) float gx_[capacity];
  alignas(64) Gx rounded_[std::same_as<Gx, float> ? 1 : capacity];
  alignas(64) float y_[integers ? 1 : capacity];
  alignas(64) float scales_[capacity];
  alignas(64) std::int32_t zero_points_[integers ? capacity : 1];
};

}  // namespace tq::detail
