// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ptq/awq_scales.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/layer.hpp"

namespace {

using ptq_test::Layer;
using W3 = tq::QuantParams<tq::uint3, tq::PerGroup<8>, tq::Asymmetric>;

// The loss of rounding weights that are multiplied by scales.
double loss_of(const Layer& l, const std::vector<float>& scales) {
  std::vector<float> w = l.w;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] *= scales[i % l.columns];
  const tq::ConstTensorView view(w.data(), l.view().shape());
  std::vector<float> values = tq::fake_quantize(view, tq::calibrate<W3>(view));
  for (std::size_t i = 0; i < w.size(); ++i) values[i] /= scales[i % l.columns];
  return l.loss(values);
}

}  // namespace

TEST_CASE("scales of inputs lower the loss of rounding, and never raise it") {
  const Layer l(40, 24, 1), other(30, 24, 1);
  const auto got = tq::awq_scales<W3>({l.view(), other.view()}, l.h);
  CHECK(std::fabs(got.loss - loss_of(l, got.scales) - loss_of(other, got.scales)) <
        1e-5 * got.loss);
  const std::vector<float> ones(24, 1.0f);
  CHECK(std::fabs(got.loss_before - loss_of(l, ones) - loss_of(other, ones)) < 1e-5 * got.loss);
  CHECK(got.loss < 0.9 * got.loss_before);
  CHECK(got.candidates.size() == 42);
  for (const tq::AwqCandidate& c : got.candidates) CHECK(got.loss <= c.loss);
  CHECK(got.candidates[0].loss == got.loss_before);  // to the power 0
  CHECK(got.scales[23] == 1.0f);                     // an input that is always 0

  CHECK((tq::awq_scales<W3>({l.view(), other.view()}, l.h, {}, {}, test::Threads{}).scales ==
         got.scales));
  const auto scalar = tq::awq_scales<W3, tq::backend::native<tq::arch::scalar>, tq::arch::scalar>(
      {l.view(), other.view()}, l.h);
  CHECK((scalar.scales == got.scales));
  CHECK(scalar.loss == got.loss);
}

TEST_CASE("scales can be powers of two") {
  const Layer l(40, 24, 3);
  const auto got = tq::awq_scales<W3>({l.view()}, l.h, {.exact_powers = true});
  CHECK(got.loss < got.loss_before);
  for (const float s : got.scales) {
    int exponent = 0;
    CHECK(std::frexp(s, &exponent) == 0.5f);
  }
}

TEST_CASE("nothing is better than scales of 1 where inputs are alike") {
  Layer l(8, 16, 5);
  std::vector<double> sums;
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = i; j < 16; ++j) sums.push_back(i == j ? 4.0 : 0.0);
  l.h = tq::FloatHessian::from_state({16, 4, 0, sums});
  const auto got = tq::awq_scales<W3>({l.view()}, l.h, {.steps = 1});
  CHECK(got.candidates.size() == 4);
  if (got.loss == got.loss_before) CHECK((got.scales == std::vector<float>(16, 1.0f)));
  CHECK(got.loss <= got.loss_before);
}

TEST_CASE("a search for scales refuses what does not fit") {
  using test::raises;
  const Layer l(4, 16, 7);
  const auto refuse = [&](tq::errc code, const char* text,
                          const std::vector<tq::ConstTensorView>& layers,
                          const tq::AwqOptions& options = {}) {
    raises(code, {"tq::awq_scales", text},
           [&] { static_cast<void>(tq::awq_scales<W3>(layers, l.h, options)); });
  };
  refuse(tq::errc::no_data, "layers that read the inputs, got none", {});
  refuse(tq::errc::shape_mismatch, "[outputs, 16]", {l.view(), l.view().slice(1, 0, 9)});
  refuse(tq::errc::bad_argument, "1 step or more", {l.view()}, {.steps = 0});
  refuse(tq::errc::shape_mismatch, "magnitudes of 16 inputs, got 2", {l.view()},
         {.magnitudes = {1, 2}});
  refuse(tq::errc::not_finite, "for input 3", {l.view()},
         {.magnitudes = {1, 1, 1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}});
  raises(tq::errc::no_data, {"a Hessian of tokens"},
         [&] { static_cast<void>(tq::awq_scales<W3>({l.view()}, tq::FloatHessian(16))); });
}
