// SPDX-License-Identifier: MIT
#pragma once
// trained_weights: the codes of weights as training left them.

#include <tq/core/detail/read.hpp>
#include <tq/core/readable.hpp>
#include <tq/core/tensor_view.hpp>
#include <tq/ops/quantize.hpp>

#include <vector>

namespace tq {

/// The codes of the weights of a layer that was trained with `FakeQuantize`, by its parameters and
/// numerics. Throws: what `trained.params()` throws: `errc::no_data` before the first batch; as
/// `quantize`.
template <class Trained, Readable X = ConstTensorView>
  requires requires(const Trained& t) {
    t.params();
    t.numerics();
  }
[[nodiscard]] auto trained_weights(const X& w, const Trained& trained) {
  const auto in = detail::read(w);
  if constexpr (requires { requires Trained::transforms; }) {
    const std::vector<float> made = trained.transformed(in.view());
    return quantize(ConstTensorView(made.data(), in.view().shape()), trained.params(),
                    trained.numerics());
  } else {
    return quantize(in.view(), trained.params(), trained.numerics());
  }
}

}  // namespace tq
