// SPDX-License-Identifier: MIT
#pragma once
// FakeQuantizeNode: what training does to a node of a model.

#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/model/detail/model_node.hpp>
#include <tq/ops/detail/checks.hpp>

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
    constexpr float most = std::numeric_limits<float>::max();
    const std::vector<float> values = detail::dense_values<B>(x);
    const std::vector<float> low = saturated(-most, x.shape()), high = saturated(most, x.shape());
    for (std::size_t i = 0; i < values.size(); ++i)
      dx[i] = values[i] >= low[i] && values[i] <= high[i] ? dy[i] : 0.0f;
  }

 private:
  // What a tensor full of that value becomes.
  [[nodiscard]] std::vector<float> saturated(float value, const Shape& shape) const {
    if (!node_->params()) node_->refuse_without_params("backward");
    std::vector<float> values(shape.size(), value);
    auto coder = node_->started("backward", shape, values);
    std::vector<std::byte> codes(coder.code_bytes(values.size()));
    coder.encode(0, values, codes);
    coder.decode(0, codes, values);
    return values;
  }

  Node* node_;
};

}  // namespace tq
