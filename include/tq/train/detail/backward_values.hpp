// SPDX-License-Identifier: MIT
#pragma once
// backward_values: fake_quantize_backward for tensors and parameters that fit, by pieces of a fixed
// size.

#include <tq/core/detail/tasks.hpp>
#include <tq/core/executor.hpp>
#include <tq/ops/backend/on.hpp>
#include <tq/ops/detail/stored_planes.hpp>
#include <tq/train/detail/gradient_parts.hpp>
#include <tq/train/detail/gradient_tiles.hpp>
#include <tq/train/parameter_gradients.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace tq::detail {

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

}  // namespace tq::detail
