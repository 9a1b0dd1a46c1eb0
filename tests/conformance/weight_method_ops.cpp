// SPDX-License-Identifier: MIT
// Weight algorithms: refitted scales, corrected targets, half-quadratic offsets, corrected biases.
#include "weight_cases.hpp"

#include <tq/observe/observer.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq.hpp>

#include <algorithm>
#include <cmath>

namespace conformance {

namespace {

void require_reals(const char* what, const std::vector<double>& expected,
                   const std::vector<double>& got, double relative, double absolute) {
  if (expected.size() != got.size())
    throw Failure{what, {"", {}, std::to_string(expected.size()), std::to_string(got.size())}};
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(std::fabs(got[i] - expected[i]) <= relative * std::fabs(expected[i]) + absolute))
      throw Failure{what, {"", i, std::to_string(expected[i]), std::to_string(got[i])}};
}

template <class Numbers>
std::vector<double> doubles(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}

void require_type(const Case& c, const char* type) {
  if (c.attributes.at("type").get<std::string>() != type)
    throw Skip{"weights of type " + c.attributes.at("type").get<std::string>() +
               " are not built yet"};
}

using W3 = Grouped<tq::uint3, tq::Asymmetric>;
using W4 = Grouped<tq::uint4, tq::Asymmetric>;

}  // namespace

void refit_scales(const Case& c) {
  require_type(c, "uint3");
  const Tensor w = c.input("w").load();
  const std::vector<float> weights = c.input("w").floats(), h = c.input("h").floats();
  const tq::ConstTensorView view(weights.data(), shape_of(w));
  const tq::FloatHessian hessian = hessian_of(c.input("h"));
  const tq::HessianFactor factor =
      tq::factor(hessian, {.damping = c.attributes.at("damping").get<double>()});
  tq::QuantizedTensor<W3> tensor(shape_of(w), given_params<W3>(c, w));
  tq::pack<tq::uint3>(codes_of<tq::uint3>(c.input("codes").load()), tensor.bytes());
  const tq::RefitResult got = tq::refit_scales(view, hessian, factor, tensor);
  require_reals("scales", reals(c.output("scales").load()), doubles(tensor.params().scales()),
                c.tolerance.number("rel"), c.tolerance.number("abs"));
  const double loss = loss_of(weights, wide_values(tensor), h, w.shape.at(1));
  require_near("loss", reals(c.output("loss").load()).at(0), loss, 1e-5);
  require_near("loss", loss, got.loss, 1e-5);
  require_near("damped_loss", c.attributes.at("damped_loss").get<double>(), got.damped_loss, 1e-5);
}

void asymmetric_target(const Case& c) {
  require_type(c, "uint4");
  const Tensor w = c.input("w").load();
  const std::vector<float> weights = c.input("w").floats(), x = c.input("x").floats(),
                           x_float = c.input("x_float").floats();
  const tq::Shape tokens = shape_of(c.input("x").load());
  const tq::ConstTensorView view(weights.data(), shape_of(w)), inputs(x.data(), tokens);
  tq::FloatHessian hessian(w.shape.at(1));
  hessian.add(inputs);
  tq::CrossHessian cross(w.shape.at(1));
  cross.add(inputs, tq::ConstTensorView(x_float.data(), tokens));
  const tq::HessianFactor factor =
      tq::factor(hessian, {.damping = c.attributes.at("damping").get<double>()});
  const std::vector<float> target =
      tq::corrected_target(view, cross, hessian, factor, {.strength = 1.0});
  const std::vector<double> expected = doubles(c.output("target").floats());
  double largest = 0;
  for (const double v : expected) largest = std::max(largest, std::fabs(v));
  require_reals("target", expected, doubles(target), 0, c.tolerance.number("target_rel") * largest);
  const W4 params = given_params<W4>(c, w);
  const auto got = tq::gptq(tq::ConstTensorView(target.data(), shape_of(w)), factor, params);
  const Tensor codes = c.output("codes").load();
  require("codes", exact(tq::io::from_float32("codes", codes.shape, values_of(codes, params)),
                         tq::io::from_float32("codes", codes.shape, tq::dequantize(got.tensor)), "",
                         ZeroSign::ignored));
}

void hqq(const Case& c) {
  using Params = tq::QuantParams<tq::uint4, Groups, tq::FloatOffset>;
  const Tensor w = c.input("w").load(), codes = c.output("codes").load();
  const std::vector<float> weights = c.input("w").floats();
  if (c.attributes.at("bits").get<int>() != 4) throw Skip{"codes of other bits are not built yet"};
  // All groups of the reference stop together, and keep their last zero.
  const auto got =
      tq::hqq<Params>(tq::ConstTensorView(weights.data(), shape_of(w)),
                      {.norm = c.attributes.at("p").get<double>(),
                       .penalty = c.attributes.at("beta").get<double>(),
                       .growth = c.attributes.at("kappa").get<double>(),
                       .iterations = c.attributes.at("iterations_run").get<std::size_t>(),
                       .keep_last = true},
                      Groups(c.attributes.at("group_size").get<int>()));
  std::vector<std::uint8_t> found(got.size());
  tq::unpack<tq::uint4>(got.bytes(), found);
  require("codes", within(c.tolerance, codes, code_tensor_like(codes, found)));
  const std::vector<double> scales = doubles(got.params().scales());
  require_reals("scales", reals(c.output("scales").load()), scales, 1e-6, 0);
  std::vector<double> zeros = doubles(got.params().offsets());
  for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] /= -scales[i];
  require_reals("zeros", reals(c.output("zeros").load()), zeros, 0,
                c.tolerance.number("zeros_abs"));
}

void bias_correction(const Case& c) {
  require_type(c, "uint3");
  const Tensor w = c.input("w").load();
  const std::vector<float> weights = c.input("w").floats(), x = c.input("x").floats();
  const tq::ConstTensorView view(weights.data(), shape_of(w));
  tq::Observer<tq::MeanStd, tq::PerChannel<-1>> inputs;
  inputs.observe(tq::ConstTensorView(x.data(), shape_of(c.input("x").load())));
  const auto q = tq::quantize(view, given_params<W3>(c, w));
  require_reals("delta", reals(c.output("delta").load()),
                doubles(tq::bias_correction(view, q, inputs)), c.tolerance.number("rel"),
                c.tolerance.number("abs"));
}

}  // namespace conformance
