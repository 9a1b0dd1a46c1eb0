// SPDX-License-Identifier: MIT
// Weight algorithms: Hessians, orders of columns, rounding and error feedback.
#include "weight_cases.hpp"

#include <tq/calibrate/calibrate.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq.hpp>

#include <algorithm>
#include <cmath>

namespace conformance {

namespace {

// Calls f(std::type_identity<Params>) for the type and symmetry of a case.
template <class F>
void with_params(const Case& c, F&& f) {
  const auto type = c.attributes.at("type").get<std::string>(),
             symmetry = c.attributes.at("symmetry").get<std::string>();
  const bool nvfp4 =
      std::ranges::any_of(c.inputs, [](const auto& t) { return t.name == "tensor_scale"; });
  if (type == "int4" && symmetry == "symmetric")
    f(std::type_identity<Grouped<tq::int4, tq::Symmetric>>{});
  else if (type == "uint4" && symmetry == "asymmetric")
    f(std::type_identity<Grouped<tq::uint4, tq::Asymmetric>>{});
  else if (type == "uint3" && symmetry == "asymmetric")
    f(std::type_identity<Grouped<tq::uint3, tq::Asymmetric>>{});
  else if (type == "nf4") f(std::type_identity<Grouped<tq::nf4, tq::Symmetric>>{});
  else if (type == "float4_e2m1fn" && nvfp4) f(std::type_identity<tq::nvfp4>{});
  else if (type == "float4_e2m1fn") f(std::type_identity<tq::mxfp4>{});
  else throw Skip{"weights of type " + type + ", " + symmetry + " are not built yet"};
}

tq::ColumnOrder order_of(const Case& c) {
  const auto order = c.attributes.at("order").get<std::string>();
  if (order == "natural") return tq::NaturalOrder{};
  if (order == "activation") return tq::ByActivation{};
  if (order == "group_aware") return tq::ByGroup{c.attributes.at("group_size").get<std::size_t>()};
  throw Skip{"order " + order + " is not built yet"};
}

template <class Params>
void require_params(const Case& c, const Params& params, double relative) {
  const std::vector<float> expected = c.output("scales").floats();
  for (std::size_t i = 0; i < expected.size(); ++i)
    require_near("scales", static_cast<double>(expected[i]),
                 static_cast<double>(params.scales()[i]), relative);
  if constexpr (Params::has_zero_point) {
    const auto z = params.zero_points();
    if (!std::ranges::equal(zero_points_of(c.output("zero_points")), z))
      throw Failure{"zero_points", {"zero points differ", {}, "", ""}};
  }
}

template <class Params>
void check_gptq(const Case& c, const tq::GptqResult<Params>& got) {
  const std::vector<float> w = c.input("w").floats(), h = c.input("h").floats();
  const Tensor codes = c.output("codes").load();
  const std::vector<float> values = tq::dequantize(got.tensor),
                           theirs = values_of(codes, got.tensor.params());
  const std::size_t n = codes.shape.at(1);
  const double expected = reals(c.output("loss").load()).at(0), loss = loss_of(w, values, h, n);
  require_near("loss", loss, got.loss, 1e-5);
  if (!(loss <= expected * (1 + c.tolerance.number("loss_rel"))))
    throw Failure{"loss", {"", {}, std::to_string(expected), std::to_string(loss)}};
  require_near("loss_of_rounding", c.attributes.at("loss_of_rtn").get<double>(),
               got.loss_of_rounding, 1e-5);
  require_near("damping", c.attributes.at("lam").get<double>(), got.damping, 1e-6);
  // Rows that keep their rounded codes are better than those of the case.
  if (c.tolerance.number("min_margin") < 1e-6 || got.rounded_rows != 0) return;
  require("codes",
          exact(tq::io::from_float32("codes", codes.shape, theirs),
                tq::io::from_float32("codes", codes.shape, values), "", ZeroSign::ignored));
  require_near("damped_loss", c.attributes.at("damped_loss").get<double>(), got.damped_loss, 1e-5);
}

}  // namespace

void hessian(const Case& c) {
  const Tensor x = c.input("x").load(), expected = c.output("h").load();
  const std::vector<float> values = c.input("x").floats();
  const tq::ConstTensorView view(values.data(), shape_of(x));
  const std::size_t n = x.shape.at(1);
  tq::FloatHessian floats(n);
  floats.add(view);
  tq::Observer<tq::AbsMax, tq::PerChannel<-1>> range;
  range.observe(view);
  tq::Hessian steps(range, 16);
  steps.add(view);
  std::vector<float> h(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      h[i * n + j] = static_cast<float>(floats(i, j));
      if (!(std::fabs(steps(i, j) - floats(i, j)) <= 2e-4 * std::sqrt(floats(i, i) * floats(j, j))))
        throw Failure{"h",
                      {"", i * n + j, std::to_string(floats(i, j)), std::to_string(steps(i, j))}};
    }
  require("h", within(c.tolerance, expected, tq::io::from_float32("h", expected.shape, h)));
}

void column_order(const Case& c) {
  const tq::FloatHessian h = hessian_of(c.input("h"));
  std::vector<double> diagonal(h.inputs());
  for (std::size_t i = 0; i < h.inputs(); ++i) diagonal[i] = h(i, i);
  const auto check = [&](const char* name, const tq::ColumnOrder& order) {
    const auto got = tq::column_order(diagonal, order);
    const Tensor expected = c.output(name).load();
    require(name,
            within(c.tolerance, expected,
                   code_tensor(expected.shape, std::vector<std::int32_t>(got.begin(), got.end()))));
  };
  check("activation", tq::ByActivation{});
  check("group_aware", tq::ByGroup{c.attributes.at("group_size").get<std::size_t>()});
}

void rtn(const Case& c) {
  with_params(c, [&]<class Params>(std::type_identity<Params>) {
    if constexpr (tq::IntegerParams<Params>) {
      const Tensor w = c.input("w").load(), codes = c.output("codes").load();
      const std::vector<float> weights = c.input("w").floats();
      const tq::ConstTensorView view(weights.data(), shape_of(w));
      const auto params = tq::calibrate<Params>(view, groups_of(c, w));
      require_params(c, params, 0);
      const auto q = tq::quantize(view, params);
      const std::vector<float> values = tq::dequantize(q);
      require("codes", exact(tq::io::from_float32("codes", codes.shape, values_of(codes, params)),
                             tq::io::from_float32("codes", codes.shape, values)));
      require_near("loss", reals(c.output("loss").load()).at(0),
                   loss_of(weights, wide_values(q), c.input("h").floats(), w.shape.at(1)),
                   c.tolerance.number("loss_rel"));
    } else {
      throw Skip{"rounding of types that are no integers is not built yet"};
    }
  });
}

void gptq(const Case& c) {
  with_params(c, [&]<class Params>(std::type_identity<Params>) {
    const Tensor w = c.input("w").load();
    const std::vector<float> weights = c.input("w").floats();
    const tq::ConstTensorView view(weights.data(), shape_of(w));
    const tq::HessianFactor factor =
        tq::factor(hessian_of(c.input("h")),
                   {.damping = c.attributes.at("damping").get<double>(), .order = order_of(c)});
    if (c.attributes.at("params").get<std::string>() == "given")
      return check_gptq(c, tq::gptq(view, factor, given_params<Params>(c, w)));
    if constexpr (std::is_same_v<typename Params::granularity_type, Groups>) {
      const auto got =
          tq::gptq<Params>(view, factor, tq::DynamicGroups{}, tq::serial, groups_of(c, w));
      if (got.rounded_rows == 0)
        require_params(c, got.tensor.params(), c.tolerance.number("scales_rel"));
      check_gptq(c, got);
    } else {
      throw Skip{"dynamic groups of block formats are not built yet"};
    }
  });
}

void coordinate_descent(const Case& c) {
  with_params(c, [&]<class Params>(std::type_identity<Params>) {
    const Tensor w = c.input("w").load(), codes = c.output("codes").load();
    const std::vector<float> weights = c.input("w").floats(), h = c.input("h").floats();
    const tq::FloatHessian hessian = hessian_of(c.input("h"));
    const tq::HessianFactor factor = tq::factor(
        hessian, {.damping = c.attributes.at("damping").get<double>(), .order = order_of(c)});
    tq::QuantizedTensor<Params> tensor(shape_of(w), given_params<Params>(c, w));
    tq::pack<typename Params::type>(codes_of<typename Params::type>(c.input("codes").load()),
                                    tensor.bytes());
    const tq::DescentResult got =
        tq::coordinate_descent(tq::ConstTensorView(weights.data(), shape_of(w)), hessian, factor,
                               tensor, {.sweeps = c.attributes.at("sweeps").get<std::size_t>()});
    const std::vector<float> values = tq::dequantize(tensor);
    const double expected = reals(c.output("loss").load()).at(0),
                 loss = loss_of(weights, values, h, w.shape.at(1));
    require_near("loss", loss, got.loss, 1e-6);
    require_near("loss", expected, loss, 1e-5);
    require_near("damped_loss_before", c.attributes.at("damped_loss_before").get<double>(),
                 got.damped_loss_before, 1e-6);
    require_near("damped_loss", c.attributes.at("damped_loss").get<double>(), got.damped_loss,
                 1e-6);
    require("codes",
            exact(tq::io::from_float32("codes", codes.shape, values_of(codes, tensor.params())),
                  tq::io::from_float32("codes", codes.shape, values)));
    const auto changed = c.attributes.at("changed").get<std::vector<std::size_t>>();
    for (std::size_t i = 0; i < changed.size(); ++i)
      require_near("changed", static_cast<double>(changed[i]),
                   static_cast<double>(got.changed.at(i)), 0);
  });
}

}  // namespace conformance
