// expect: GradientFor|same_as
// SPDX-License-Identifier: MIT
#include <tq/core/float_elements.hpp>
#include <tq/train/backward.hpp>
#include <tq/train/learned_step.hpp>

using Params = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric, tq::float16>;
tq::ParameterGradients gradients(tq::ConstTensorView x, const Params& params,
                                 tq::TensorView<float> gx) {
  return tq::fake_quantize_backward<tq::LearnedStep<>>(x, params, x, gx);
}
