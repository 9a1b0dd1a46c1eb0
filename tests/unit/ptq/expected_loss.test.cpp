// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/ptq/expected_loss.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/ptq/gptq.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/ptq/activations.hpp"

TEST_CASE("the loss of error feedback is expected from steps alone") {
  constexpr std::size_t outputs = 100, n = 60;
  inputs::Random r(1);
  std::vector<float> w(outputs * n);
  for (float& v : w) v = static_cast<float>(r.normal());
  const tq::ConstTensorView view(w.data(), {outputs, n});
  const std::vector<float> x = ptq_test::activations(200, n, 2);
  tq::FloatHessian h(n);
  h.add(tq::ConstTensorView(x.data(), {200, n}));
  const tq::HessianFactor f = tq::factor(h);
  using W8 = tq::QuantParams<tq::uint8, tq::PerGroup<16>, tq::Asymmetric>;
  const W8 params = tq::calibrate<W8>(view);
  const double expected = tq::expected_loss(f, params, outputs);
  CHECK(std::fabs(tq::gptq(view, f, params).damped_loss / expected - 1) < 0.1);

  using Tensor = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  double sum = 0;
  for (const double d : f.pivots()) sum += d;
  CHECK(std::fabs(tq::expected_loss(f, Tensor(0.5f), 7) - 7 * sum * 0.25 / 12) < 1e-12 * sum);
  test::raises(tq::errc::shape_mismatch, {"tq::expected_loss"},
               [&] { static_cast<void>(tq::expected_loss(f, params, outputs + 1)); });
}
