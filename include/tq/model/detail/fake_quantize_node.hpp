// SPDX-License-Identifier: MIT
#pragma once
// FakeQuantizeNode: what training does to a node of a model.

#include <tq/core/detail/run.hpp>
#include <tq/core/granularity.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/model/detail/model_node.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/scheme/any_granularity.hpp>
#include <tq/scheme/quant_spec.hpp>
#include <tq/scheme/stored_parameters.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tq {

/// A node in training, as `Quantizer::fake_quantize` gives it. Until `finalize` has made
/// parameters, `forward` observes its input and makes them of all that was observed so far. For one
/// thread at a time; valid as long as the quantizer.
template <class Types, class ScaleTypes, Backend B>
class FakeQuantizeNode {
 public:
  using Node = detail::ModelNode<Types, ScaleTypes, B>;
  explicit FakeQuantizeNode(Node& node) noexcept : node_(&node) {}

  /// Writes what x becomes by being quantized and dequantized to `y`, which may be x; x itself
  /// where the node is left as it is. Throws: as `observe` and `quantize` of the quantizer; nothing
  /// is written then.
  void forward(const ConstTensorView& x, std::span<float> y) {
    detail::require_size("tq::FakeQuantizeNode::forward", "an output", x.size(), y.size());
    std::vector<float> values = detail::dense_values<B>(x);
    if (!node_->decision().is_skipped()) {
      node_->require_finite("forward", values);
      if (!node_->is_final()) {
        node_->observe(x);
        node_->set_params(node_->calibrated(), false);
      }
      (void)node_->encode("forward", x, values);
    }
    std::copy(values.begin(), values.end(), y.begin());
  }

  /// Writes the gradient for the input to `dx`, which may be `dy`: that of the output where x lies
  /// between what the lowest and the highest code of its block stand for, else 0.
  /// Throws: `errc::shape_mismatch`; `errc::no_data` before the first `forward`.
  void backward(const ConstTensorView& x, std::span<const float> dy, std::span<float> dx) const {
    constexpr const char* function = "tq::FakeQuantizeNode::backward";
    detail::require_size(function, "a gradient", x.size(), dy.size());
    detail::require_size(function, "an output", x.size(), dx.size());
    if (node_->decision().is_skipped()) {
      std::copy(dy.begin(), dy.end(), dx.begin());
      return;
    }
    const std::vector<float> ends = ends_of_blocks(x.shape());
    const Shape block = AnyGranularity(*node_->decision().scheme).block(x.shape());
    for_each_run(x.shape(), block, x.strides(), row_major_strides(x.shape()), [&](const Run& r) {
      for (std::size_t k = 0; k < r.count; ++k) {
        const auto row = static_cast<std::ptrdiff_t>(k);
        const float* values = x.data() + r.source + row * r.source_stride;
        const auto at = static_cast<std::size_t>(r.target + row * r.target_stride);
        for (std::size_t i = 0; i < r.length; ++i) {
          const float* end = &ends[2 * (r.param + k * r.param_stride + i * r.step)];
          dx[at + i] = values[i] >= end[0] && values[i] <= end[1] ? dy[at + i] : 0.0f;
        }
      }
    });
  }

 private:
  // The values of the lowest and the highest code of every block, one behind the other. A tensor
  // with a row for each block, of two values far outside, becomes these.
  [[nodiscard]] std::vector<float> ends_of_blocks(const Shape& shape) const {
    if (!node_->params()) node_->refuse_without_params("backward");
    auto coder = node_->started("backward", shape, {});
    const std::size_t blocks = coder.layout().scales.size();
    QuantSpec rows = coder.parameters().spec;
    rows.granularity = PerChannel<>::name;
    rows.axis = 0;
    coder.start(rows, {blocks, 2});
    coder.restore(stored_parameters<ScaleTypes>(*node_->params()));
    std::vector<float> ends;
    constexpr float most = std::numeric_limits<float>::max();
    for (std::size_t i = 0; i < blocks; ++i) ends.insert(ends.end(), {-most, most});
    std::vector<std::byte> codes(coder.code_bytes(ends.size()));
    coder.encode(0, ends, codes);
    coder.decode(0, codes, ends);
    return ends;
  }

  Node* node_;
};

}  // namespace tq
