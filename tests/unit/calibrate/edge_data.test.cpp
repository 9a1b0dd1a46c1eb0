// SPDX-License-Identifier: MIT
// Data at the edge, through every accumulator and every calibrator that fits it.
#include <tq/calibrate/aciq.hpp>
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/lp.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();
constexpr float biggest = std::numeric_limits<float>::max(),
                smallest = std::numeric_limits<float>::denorm_min();

using Int8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Asymmetric>;
using Int4 = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
using Float8 = tq::QuantParams<tq::float8_e4m3fn, tq::PerTensor, tq::Symmetric>;
int pairs = 0;

// The value that comes nearest to x among those of the parameters: what clipping and steps leave of
// it.
template <class Params>
double distance(double x, const Params& params) {
  const tq::Affine a = params.affine(0);
  double best = std::numeric_limits<double>::infinity();
  for (int code = Params::codes.min; code <= Params::codes.max; ++code) {
    double value;
    if constexpr (tq::IntegerParams<Params>) value = code - a.zero_point;
    else value = double{Params::type::format::decode(static_cast<std::uint32_t>(code))};
    if (value == value) best = std::min(best, std::fabs(x - value * double{a.scale}));
  }
  return best;
}

template <class Params, class Acc, class C>
void check(const std::string& name, const C& calibrator, const Acc& prototype) {
  if constexpr (tq::CalibratorFor<C, Acc, Params>) {
    ++pairs;
    INFO(name << ", " << Params::type::name << " " << Params::symmetry_type::name);
    using Seen = tq::Observer<Acc, tq::PerTensor>;
    const auto of = [&](const std::vector<float>& x) {
      Seen seen({}, prototype, "relu1");
      seen.observe(x);
      return seen;
    };
    const auto params = [&](const Seen& seen) { return tq::calibrate<Params>(seen, calibrator); };
    test::raises(tq::errc::no_data, {"tq::calibrate", "'relu1'"},
                 [&] { (void)params(Seen({}, prototype, "relu1")); });
    test::raises(tq::errc::no_data, {"tq::calibrate", "'relu1'"}, [&] { (void)params(of({})); });
    test::raises(tq::errc::no_data, {"tq::calibrate", "'relu1'", "slot 0 of 1"},
                 [&] { (void)params(of({nan_value, inf, -inf})); });

    // One value, however often and whatever surrounds it, keeps itself within half a step.
    for (const float v : {3.7f, -2.5f, 1e-20f, -1e30f})
      for (const std::size_t times : {1u, 20000u}) {
        std::vector<float> x(times, v);
        x.push_back(nan_value);
        x.push_back(-inf);
        const Params p = params(of(x));
        const double step =
            tq::IntegerParams<Params> ? double{p.scales()[0]} : std::fabs(double{v}) / 16;
        CHECK(distance(double{v}, p) <= step * (0.5 + 1e-4));
      }
    for (const std::size_t times : {1u, 20000u}) {
      const Params p = params(of(std::vector<float>(times, 0.0f)));
      CHECK(distance(0, p) == 0.0);
      CHECK(std::isfinite(p.scales()[0]));
    }

    // Subnormals: a scale whose reciprocal is finite, or none at all; never more off than the value
    // itself.
    std::vector<float> tiny;
    for (int i = -300; i <= 300; ++i) tiny.push_back(static_cast<float>(i) * smallest);
    const Params least = params(of(tiny));
    for (const float v : tiny) CHECK(distance(double{v}, least) <= std::fabs(double{v}));

    // The largest numbers: ranges that overflow float32 must not.
    for (const std::vector<float>& x :
         {std::vector<float>{biggest, -biggest}, std::vector<float>{biggest, 0.0f, 1.0f},
          std::vector<float>(5000, -biggest)}) {
      const Params most = params(of(x));
      CHECK(std::isfinite(most.scales()[0]));
      for (const float v : x) CHECK(distance(double{v}, most) <= double{biggest});
    }
  }
}

template <class Params, class C>
void check_accumulators(const std::string& name, const C& calibrator) {
  check<Params>(name + " of MinMax", calibrator, tq::MinMax{});
  check<Params>(name + " of AbsMax", calibrator, tq::AbsMax{});
  check<Params>(name + " of MeanStd", calibrator, tq::MeanStd{});
  check<Params>(name + " of MovingAverageMinMax", calibrator, tq::MovingAverageMinMax{});
  check<Params>(name + " of Histogram", calibrator, tq::Histogram{});
  check<Params>(name + " of AbsHistogram", calibrator, tq::AbsHistogram{});
  check<Params>(name + " of Percentile", calibrator, tq::Percentile{});
}

template <class Params>
void check_calibrators() {
  check_accumulators<Params>("min_max", tq::MinMaxCalibrator{});
  check_accumulators<Params>("percentile", tq::PercentileCalibrator{});
  check_accumulators<Params>("mean_std", tq::MeanStdCalibrator{});
  check_accumulators<Params>("mse", tq::MseCalibrator{});
  check_accumulators<Params>("lp", tq::LpCalibrator{});
  check_accumulators<Params>("kl", tq::KlDivergenceCalibrator{});
  check_accumulators<Params>("entropy", tq::EntropyCalibrator{});
  check_accumulators<Params>("aciq_laplace", tq::AciqCalibrator<tq::Laplace>{});
  check_accumulators<Params>("aciq_gauss", tq::AciqCalibrator<tq::Gauss>{});
}

}  // namespace

TEST_CASE("edge data give usable parameters, or an error that says where", "[calibrate]") {
  check_calibrators<Int8>();
  check_calibrators<Int4>();
  check_calibrators<Float8>();
  CHECK(pairs >= 3 * 17);
}
