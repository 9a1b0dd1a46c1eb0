// SPDX-License-Identifier: MIT
#include <tq/interop/eigen.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/train/fake_quantize.hpp>
#include <tq/train/learned_step.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColMajor = Eigen::MatrixXf;
using Layer = tq::FakeQuantize<tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>,
                               tq::MeanAbs, tq::LearnedStep<>, tq::LearnedStepCalibrator>;

// Deterministic, with values inside and outside of the codes.
RowMajor numbers(Eigen::Index rows, Eigen::Index cols, float step) {
  RowMajor m(rows, cols);
  for (Eigen::Index i = 0; i < m.size(); ++i)
    m.data()[i] = static_cast<float>((i * 37 % 101) - 50) * step;
  return m;
}

std::vector<float> values(std::span<const float> s) { return {s.begin(), s.end()}; }

}  // namespace

TEST_CASE("Eigen: forward and backward of a layer, whatever the storage order", "[eigen][train]") {
  const RowMajor x = numbers(5, 33, 0.1f), gy = numbers(5, 33, -0.02f);
  const ColMajor xc = x, gyc = gy;
  Layer plain, row, col, mixed;

  RowMajor y(5, 33), gx(5, 33);
  const tq::ConstTensorView view(x.data(), {5, 33});
  plain.forward(view, tq::view(y));
  const std::vector<float> learned = values(plain.backward(view, tq::view(gy), tq::view(gx)));
  REQUIRE(learned.size() == 5);

  CHECK(tq::forward(row, x) == y);
  CHECK(tq::backward(row, x, gy) == gx);
  CHECK(values(row.gradients()) == learned);

  CHECK(tq::forward(col, xc) == ColMajor(y));
  CHECK(tq::backward(col, xc, gyc) == ColMajor(gx));
  CHECK(tq::forward(mixed, 1.0f * x) == y);
  CHECK(tq::backward(mixed, xc, gy) == ColMajor(gx));
  for (std::size_t i = 0; i < learned.size(); ++i) {
    CHECK(std::fabs(col.gradients()[i] - learned[i]) <= 1e-5f * std::fabs(learned[i]));
    CHECK(std::fabs(mixed.gradients()[i] - learned[i]) <= 1e-5f * std::fabs(learned[i]));
  }
}

TEST_CASE("Eigen: a constant layer does not observe", "[eigen][train]") {
  Layer layer;
  const RowMajor x = numbers(2, 9, 0.1f);
  test::raises(tq::errc::no_data, {"forward"}, [&] { (void)tq::forward(std::as_const(layer), x); });
  const RowMajor y = tq::forward(layer, x);
  CHECK(tq::forward(std::as_const(layer), x) == y);
  CHECK(layer.batches() == 1);
  test::raises(tq::errc::shape_mismatch, {"[2, 9]"},
               [&] { (void)tq::backward(layer, x, numbers(3, 9, 1.0f)); });
}
