// SPDX-License-Identifier: MIT
// Weight algorithms: refitted scales, corrected targets, half-quadratic offsets, corrected biases,
// scales and rotations of inputs, learned rounding.
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

// The quantizer of AWQ: a range that need not hold 0, and zero points that are clamped.
struct AwqAsymmetric {
  static constexpr bool has_zero_point = true;
  static constexpr std::string_view name = "awq_asymmetric";
  template <tq::Element T>
  static constexpr tq::CodeRange codes() noexcept {
    return {T::qmin, T::qmax};
  }
  template <tq::Element T>
  static tq::Affine affine(tq::Range r) {
    const float scale = std::max(r.max - r.min, 1e-5f) / static_cast<float>(T::qmax);
    const float zero = std::clamp(-std::nearbyint(r.min / scale), 0.0f, float{T::qmax});
    return {scale, static_cast<std::int32_t>(zero)};
  }
};

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

void awq_scale(const Case& c) {
  using Params = Grouped<tq::uint4, AwqAsymmetric>;
  const Tensor w = c.input("w").load(), x = c.input("x").load();
  const std::vector<float> weights = c.input("w").floats(), inputs = c.input("x").floats();
  const tq::ConstTensorView view(inputs.data(), shape_of(x));
  tq::FloatHessian hessian(x.shape.at(1));
  hessian.add(view);
  tq::AwqOptions options{.steps = c.attributes.at("grid").get<std::size_t>(), .most_rows = 0};
  // AWQ has no rule for inputs that are always 0.
  options.magnitudes.assign(x.shape.at(1), 1e-300);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    options.magnitudes[i % x.shape.at(1)] +=
        std::fabs(static_cast<double>(inputs[i])) / static_cast<double>(x.shape.at(0));
  const tq::AwqResult got =
      tq::awq_scales<Params>({tq::ConstTensorView(weights.data(), shape_of(w))}, hessian, options,
                             Groups(c.attributes.at("group_size").get<int>()));
  const bool by_weights = c.attributes.at("duo").get<bool>();
  std::vector<double> losses;
  const tq::AwqCandidate* best = nullptr;
  for (const tq::AwqCandidate& candidate : got.candidates) {
    if (candidate.by_weights != by_weights || candidate.power == 1) continue;  // not in the case
    losses.push_back(candidate.loss / static_cast<double>(w.shape.at(0)));
    if (best == nullptr || candidate.loss < best->loss) best = &candidate;
  }
  const double relative = c.tolerance.number("rel"), absolute = c.tolerance.number("abs");
  require_reals("losses", reals(c.output("losses").load()), losses, relative, absolute);
  require_near("best_ratio", c.attributes.at("best_ratio").get<double>(), best->power, 1e-12);
  require_reals("scales", reals(c.output("scales").load()), doubles(best->scales), relative,
                absolute);
}

void smoothquant(const Case& c) {
  const std::vector<float> weights = c.input("w").floats(), x = c.input("x").floats();
  tq::Observer<tq::AbsMax, tq::PerChannel<-1>> inputs;
  inputs.observe(tq::ConstTensorView(x.data(), shape_of(c.input("x").load())));
  const std::vector<float> scales =
      tq::smooth_scales(tq::magnitudes_of(inputs),
                        {tq::ConstTensorView(weights.data(), shape_of(c.input("w").load()))},
                        c.attributes.at("alpha").get<double>());
  require_reals("scales", reals(c.output("scales").load()), doubles(scales),
                c.tolerance.number("rel"), c.tolerance.number("abs"));
}

void cle(const Case& c) {
  std::vector<float> w1 = c.input("w1").floats(), b1 = c.input("b1").floats(),
                     w2 = c.input("w2").floats();
  const std::vector<float> scales =
      tq::equalize(tq::TensorView<float>(w1.data(), shape_of(c.input("w1").load())), b1,
                   tq::TensorView<float>(w2.data(), shape_of(c.input("w2").load())));
  require_reals("scales", reals(c.output("scales").load()), doubles(scales),
                c.tolerance.number("rel"), c.tolerance.number("abs"));
}

void hadamard(const Case& c) {
  const std::vector<std::int64_t> signs = integers(c.input("signs").load());
  const tq::Hadamard rotation(std::vector<std::int8_t>(signs.begin(), signs.end()));
  const std::vector<float> x = c.input("x").floats();
  const std::vector<float> y =
      rotation.rotate(tq::ConstTensorView(x.data(), shape_of(c.input("x").load())));
  require_reals("y", reals(c.output("y").load()), doubles(y), c.tolerance.number("rel"),
                c.tolerance.number("abs"));
}

// From codes of error feedback next to the weights: the case allows no others.
void adaround(const Case& c) {
  require_type(c, "int3");
  using Params = Grouped<tq::int3, tq::Symmetric>;
  const Tensor w = c.input("w").load();
  const std::vector<float> weights = c.input("w").floats(), h = c.input("h").floats();
  const tq::ConstTensorView view(weights.data(), shape_of(w));
  const tq::FloatHessian hessian = hessian_of(c.input("h"));
  const tq::HessianFactor factor = tq::factor(hessian);
  tq::QuantizedTensor<Params> tensor = tq::gptq(view, factor, given_params<Params>(c, w)).tensor;
  std::vector<std::int8_t> codes(tensor.size());
  const auto bounds = [&](std::size_t i) {
    const float steps = weights[i] / tensor.params().scales()[i / w.shape.at(1)];
    return std::pair(std::clamp(std::floor(steps), -4.0f, 3.0f),
                     std::clamp(std::ceil(steps), -4.0f, 3.0f));
  };
  tq::unpack<tq::int3>(tensor.bytes(), codes);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto [low, high] = bounds(i);
    codes[i] = static_cast<std::int8_t>(std::clamp(static_cast<float>(codes[i]), low, high));
  }
  tq::pack<tq::int3>(codes, tensor.bytes());
  const tq::LearnedRoundingResult got =
      tq::learn_rounding(view, hessian, factor, tensor, {.iterations = 40, .reach = 0.5});
  tq::unpack<tq::int3>(tensor.bytes(), codes);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto [low, high] = bounds(i);
    if (static_cast<float>(codes[i]) < low || static_cast<float>(codes[i]) > high)
      throw Failure{"codes", {"", i, std::to_string(low), std::to_string(codes[i])}};
  }
  const double loss = loss_of(weights, tq::dequantize(tensor), h, w.shape.at(1)),
               most = c.attributes.at("loss").get<double>() * c.tolerance.number("max_ratio");
  require_near("loss", loss, got.loss, 1e-5);
  if (!(loss <= most)) throw Failure{"loss", {"", {}, std::to_string(most), std::to_string(loss)}};
}

}  // namespace conformance
