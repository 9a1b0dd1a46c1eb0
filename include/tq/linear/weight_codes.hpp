// SPDX-License-Identifier: MIT
#pragma once
// What layers take of quantized weights; and trained_weights, those of layers that were trained.

#include <tq/core/buffer.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/shape.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/error.hpp>
#include <tq/linear/packed_weights.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tq {

namespace detail {

// Codes, row-major, and parameters: one, or one for each output, which is what the first axis
// counts. Throws: `errc::unsupported` for others.
template <ByteCode Code>
struct WeightCodes {
  Buffer<Code> codes;
  Shape shape;
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;  // none where the symmetry has none

  template <ByteParams Params, class Pack>
  WeightCodes(const char* function, const QuantizedTensor<Params, Pack>& weights)
      : codes(weights.size()), shape(weights.shape()) {
    const auto& params = weights.params();
    const std::size_t count = params.scales().size();
    if (count != 1 && !is_per_output(params.granularity().block(shape), count))
      raise(errc::unsupported, std::string(function) +
                                   ": expected weights with one parameter, or one for each " +
                                   "output, got " + std::to_string(count) +
                                   " parameters for shape " + to_string(shape));
    for (std::size_t i = 0; i < count; ++i) {
      scales.push_back(params.scales()[i]);
      if constexpr (Params::has_zero_point) zero_points.push_back(params.zero_points()[i]);
    }
    unpack<typename Params::type, Pack>(weights.bytes(), codes.span());
  }

  [[nodiscard]] TensorView<const Code> view() const noexcept { return {codes.data(), shape}; }

 private:
  [[nodiscard]] bool is_per_output(const Shape& block, std::size_t count) const noexcept {
    bool whole = shape.rank() > 0 && count == shape[0] && block[0] == 1;
    for (int axis = 1; axis < shape.rank(); ++axis) whole = whole && block[axis] >= shape[axis];
    return whole;
  }
};
template <class Params, class Pack>
WeightCodes(const char*, const QuantizedTensor<Params, Pack>&)
    -> WeightCodes<typename Params::code_type>;

}  // namespace detail

/// The codes of the weights of a layer that was trained with `FakeQuantize`, by its parameters and
/// numerics. Throws: what `trained.params()` throws: `errc::no_data` before the first batch; as
/// `quantize`.
template <class Trained>
requires requires(const Trained& t) {
  t.params();
  t.numerics();
}
[[nodiscard]] auto trained_weights(const ConstTensorView& w, const Trained& trained) {
  if constexpr (requires { requires Trained::transforms; }) {
    const std::vector<float> made = trained.transformed(w);
    return quantize(ConstTensorView(made.data(), w.shape()), trained.params(), trained.numerics());
  } else {
    return quantize(w, trained.params(), trained.numerics());
  }
}

}  // namespace tq
