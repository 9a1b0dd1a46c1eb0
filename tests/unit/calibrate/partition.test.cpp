// SPDX-License-Identifier: MIT
// However the same data are cut, observers have the same state and calibrators give the same
// parameters.
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/kl_divergence.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

// Values of three scales, some negative only, zeros, a few that are none.
std::vector<float> data(std::size_t n) {
  inputs::Random r(5);
  std::vector<float> x = inputs::normals(n, 6);
  for (std::size_t i = 0; i < n; ++i) {
    if (i > n / 2) x[i] *= 30;
    if (r.chance(20)) x[i] = 0;
    if (r.chance(1)) x[i] = inputs::value(r, 1.0f);
  }
  for (float& v : x)
    if (std::fabs(v) > 1e6f) v = std::numeric_limits<float>::quiet_NaN();
  return x;
}

template <class G, class Acc, class C>
void check(const std::string& name, const tq::Shape& row, const G& granularity,
           const C& calibrator) {
  using Params = tq::QuantParams<tq::int8, G, tq::Asymmetric>;
  constexpr std::size_t batches = 1000;
  const std::size_t n = row.size();
  std::vector<float> x = data(batches * n);
  const auto view = [&](const std::vector<float>& from, std::size_t first, std::size_t count) {
    return tq::ConstTensorView(from.data() + first * n, {count, n});
  };
  using Seen = tq::Observer<Acc, G>;
  Seen whole(granularity), split(granularity), shuffled(granularity), threads(granularity),
      merged(granularity);
  whole.observe(view(x, 0, batches));
  for (std::size_t b = 0; b < batches; ++b) split.observe(view(x, b, 1));
  threads.observe(view(x, 0, batches), test::Threads{8});
  inputs::Random r(7);
  std::vector<Seen> parts(4, Seen(granularity));
  for (std::size_t b = 0; b < batches; b += 10) parts[r.below(4)].observe(view(x, b, 10));
  for (const std::size_t k : {3u, 1u, 0u, 2u}) merged.merge(parts[k]);
  std::vector<std::size_t> order(batches);
  for (std::size_t i = 0; i < batches; ++i) order[i] = i;
  for (std::size_t i = batches - 1; i > 0; --i) std::swap(order[i], order[r.below(i + 1)]);
  for (const std::size_t b : order) shuffled.observe(view(x, b, 1));

  INFO(name);
  const Params wanted = tq::calibrate<Params>(whole, calibrator);
  for (const Seen* seen : {&split, &shuffled, &threads, &merged}) {
    CHECK(std::equal(seen->accumulators().begin(), seen->accumulators().end(),
                     whole.accumulators().begin(), whole.accumulators().end()));
    CHECK(tq::calibrate<Params>(*seen, calibrator) == wanted);
  }
  CHECK(tq::calibrate<Params>(whole, calibrator, tq::numerics::onnx{}, test::Threads{8}) == wanted);
}

template <class Acc, class C>
void check(const std::string& name, const C& calibrator) {
  check<tq::PerTensor, Acc>(name + ", per tensor", {300}, {}, calibrator);
  check<tq::PerChannel<1>, Acc>(name + ", per channel", {40}, {}, calibrator);
}

}  // namespace

TEST_CASE("parameters do not depend on batches, their order, threads or shards", "[calibrate]") {
  check<tq::MinMax>("min_max", tq::MinMaxCalibrator{});
  check<tq::MeanStd>("mean_std", tq::MeanStdCalibrator{});
  check<tq::Percentile>("percentile", tq::PercentileCalibrator{});
  check<tq::Histogram>("percentile of a histogram", tq::PercentileCalibrator{});
  check<tq::Histogram>("mse", tq::MseCalibrator{});
  check<tq::Histogram>("kl", tq::KlDivergenceCalibrator{});
  check<tq::Histogram>("entropy", tq::EntropyCalibrator{});
}
