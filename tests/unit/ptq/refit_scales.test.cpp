// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/refit_scales.hpp>

#include <algorithm>
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

}  // namespace

TEST_CASE("refitted scales leave the least loss that the codes allow") {
  const Layer l(21, 17, 1);
  const tq::HessianFactor f = tq::factor(l.h);
  const tq::QuantizedTensor<W3> rounded = tq::quantize(l.view(), tq::calibrate<W3>(l.view()));
  tq::QuantizedTensor<W3> q = rounded;
  const tq::RefitResult got = tq::refit_scales(l.view(), l.h, f, q);
  CHECK(std::ranges::equal(q.bytes(), rounded.bytes()));
  CHECK(std::ranges::equal(q.params().zero_points(), rounded.params().zero_points()));
  CHECK(got.refitted_rows == l.outputs);
  const double lambda = f.damping_used();
  CHECK(std::fabs(got.damped_loss_before - l.loss(tq::dequantize(rounded), lambda)) <
        1e-9 * got.damped_loss_before);
  CHECK(std::fabs(got.damped_loss - l.loss(tq::dequantize(q), lambda)) < 1e-9 * got.damped_loss);
  CHECK(std::fabs(got.loss - l.loss(tq::dequantize(q))) < 1e-9 * got.damped_loss);
  CHECK(got.damped_loss < 0.9 * got.damped_loss_before);

  // No other scale of a group is better.
  const std::vector<float> best = tq::dequantize(q);
  for (std::size_t i = 0; i < q.params().scales().size(); ++i)
    for (const float factor : {0.998f, 1.002f}) {
      std::vector<float> scales(q.params().scales().begin(), q.params().scales().end());
      scales[i] *= factor;
      const W3 params({}, scales,
                      {q.params().zero_points().begin(), q.params().zero_points().end()});
      tq::QuantizedTensor<W3> other(q.shape(), params);
      std::ranges::copy(q.bytes(), other.bytes().begin());
      const std::size_t row = i / 3;
      CHECK(l.row_loss(row, tq::dequantize(other), lambda) >= l.row_loss(row, best, lambda));
    }

  tq::QuantizedTensor<W3> threads = rounded, scalar = rounded;
  tq::refit_scales(l.view(), l.h, f, threads, test::Threads{});
  tq::refit_scales<tq::backend::native<tq::arch::scalar>, tq::arch::scalar>(l.view(), l.h, f,
                                                                            scalar);
  CHECK(threads == q);
  CHECK(scalar == q);
  // Scales of the least loss stay.
  CHECK(tq::refit_scales(l.view(), l.h, f, q).damped_loss <= got.damped_loss);
}

TEST_CASE("rows keep scales whose refitted ones are worse when they are stored") {
  const Layer l(40, 64, 3);
  const tq::HessianFactor f = tq::factor(l.h);
  auto q = tq::quantize(l.view(), tq::calibrate<tq::mxfp4>(l.view()));  // powers of two
  const std::vector<float> before = tq::dequantize(q);
  const tq::RefitResult got = tq::refit_scales(l.view(), l.h, f, q);
  const std::vector<float> after = tq::dequantize(q);
  std::size_t changed = 0;
  for (std::size_t r = 0; r < l.outputs; ++r) {
    const double old = l.row_loss(r, before, f.damping_used()),
                 now = l.row_loss(r, after, f.damping_used());
    CHECK(now <= old);
    changed += now < old;
  }
  CHECK(changed == got.refitted_rows);
  CHECK(changed < l.outputs);
}

TEST_CASE("a group of zeros keeps its scale") {
  Layer l(3, 14, 5);
  for (std::size_t c = 0; c < 7; ++c) l.w[14 + c] = 0;
  const tq::HessianFactor f = tq::factor(l.h);
  auto q = tq::quantize(l.view(), tq::calibrate<W3>(l.view()));
  const float scale = q.params().scales()[2];
  CHECK(tq::refit_scales(l.view(), l.h, f, q).refitted_rows == 3);
  CHECK(q.params().scales()[2] == scale);
}

TEST_CASE("refitting refuses what does not fit, and changes nothing then") {
  using test::raises;
  Layer l(4, 17, 7);
  const tq::HessianFactor f = tq::factor(l.h);
  using Tensor = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
  auto whole = tq::quantize(l.view(), tq::calibrate<Tensor>(l.view()));
  raises(tq::errc::bad_argument, {"tq::refit_scales", "one output each"},
         [&] { tq::refit_scales(l.view(), l.h, f, whole); });
  auto q = tq::quantize(l.view(), tq::calibrate<W3>(l.view()));
  const auto before = q;
  raises(tq::errc::shape_mismatch, {"expected codes of shape [3, 17], got [4, 17]"},
         [&] { tq::refit_scales(l.view().slice(0, 0, 3), l.h, f, q); });
  l.w[18] = std::numeric_limits<float>::quiet_NaN();
  raises(tq::errc::not_finite, {"row 1 and column 1"},
         [&] { tq::refit_scales(l.view(), l.h, f, q); });
  CHECK(q == before);
}
