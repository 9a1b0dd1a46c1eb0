// SPDX-License-Identifier: MIT
// Parameters of tensors of 16 and 64 bits are those of the same values as float32, bit for bit.
#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/codebook.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/percentile.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/real_tensors.hpp"
#include "support/thread_executor.hpp"

namespace {

using real_tensors::Pair;

template <class Type, class Symmetry, class Granularity = tq::PerTensor>
using Params = tq::QuantParams<Type, Granularity, Symmetry>;
using W8 = Params<tq::int8, tq::Symmetric>;
using A4 = Params<tq::uint4, tq::Asymmetric, tq::PerChannel<-1>>;

template <class T, class P, class Acc, class C>
std::string differing(const C& calibrator) {
  static const std::vector<Pair<T>> tensors = [] {
    std::vector<Pair<T>> made;
    for (const real_tensors::Layout& l : real_tensors::layouts())
      if (l.shape[0] != 2) made.emplace_back(l, 9, true);
    return made;
  }();
  std::string text;
  for (const Pair<T>& x : tensors)
    if (!(tq::calibrate<P, Acc>(x.view(), calibrator) ==
          tq::calibrate<P, Acc>(x.float_view(), calibrator)))
      text += x.layout.name + "\n";
  return text;
}
template <class P, class Acc, class C>
void check(const C& calibrator) {
  CHECK(differing<tq::float16, P, Acc>(calibrator) == "");
  CHECK(differing<tq::bfloat16, P, Acc>(calibrator) == "");
  CHECK(differing<double, P, Acc>(calibrator) == "");
}

}  // namespace

TEST_CASE("calibrators by ranges, means and quantiles take halves and float64", "[calibrate]") {
  check<A4, tq::MinMax>(tq::MinMaxCalibrator{});
  check<W8, tq::AbsMax>(tq::MinMaxCalibrator{});
  check<A4, tq::MovingAverageMinMax>(tq::MinMaxCalibrator{});
  check<Params<tq::ternary, tq::Symmetric>, tq::MeanAbs>(tq::MeanAbsCalibrator{});
  check<A4, tq::MeanStd>(tq::MeanStdCalibrator{});
  check<A4, tq::Percentile>(tq::PercentileCalibrator{});
  check<W8, tq::MeanStd>(tq::AciqCalibrator<tq::Gauss>{});
}

TEST_CASE("calibrators by histograms take halves and float64", "[calibrate]") {
  using W4 = Params<tq::int4, tq::Symmetric>;
  check<W4, tq::Histogram>(tq::MseCalibrator{});
  check<Params<tq::nf4, tq::Symmetric>, tq::Percentile>(tq::LpCalibrator{});
  check<W4, tq::AbsHistogram>(tq::KlDivergenceCalibrator{});
  check<W4, tq::Histogram>(tq::EntropyCalibrator{});
  check<W4, tq::Histogram>(tq::AciqCalibrator<>{});
}

TEST_CASE("halves and float64 are calibrated from spans, vectors and views", "[calibrate]") {
  const std::vector<double> x{-1, 0.5, 3, 1e-60};
  const std::vector<float> floats{-1, 0.5, 3, 0};
  using A8 = Params<tq::uint8, tq::Asymmetric>;
  const A8 wanted = tq::calibrate<A8>(floats);
  CHECK(tq::calibrate<A8>(x) == wanted);
  CHECK(tq::calibrate<A8>(std::span<const double>(x), tq::numerics::onnx{}, test::Threads{}) ==
        wanted);
  CHECK(tq::calibrate<A8>({floats.data(), {2, 2}}) == wanted);
  CHECK(tq::calibrate<A8, tq::Histogram>(x, tq::MseCalibrator{}, tq::PerTensor{},
                                         tq::numerics::torch{}) ==
        tq::calibrate<A8, tq::Histogram>(floats, tq::MseCalibrator{}, tq::PerTensor{},
                                         tq::numerics::torch{}));
  using Rows = Params<tq::int8, tq::Symmetric, tq::PerChannel<>>;
  CHECK(tq::calibrate<Rows>(tq::TensorView<const double>(x.data(), {2, 2}), tq::PerChannel<>(0)) ==
        tq::calibrate<Rows>(tq::ConstTensorView(floats.data(), {2, 2}), tq::PerChannel<>(0)));
  test::raises(tq::errc::no_data, {"tq::calibrate", "saw none"},
               [&] { (void)tq::calibrate<A8>(std::vector<double>{1e300}); });
  test::raises(tq::errc::bad_axis, {"tq::calibrate", "[4]"},
               [&] { (void)tq::calibrate<Rows>(x, tq::PerChannel<>(1)); });
}
