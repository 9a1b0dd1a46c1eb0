// SPDX-License-Identifier: MIT
#pragma once
// fake_quantize_backward: the gradients of fake_quantize by a gradient policy.

#include <tq/ops/copy.hpp>
#include <tq/ops/decoded_params.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/parts.hpp>
#include <tq/train/gradient.hpp>
#include <tq/train/straight_through.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tq {

/// Per slot, in the order of the parameters, the sums over its elements of dL/dy times dy/dscale and dy/doffset as the
/// policy has them; empty for what it does not learn.
struct ParameterGradients {
  std::vector<double> scale, offset;
};

namespace detail {

// The gradient of a run. What coded elements became is made again, a few at a time.
template <Backend B, class Gradient, AnyParams Params, NumericsPolicy N>
void backward_run(const float* x, const float* gy, float* gx, const Run& run, const DecodedParams<B, Params>& params, const N& n,
                  kernels::ParameterSums sums) noexcept {
  using kernel = typename B::template backward<IntegerParams<Params>, N, Gradient>;
  constexpr kernels::Bounds bounds = code_bounds<Params>();
  if constexpr (IntegerParams<Params>) {
    kernel::run({x + run.source, nullptr, gy + run.target, gx + run.target}, kernel_span(run, params), bounds, n,
                static_cast<std::uint64_t>(run.target), sums);
  } else {
    using Arch = typename B::arch;
    using M = typename numerics_for<Params, N>::type;
    using Stage = typename fake_quantizing<typename Params::type, M>::stage;
    const Stage stage{M{n.rounding}};
    constexpr std::size_t capacity = 4096;
    alignas(64) float y[capacity];
    for (std::size_t k = 0; k < run.count; ++k)
      for (std::size_t at = 0; at < run.length; at += capacity)
        for_each_slice(run, k * run.length + at, k * run.length + std::min(at + capacity, run.length), [&](Run r) {
          r.source_stride = r.target_stride = 0;
          const auto place = static_cast<std::uint64_t>(r.target);
          const kernels::Span span = kernel_span(r, params);
          driver::Parameters scales = array_parameters<Arch>(span.scale, nullptr);
          scales.group = r.step == 0 ? driver::whole_row : 1;
          driver::sweep(driver::kernel<Arch, kernels::Float32, Stage, kernels::ToFloats<float>>,
                        {.source = x + r.source, .target = y, .stage = &stage, .place = place}, {.length = r.length}, scales);
          const std::size_t p = r.param - run.param;
          kernel::run({x + r.source, y, gy + r.target, gx + r.target}, span, bounds, n, place,
                      {Gradient::learned > 0 ? sums.scale + p : nullptr,
                       Gradient::learned > 1 ? sums.offset + p : nullptr});
        });
  }
}

// The sums of a piece of a tensor, for the parameters it meets.
struct PieceSums {
  std::size_t first = 0;
  std::vector<double> scale, offset;

  void cover(const RunList& runs, std::size_t begin, std::size_t end, int learned) {
    std::size_t last = 0;
    first = static_cast<std::size_t>(-1);
    runs.for_each(begin, end, [&](const Run& r) {
      first = std::min(first, r.param);
      last = std::max(last, r.param + (r.count - 1) * r.param_stride + (r.length - 1) * r.step);
    });
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

}  // namespace detail

/// The gradients of fake_quantize(x, params, numerics), given that of its output: `grad_x` as the policy `Gradient` passes it
/// on, and in `sums` what it learns. Sums are made of pieces of a fixed size, in their order: the same bits
/// for any executor (but not on every instruction set). A stochastic rounding draws what fake_quantize drew
/// where `grad_x` has the strides of its output. `grad_x` may be `grad_y`, but must not overlap `x`. NaN and
/// infinities in grad_y are passed on, and may make the sums of their slot NaN; a NaN in x takes no part.
/// Preconditions: `params.check(x.shape()) == errc::ok`, the shapes are equal.
template <GradientPolicy Gradient = ClippedStraightThrough, Backend B = default_backend, AnyParams Params,
          NumericsPolicy N = numerics::onnx, Executor E = Serial>
  requires GradientFor<Gradient, Params>
void fake_quantize_backward_unchecked(const ConstTensorView& x, const Params& params, const ConstTensorView& grad_y,
                                      const TensorView<float>& grad_x, ParameterGradients& sums, const N& numerics = {},
                                      const E& executor = {}) {
  constexpr int learned = Gradient::learned;
  const Shape& shape = x.shape();
  const Shape block = params.granularity().block(shape);
  const std::size_t n = shape.size();
  const detail::DecodedParams<B, Params> decoded(params);
  const float* gy = grad_y.data();
  if (grad_y.strides() != grad_x.strides()) {  // runs pair two layouts, and there are three
    copy_unchecked(grad_y, grad_x, executor);
    gy = grad_x.data();
  }
  sums.scale.assign(learned > 0 ? params.scales().size() : 0, 0.0);
  sums.offset.assign(learned > 1 ? params.scales().size() : 0, 0.0);
  const auto pass = [&](const Run& r, kernels::ParameterSums to) {
    detail::backward_run<B, Gradient, Params>(x.data(), gy, grad_x.data(), r, decoded, numerics, to);
  };
  if constexpr (learned == 0) {
    detail::for_each_task(executor, shape, block, x.strides(), grad_x.strides(), [&](auto&& each) {
      each([&](const Run& r) { pass(r, {nullptr, nullptr}); });
    });
  } else if (n != 0) {
    constexpr std::size_t piece = std::size_t{1} << 16;
    const detail::RunList runs(shape, block, x.strides(), grad_x.strides());
    const std::size_t pieces = (n + piece - 1) / piece;
    std::vector<detail::PieceSums> parts(
        std::min(pieces, detail::is_one_task(executor, n) ? 1 : 4 * executor.concurrency()));
    const auto compute = [&](std::size_t index, detail::PieceSums& part) {
      const std::size_t begin = index * piece, end = std::min(begin + piece, n);
      part.cover(runs, begin, end, learned);
      runs.for_each(begin, end, [&](const Run& r) { pass(r, part.at(r.param, learned)); });
    };
    for (std::size_t first = 0; first < pieces; first += parts.size()) {
      const std::size_t count = std::min(parts.size(), pieces - first);
      if (count == 1) compute(first, parts[0]);
      else executor(count, [&](std::size_t i) { compute(first + i, parts[i]); });
      for (std::size_t i = 0; i < count; ++i) parts[i].add_to(sums);
    }
  }
}

/// As above, checked. `grad_y` and `grad_x` have the shape of x, or are spans of its size.
/// Throws: `errc::shape_mismatch`, `errc::bad_axis`, `errc::bad_group_size` when something does not
/// fit; `errc::not_finite` under `NanRaises`. Nothing is written then.
template <GradientPolicy Gradient = ClippedStraightThrough, Backend B = default_backend, AnyParams Params,
          NumericsPolicy N = numerics::onnx, Executor E = Serial>
  requires GradientFor<Gradient, Params>
ParameterGradients fake_quantize_backward(const ConstTensorView& x, const Params& params, ConstTensorView grad_y,
                                          TensorView<float> grad_x, const N& numerics = {}, const E& executor = {}) {
  constexpr const char* function = "tq::fake_quantize_backward";
  detail::require_fit(function, params, x.shape());
  detail::shape_as(function, "an output gradient", grad_y, x.shape());
  detail::shape_as(function, "an input gradient", grad_x, x.shape());
  detail::require_no_nan<B, N>(function, x);
  ParameterGradients sums;
  fake_quantize_backward_unchecked<Gradient, B>(x, params, grad_y, grad_x, sums, numerics, executor);
  return sums;
}

}  // namespace tq
