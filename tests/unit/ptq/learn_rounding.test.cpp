// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/gptq.hpp>
#include <tq/ptq/learn_rounding.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/layer.hpp"

namespace {

using ptq_test::Layer;
using W3 = tq::QuantParams<tq::uint3, tq::PerGroup<7>, tq::Asymmetric>;

template <class Params>
void check_learning(unsigned seed) {
  const Layer l(20, 17, seed);
  const tq::HessianFactor f = tq::factor(l.h);
  const tq::QuantizedTensor<Params> rounded =
      tq::quantize(l.view(), tq::calibrate<Params>(l.view()));
  tq::QuantizedTensor<Params> q = rounded;
  const tq::LearnedRoundingResult got =
      tq::learn_rounding(l.view(), l.h, f, q, {.iterations = 100, .step = 1});
  const double lambda = f.damping_used();
  const std::vector<float> before = tq::dequantize(rounded), after = tq::dequantize(q);
  std::size_t improved = 0;
  for (std::size_t r = 0; r < l.outputs; ++r) {
    const double old = l.row_loss(r, before, lambda), now = l.row_loss(r, after, lambda);
    CHECK(now <= old * (1 + 1e-12));
    improved += now < old * (1 - 1e-12);
  }
  CHECK(improved == got.improved_rows);
  CHECK(got.damped_loss < 0.6 * got.damped_loss_before);
  CHECK(std::fabs(got.damped_loss_before - l.loss(before, lambda)) < 1e-9 * got.damped_loss_before);
  CHECK(std::fabs(got.damped_loss - l.loss(after, lambda)) < 1e-9 * got.damped_loss);
  CHECK(std::fabs(got.loss - l.loss(after)) < 1e-9 * got.damped_loss);

  tq::QuantizedTensor<Params> threads = rounded, scalar = rounded;
  tq::learn_rounding(l.view(), l.h, f, threads, {.iterations = 100, .step = 1}, test::Threads{});
  tq::learn_rounding<tq::backend::native<tq::arch::scalar>, tq::arch::scalar>(
      l.view(), l.h, f, scalar, {.iterations = 100, .step = 1});
  CHECK(threads == q);
  CHECK(scalar == q);
}

}  // namespace

TEST_CASE("learned codes are better than rounded ones, and no row is worse") {
  check_learning<W3>(1);
  check_learning<tq::nvfp4>(3);
}

TEST_CASE("learning goes on from error feedback") {
  const Layer l(40, 60, 5);
  const tq::HessianFactor f = tq::factor(l.h);
  auto result = tq::gptq(l.view(), f, tq::calibrate<W3>(l.view()));
  const auto before = result.tensor;
  const auto none = tq::learn_rounding(l.view(), l.h, f, result.tensor, {.iterations = 0});
  CHECK(result.tensor == before);
  CHECK(none.improved_rows == 0);
  CHECK(std::fabs(none.damped_loss - result.damped_loss) < 1e-6 * result.damped_loss);
  const auto got = tq::learn_rounding(l.view(), l.h, f, result.tensor);
  CHECK(got.improved_rows > 0);
  CHECK(got.damped_loss < result.damped_loss);
}

TEST_CASE("shifts of half a step lead to the two codes around a weight") {
  const Layer l(10, 17, 7);
  const tq::HessianFactor f = tq::factor(l.h);
  auto q = tq::quantize(l.view(), tq::calibrate<W3>(l.view()));
  const W3 params = q.params();
  tq::learn_rounding(l.view(), l.h, f, q, {.step = 1, .reach = 0.5});
  const std::vector<float> values = tq::dequantize(q);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = params.scales()[i / 17 * 3 + i % 17 / 7];
    CHECK(std::fabs(values[i] - l.w[i]) < 1.0001f * scale);
  }
}

TEST_CASE("learned rounding refuses what does not fit, and changes nothing then") {
  using test::raises;
  Layer l(4, 17, 9);
  const tq::HessianFactor f = tq::factor(l.h);
  auto q = tq::quantize(l.view(), tq::calibrate<W3>(l.view()));
  const auto before = q;
  const auto refuse = [&](tq::errc code, const char* text, const tq::ConstTensorView& w,
                          const tq::LearnedRoundingOptions& options = {}) {
    raises(code, {"tq::learn_rounding", text}, [&] { tq::learn_rounding(w, l.h, f, q, options); });
  };
  refuse(tq::errc::bad_argument, "a step above 0", l.view(), {.step = 0});
  refuse(tq::errc::bad_argument, "a momentum of 0 to below 1, got 1", l.view(), {.momentum = 1});
  refuse(tq::errc::bad_argument, "a reach above 0", l.view(), {.reach = -1});
  refuse(tq::errc::shape_mismatch, "[3, 17], got [4, 17]", l.view().slice(0, 0, 3));
  l.w[18] = std::numeric_limits<float>::quiet_NaN();
  refuse(tq::errc::not_finite, "row 1 and column 1", l.view());
  CHECK(q == before);
}
