// SPDX-License-Identifier: MIT
#pragma once
// fake_quantize_backward: the gradients of fake_quantize by a gradient policy.

#include <tq/core/detail/read.hpp>
#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/core/options.hpp>
#include <tq/core/readable.hpp>
#include <tq/driver/planes.hpp>
#include <tq/kernels/gradient_rows.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/backend/operations.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/detail/known_parameters.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/ops/detail/widened.hpp>
#include <tq/train/detail/gradient_parts.hpp>
#include <tq/train/gradient.hpp>
#include <tq/train/straight_through.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tq {

/// Per slot, in the order of the parameters, the sums over its elements of dL/dy times dy/dscale
/// and dy/doffset as the policy has them; empty for what it does not learn.
struct ParameterGradients {
  std::vector<double> scale, offset;
};

namespace detail {

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

// The sums of a piece of a tensor, for the parameters it meets.
struct PieceSums {
  std::size_t first = 0;
  std::vector<double> scale, offset;

  void cover(const GradientPart* begin, const GradientPart* end, int learned) {
    std::size_t last = 0;
    first = static_cast<std::size_t>(-1);
    for (const GradientPart* p = begin; p != end; ++p) {
      first = std::min(first, p->params.first);
      last = std::max(last, p->last_param());
    }
    if (learned > 0) scale.assign(last - first + 1, 0.0);
    if (learned > 1) offset.assign(last - first + 1, 0.0);
  }
  [[nodiscard]] kernels::ParameterSums at(std::size_t param, int learned) noexcept {
    return {learned > 0 ? scale.data() + (param - first) : nullptr,
            learned > 1 ? offset.data() + (param - first) : nullptr};
  }
  void add_to(ParameterGradients& total) const noexcept {
    for (std::size_t i = 0; i < scale.size(); ++i) total.scale[first + i] += scale[i];
    for (std::size_t i = 0; i < offset.size(); ++i) total.offset[first + i] += offset[i];
  }
};

// The parts of the tensors, and which of them are pieces of a fixed size.
struct GradientPieces {
  static constexpr std::size_t size = std::size_t{1} << 16;
  std::vector<GradientPart> parts;
  std::vector<std::size_t> begins;  // and the end

  GradientPieces(const GradientParts& all, const driver::Parameters& params) {
    std::size_t together = size;
    all.for_each(params, [&](const GradientPart& rows) {
      rows.cut(size, [&](const GradientPart& part) {
        if (together + part.size() > size) begins.push_back(parts.size()), together = 0;
        together += part.size();
        parts.push_back(part);
      });
    });
    begins.push_back(parts.size());
  }
  [[nodiscard]] std::size_t count() const noexcept { return begins.size() - 1; }
};

template <class Gradient, Backend B, AnyParams Params, Real X, Real Gy, Real Gx, NumericsPolicy N,
          Executor E>
void backward_values(const GradientTensors<X, Gy, Gx>& tensors, const Params& params,
                     ParameterGradients& sums, const N& numerics, const E& executor) {
  using Tiles = GradientTiles<B, Gradient, Params, N, X, Gy, Gx>;
  constexpr int learned = Gradient::learned;
  const Shape& shape = tensors.x.shape();
  const std::size_t n = shape.size();
  sums.scale.assign(learned > 0 ? params.scales().size() : 0, 0.0);
  sums.offset.assign(learned > 1 ? params.scales().size() : 0, 0.0);
  if (n == 0) return;
  const GradientParts all(shape, params.granularity().block(shape), tensors.x.strides(),
                          tensors.gy.strides(), tensors.gx.strides());
  const driver::Parameters stored = driver_parameters<B>(params);
  if (n <= GradientPieces::size || (learned == 0 && is_one_task(executor, n))) {  // one piece
    const auto tiles = std::make_unique<Tiles>(tensors, numerics);
    const kernels::ParameterSums to{learned > 0 ? sums.scale.data() : nullptr,
                                    learned > 1 ? sums.offset.data() : nullptr};
    return all.for_each(
        stored, [&](const GradientPart& rows) { tiles->run(rows, to.from(rows.params.first)); });
  }
  const GradientPieces pieces(all, stored);
  std::vector<PieceSums> some(
      std::min(pieces.count(), is_one_task(executor, n) ? 1 : 4 * executor.concurrency()));
  const auto compute = [&](std::size_t index, PieceSums& piece) {
    const auto tiles = std::make_unique<Tiles>(tensors, numerics);
    const GradientPart *const begin = pieces.parts.data() + pieces.begins[index],
                              *const end = pieces.parts.data() + pieces.begins[index + 1];
    piece.cover(begin, end, learned);
    for (const GradientPart* p = begin; p != end; ++p)
      tiles->run(*p, piece.at(p->params.first, learned));
  };
  for (std::size_t first = 0; first < pieces.count(); first += some.size()) {
    const std::size_t count = std::min(some.size(), pieces.count() - first);
    if (count == 1) compute(first, some[0]);
    else executor(count, [&](std::size_t i) { compute(first + i, some[i]); });
    for (std::size_t i = 0; i < count; ++i) some[i].add_to(sums);
  }
}

template <class Gradient, Backend B, AnyParams Params, Real X, Real Gy, Real Gx, NumericsPolicy N,
          Executor E>
ParameterGradients checked_backward(GradientTensors<X, Gy, Gx> tensors, const Params& params,
                                    const N& numerics, const E& executor) {
  constexpr const char* function = "tq::fake_quantize_backward";
  const Shape& shape = tensors.x.shape();
  require_fit(function, params, shape);
  shape_as(function, "an output gradient", tensors.gy, shape);
  shape_as(function, "an input gradient", tensors.gx, shape);
  require_no_nan<B, N>(function, tensors.x);
  ParameterGradients sums;
  backward_values<Gradient, B>(tensors, params, sums, numerics, executor);
  return sums;
}

}  // namespace detail

/// The gradients of fake_quantize(x, params, numerics), given that of its output: `grad_x` as the
/// policy `Gradient` passes it on, and in `sums` what it learns. Sums are made of pieces of a fixed
/// size, in the order in which elements lie in `grad_x`: the same bits for any executor, but not on
/// every instruction set, nor where neighbours lie apart in another tensor. A stochastic rounding
/// draws what fake_quantize drew where `grad_x` has the strides of its output. `grad_x` may be
/// `grad_y`, but must not overlap `x`. NaN and infinities in grad_y are passed on, and may make the
/// sums of their slot NaN; a NaN in x takes no part. Preconditions: `params.check(x.shape()) ==
/// errc::ok`, the shapes are equal.
template <GradientPolicy Gradient = ClippedStraightThrough, Backend B = default_backend,
          AnyParams Params, NumericsPolicy N = numerics_of<Params>, Executor E = Serial>
requires GradientFor<Gradient, Params>
void fake_quantize_backward_unchecked(const ConstTensorView& x, const Params& params,
                                      const ConstTensorView& grad_y,
                                      const TensorView<float>& grad_x, ParameterGradients& sums,
                                      const N& numerics = {}, const E& executor = {}) {
  detail::backward_values<Gradient, B>(
      detail::GradientTensors<float, float, float>{x, grad_y, grad_x}, params, sums, numerics,
      executor);
}

/// As above, checked. `grad_y` and `grad_x` have the shape of x, or are spans of its size. Halves
/// widen exactly, float64 is rounded to float32, and `grad_x` is rounded once. Where grad_x is
/// grad_y, the two have one type. Options: numerics, an executor, a backend.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not
/// fit; `errc::not_finite` under `RaiseNan`. Nothing is written then.
template <GradientPolicy Gradient = ClippedStraightThrough, Readable X = ConstTensorView,
          AnyParams Params, Readable Gy = ConstTensorView,
          detail::RealOutput Gx = TensorView<float>, Option... O,
          Backend B = detail::backend_among<O...>>
requires GradientFor<Gradient, Params> ParameterGradients fake_quantize_backward(
    const X& x, const Params& params, const Gy& grad_y, Gx&& grad_x, const O&... options) {
  using enum detail::OptionKind;
  static_assert(!detail::is_temporary_owner<Gx>,
                "tq::fake_quantize_backward: the output is a temporary: give it a name first");
  using Out = detail::real_output_t<Gx>;
  const auto chosen = detail::choose<numerics, executor, backend>(options...);
  return detail::checked_backward<Gradient, B>(
      detail::GradientTensors<real_of<X>, real_of<Gy>, Out>{
          detail::read(x).view(), detail::read(grad_y).view(),
          detail::output<Out>(std::forward<Gx>(grad_x))},
      params, chosen.template numerics<numerics_of<Params>>(), chosen.executor());
}

// --- deprecated forms ---

template <GradientPolicy Gradient, Backend B, class... Args>
[[deprecated("tq::fake_quantize_backward: pass tq::on<B> as an option")]] ParameterGradients
fake_quantize_backward(Args&&... args) {
  return tq::fake_quantize_backward<Gradient>(std::forward<Args>(args)..., on<B>);
}
template <GradientPolicy Gradient = ClippedStraightThrough, Readable X, AnyParams Params,
          Readable Gy, detail::RealOutput Gx, Option... O, Backend B = detail::backend_among<O...>>
requires GradientFor<Gradient, Params>
[[deprecated(
    "tq::fake_quantize_backward: leave {} out: options come in any order")]] ParameterGradients
fake_quantize_backward(const X& x, const Params& params, const Gy& grad_y, Gx&& grad_x,
                       detail::Placeholder, const O&... options) {
  return tq::fake_quantize_backward<Gradient>(x, params, grad_y, std::forward<Gx>(grad_x),
                                              options...);
}

}  // namespace tq
