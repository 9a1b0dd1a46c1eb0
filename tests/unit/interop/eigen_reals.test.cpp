// SPDX-License-Identifier: MIT
// Eigen's matrices of half, bfloat16 and double, in every place where something only looks at them.
#include <tq/calibrate/mse.hpp>
#include <tq/interop/eigen.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/observer.hpp>

#include <Eigen/Core>
#include <vector>

#include "support/catch.hpp"

namespace {

using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using A4 = tq::QuantParams<tq::uint4, tq::PerTensor, tq::Asymmetric>;

template <class T>
void check() {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix m = Eigen::MatrixXd::Random(30, 41).cast<T>();
  const Eigen::MatrixXf f = m.template cast<float>();
  const RowMajor turned = m;
  CHECK(tq::calibrate<W8>(m) == tq::calibrate<W8>(f));
  CHECK(tq::calibrate<W8>(turned) == tq::calibrate<W8>(f));
  CHECK(tq::calibrate<W8>(m.block(2, 3, 20, 7)) == tq::calibrate<W8>(f.block(2, 3, 20, 7)));
  CHECK(tq::calibrate<A4>(m.transpose(), tq::PerTensor{}) == tq::calibrate<A4>(f.transpose()));
  CHECK(tq::calibrate<A4>(m + m) == tq::calibrate<A4>((m + m).eval()));
  CHECK(tq::calibrate<A4, tq::Histogram>(m, tq::MseCalibrator{}) ==
        tq::calibrate<A4, tq::Histogram>(f, tq::MseCalibrator{}));

  const Eigen::MatrixXf other = f * 1.25f;
  const double wanted = tq::compare(f, other).mse;
  CHECK(wanted > 0);
  CHECK(tq::compare(m, other).mse == wanted);
  CHECK(tq::compare(other, m).mse == wanted);
  CHECK(tq::compare(m.col(3), f.col(3)).mse == 0);
  CHECK(tq::compare(m, turned).max_abs == 0);
  CHECK(tq::compare(m, m + m).count == 1230);
  const std::vector<T> dense(turned.data(), turned.data() + turned.size());
  CHECK(tq::compare(m, dense).max_abs == 0);
  CHECK(tq::compare(tq::TensorView<const T>(dense.data(), {30, 41}), m).max_abs == 0);

  tq::Observer<tq::MinMax> observer;
  observer.observe(tq::view(m));
  observer.observe(dense);
  CHECK(observer.accumulators()[0].range() == tq::Range{f.minCoeff(), f.maxCoeff()});

  const Eigen::Matrix<T, Eigen::Dynamic, 1> vector = m.col(0);
  CHECK(tq::calibrate<A4>(vector) == tq::calibrate<A4>(Eigen::VectorXf(f.col(0))));
  CHECK(tq::compare(vector, vector).max_abs == 0);
  CHECK(tq::compare(vector, Eigen::VectorXf(f.col(0))).max_abs == 0);
}

}  // namespace

TEST_CASE(
    "Eigen's halves and doubles are observed, calibrated and compared as their values in float32",
    "[eigen]") {
  check<Eigen::half>();
  check<Eigen::bfloat16>();
  check<double>();
  check<float>();
}
