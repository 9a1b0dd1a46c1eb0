// SPDX-License-Identifier: MIT
#include <tq/calibrate/mse.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/percentile.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "edge_cases.hpp"
#include "support/catch.hpp"
#include "support/distributions.hpp"
#include "support/share.hpp"

namespace {

using edge_cases::Params;
using edge_cases::seen;
using S8 = Params<tq::int8, tq::Symmetric>;
using N8 = Params<tq::int8, tq::SymmetricNarrow>;
using S4 = Params<tq::int4, tq::Symmetric>;
using A8 = Params<tq::uint8, tq::Asymmetric>;
using A4 = Params<tq::int4, tq::Asymmetric>;
using onnx = tq::numerics::onnx;

static_assert(tq::CalibratorFor<tq::MseCalibrator, tq::Histogram, A8>);
static_assert(tq::CalibratorFor<tq::MseCalibrator, tq::AbsHistogram, S8>);
static_assert(!tq::CalibratorFor<tq::MseCalibrator, tq::AbsHistogram, A8>);
static_assert(!tq::CalibratorFor<tq::MseCalibrator, tq::MinMax, S8>);

template <class P, class Acc>
tq::Range best_range(const Acc& acc) {
  return tq::MseCalibrator{}.range<P, onnx>(acc);
}

// The true error of a range on the data.
template <class P>
double true_mse(const distributions::Sorted& data, tq::Range r) {
  return data.mse(tq::fit_affine<P>(r), P::codes.min, P::codes.max);
}

// The least true error of 10,000 ranges.
template <class P>
double brute_force(const distributions::Sorted& data) {
  double least = std::numeric_limits<double>::infinity();
  if constexpr (P::has_zero_point) {
    const float lo = std::min(data.min(), 0.0f), hi = std::max(data.max(), 0.0f);
    for (int i = 1; i <= 100; ++i)
      for (int j = 1; j <= 100; ++j)
        least = std::min(least, true_mse<P>(data, {lo * static_cast<float>(i) / 100,
                                                   hi * static_cast<float>(j) / 100}));
  } else {
    for (int i = 1; i <= 10000; ++i) {
      const float t = data.abs_max() * static_cast<float>(i) / 10000;
      least = std::min(least, true_mse<P>(data, {-t, t}));
    }
  }
  return least;
}

template <class P>
void check_against_brute_force(const distributions::Data& data) {
  static test::Share share;
  if (!share.takes()) return;
  const distributions::Sorted sorted(data.x);
  const auto histogram = seen<tq::Histogram>(data.x);
  const tq::Range r = best_range<P>(histogram);
  const double ours = true_mse<P>(sorted, r), least = brute_force<P>(sorted);
  INFO(data.name << ", " << P::type::name << " " << P::symmetry_type::name << ": [" << r.min << ", "
                 << r.max << "], " << 100 * (ours / least - 1) << " % above " << least);
  CHECK(ours <= 1.001 * least);
  CHECK(ours <= true_mse<P>(sorted, histogram.range()));
  if constexpr (!P::has_zero_point) {
    const double of_magnitudes = true_mse<P>(sorted, best_range<P>(seen<tq::AbsHistogram>(data.x)));
    INFO(100 * (of_magnitudes / least - 1) << " % from magnitudes");
    if (data.name != "relu" && data.name != "bimodal") CHECK(of_magnitudes <= 1.002 * least);
  }
}

}  // namespace

TEST_CASE("4-bit integers: as good as the best of 10,000 ranges on the data themselves",
          "[calibrate]") {
  for (const distributions::Data& data : distributions::all(100000)) {
    check_against_brute_force<S4>(data);
    check_against_brute_force<A4>(data);
  }
}

// How values lie within bins is not known. With 4 bins to a level and 100,000 values that alone
// moves the true error of single ranges by up to 0.2 %, with 200,000 by less.
TEST_CASE("8-bit integers: as good as the best of 10,000 ranges on the data themselves",
          "[calibrate][slow]") {
  for (const distributions::Data& data : distributions::all(200000)) {
    check_against_brute_force<S8>(data);
    check_against_brute_force<A8>(data);
  }
}

TEST_CASE("other integers, and scales that are stored coarsely", "[calibrate][slow]") {
  for (const distributions::Data& data : distributions::all(100000)) {
    check_against_brute_force<Params<tq::int2, tq::Symmetric>>(data);
    check_against_brute_force<Params<tq::uint2, tq::Asymmetric>>(data);
    check_against_brute_force<Params<tq::ternary, tq::Symmetric>>(data);
    check_against_brute_force<Params<tq::int6, tq::SymmetricNarrow>>(data);
    check_against_brute_force<Params<tq::uint4, tq::Symmetric>>(data);
    check_against_brute_force<Params<tq::int4, tq::Symmetric, tq::float8_e4m3fn>>(data);
    check_against_brute_force<Params<tq::int4, tq::Symmetric, tq::float8_e8m0fnu>>(data);
    check_against_brute_force<Params<tq::uint4, tq::Asymmetric, tq::float16>>(data);
  }
}

namespace {

template <class P>
void check_levels(const distributions::Data& data) {
  static test::Share share;
  if (!share.takes()) return;
  using F = typename P::type::format;
  std::vector<double> levels;
  for (std::uint32_t code = 0; code < (1u << F::bits); ++code)
    if (const float v = F::decode(code); std::isfinite(v)) levels.push_back(static_cast<double>(v));
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  const distributions::Sorted sorted(data.x);
  const auto error = [&](tq::Range r) { return sorted.mse(levels, tq::fit_affine<P>(r).scale); };
  const double ours = error(best_range<P>(seen<tq::Histogram>(data.x)));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 1; i <= 1000; ++i) {
    const float t =
        sorted.abs_max() * static_cast<float>(i) / 500;  // beyond the largest value as well
    least = std::min(least, error({-t, t}));
  }
  INFO(data.name << ", " << P::type::name << ": " << 100 * (ours / least - 1) << " % above "
                 << least);
  // The steps of floats grow with the values: where the few largest ones lie in their bins counts
  // for more.
  CHECK(ours <= 1.005 * least);
}

}  // namespace

TEST_CASE("floats and code books: as good as the best of 1,000 thresholds on the data themselves",
          "[calibrate][slow]") {
  for (const distributions::Data& data : distributions::all(100000)) {
    check_levels<Params<tq::float4_e2m1fn, tq::Symmetric>>(data);
    check_levels<Params<tq::float4_e2m1fn, tq::Symmetric, tq::float8_e8m0fnu>>(data);
    check_levels<Params<tq::float6_e2m3fn, tq::Symmetric, tq::float16>>(data);
    check_levels<Params<tq::nf4, tq::Symmetric>>(data);
    check_levels<Params<tq::iq4_nl, tq::Symmetric>>(data);
    check_levels<Params<tq::binary, tq::Symmetric>>(data);
  }
  for (const distributions::Data& data : distributions::all(400000)) {
    check_levels<Params<tq::float8_e4m3fn, tq::Symmetric>>(data);
    check_levels<Params<tq::float8_e5m2, tq::Symmetric>>(data);
  }
}

TEST_CASE("the scale of signs with the least error is the mean magnitude", "[calibrate]") {
  const std::vector<float> x = distributions::draw(100000, 9, distributions::laplace);
  double mean = 0;
  for (const float v : x) mean += std::fabs(static_cast<double>(v)) / 100000;
  using B = Params<tq::binary, tq::Symmetric>;
  const float scale = tq::fit_affine<B>(best_range<B>(seen<tq::Histogram>(x))).scale;
  CHECK(std::fabs(static_cast<double>(scale) - mean) < 1e-3 * mean);
}

TEST_CASE("values that fit a grid exactly are left alone", "[calibrate]") {
  std::vector<float> x;
  for (int i = 0; i <= 255; ++i)
    for (int k = 0; k <= i % 7; ++k) x.push_back(static_cast<float>(i));
  const auto histogram = seen<tq::Histogram>(x);
  CHECK(tq::fit_affine<A8>(best_range<A8>(histogram)) == tq::Affine{1.0f, 0});
  CHECK(best_range<A8>(histogram) == tq::Range{0, 255});
}

namespace {

// PyTorch's HistogramObserver._non_linear_param_search (torch/ao/quantization/observer.py),
// rewritten.
struct TorchSearch {
  std::vector<double> counts;
  double min, width;
  int levels;

  [[nodiscard]] double norm(int first, int last) const {
    const double step = width * (last - first + 1) / levels;
    double sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double begin = (static_cast<double>(i) - first) * width, end = begin + width,
                   top = levels - 1;
      const double of_begin = std::clamp(std::floor(begin / step), 0.0, top);
      const double of_end = std::clamp(std::floor(end / step), 0.0, top);
      const auto cubes = [](double a, double b) { return (b * b * b - a * a * a) / 3; };
      sum += counts[i] / width *
             (cubes(begin - (of_begin + 0.5) * step, step / 2) +
              (of_end - of_begin - 1) * cubes(-step / 2, step / 2) +
              cubes(-step / 2, end - (of_end + 0.5) * step));
    }
    return sum;
  }
  [[nodiscard]] tq::Range range() const {
    std::vector<double> sums;
    double total = 0;
    for (const double c : counts) sums.push_back(total += c);
    double alpha = 0, beta = 1, least = std::numeric_limits<double>::infinity();
    int first = 0, last = static_cast<int>(counts.size()) - 1;
    const auto sum = [&](int i) { return sums[static_cast<std::size_t>(i)]; };
    while (alpha < beta) {
      const double next_alpha = alpha + 1e-5, next_beta = beta - 1e-5;
      int l = first, r = last, next_first = first, next_last = last;
      while (l < last && sum(l) < next_alpha * total) ++l;
      while (r > first && sum(r) > next_beta * total) --r;
      if (l - first > last - r) {
        next_first = l;
        alpha = next_alpha;
      } else {
        next_last = r;
        beta = next_beta;
      }
      if (next_first == first && next_last == last) continue;
      const double n = norm(next_first, next_last);
      if (n > least) break;
      least = n;
      first = next_first;
      last = next_last;
    }
    return {static_cast<float>(min + width * first), static_cast<float>(min + width * (last + 1))};
  }
};

TorchSearch torch_search(const std::vector<float>& x, int levels) {
  const auto [lo, hi] = std::minmax_element(x.begin(), x.end());
  TorchSearch t{std::vector<double>(2048), static_cast<double>(*lo),
                (static_cast<double>(*hi) - static_cast<double>(*lo)) / 2048, levels};
  for (const float v : x) {
    const double bin = std::min(std::floor((static_cast<double>(v) - t.min) / t.width), 2047.0);
    ++t.counts[static_cast<std::size_t>(bin)];
  }
  return t;
}

}  // namespace

TEST_CASE("PyTorch's search stops at the first increase of its error", "[calibrate]") {
  // Two narrow humps at -1 and 1, and a little from -3 to 3. Its four levels lie at 1/8, 3/8, 5/8,
  // 7/8 of the window: from
  // [-3, 3] on the error first grows, and is nearly nothing at [-4/3, 4/3].
  const std::vector<float> x = distributions::draw(100000, 10, [](inputs::Random& r) {
    return r.below(10000) == 0 ? 6 * r.unit() - 3 : (r.chance(50) ? -1 : 1) + 0.02 * r.normal();
  });
  const distributions::Sorted sorted(x);
  const auto torch = torch_search(x, 4);
  const tq::Range theirs = torch.range();
  const auto norm = [&](float lo, float hi) {
    const auto bin = [&](float v) {
      return static_cast<int>((static_cast<double>(v) - torch.min) / torch.width);
    };
    return torch.norm(bin(lo), bin(hi) - 1);
  };
  CHECK(norm(-4.0f / 3, 4.0f / 3) < 0.2 * norm(theirs.min, theirs.max));
  using P = Params<tq::int2, tq::Asymmetric>;
  const tq::Range ours = best_range<P>(seen<tq::Histogram>(x));
  CHECK(true_mse<P>(sorted, ours) < 0.2 * true_mse<P>(sorted, theirs));
  CHECK(true_mse<P>(sorted, ours) <= 1.001 * brute_force<P>(sorted));
}

TEST_CASE("PyTorch's search takes its grid from the dtype, whatever quant_min and quant_max say",
          "[calibrate]") {
  // quint8 with quant_max 15: it looks for the best of 256 levels, and clips nearly nothing.
  const std::vector<float> x = distributions::draw(100000, 12, distributions::laplace);
  const distributions::Sorted sorted(x);
  const tq::Range theirs = torch_search(x, 256).range(),
                  ours = best_range<A4>(seen<tq::Histogram>(x));
  CHECK(theirs.max > 1.5f * ours.max);
  CHECK(true_mse<A4>(sorted, theirs) > 1.5 * true_mse<A4>(sorted, ours));
  CHECK(true_mse<A4>(sorted, ours) <= 1.001 * brute_force<A4>(sorted));
}

TEST_CASE("PyTorch's search does not extend its ranges to zero, as its parameters are afterwards",
          "[calibrate]") {
  // It takes 16 levels for [5, 7]; the levels of [0, 7] are 3.5 times as far apart, and clipping is
  // not worth as much.
  std::vector<float> x = distributions::draw(
      100000, 13, [](inputs::Random& r) { return 5 + 0.2 * std::fabs(r.normal()); });
  x.push_back(7.5f);
  const distributions::Sorted sorted(x);
  const auto torch = torch_search(x, 16);
  const tq::Range theirs = torch.range(), ours = best_range<A4>(seen<tq::Histogram>(x));
  CHECK(theirs.min >= 5);
  CHECK(true_mse<A4>(sorted, theirs) > 1.2 * true_mse<A4>(sorted, ours));
  CHECK(true_mse<A4>(sorted, ours) <= 1.001 * brute_force<A4>(sorted));
}

TEST_CASE("pytorch-quantization's candidates begin at bin 128", "[calibrate]") {
  // With one value far out the best threshold of 4 bits lies in the first 128 bins of 2048.
  std::vector<float> x = distributions::draw(100000, 14, distributions::normal);
  x.push_back(60.0f);
  const distributions::Sorted sorted(x);
  const float width = 60.0f / 2048;
  double theirs = std::numeric_limits<double>::infinity();
  for (int bin = 128; bin < 2048; ++bin) {
    const float centre = (static_cast<float>(bin) + 0.5f) * width;
    theirs = std::min(theirs, true_mse<S4>(sorted, {-centre, centre}));
  }
  const double ours = true_mse<S4>(sorted, best_range<S4>(seen<tq::Histogram>(x)));
  CHECK(theirs > 1.2 * ours);
  CHECK(ours <= 1.001 * brute_force<S4>(sorted));
}

TEST_CASE("rounding that is not to nearest has its own best range", "[calibrate]") {
  const std::vector<float> x = distributions::draw(100000, 15, distributions::normal);
  const auto histogram = seen<tq::Histogram>(x);
  const auto check = [&](auto rounding) {
    using N = tq::Numerics<decltype(rounding)>;
    const auto error = [&](tq::Range r) {
      const tq::Affine a = tq::fit_affine<S4, N>(r);
      double sum = 0;
      for (const float v : x) {
        const double code = std::clamp(static_cast<double>(rounding(v / a.scale, 0)), -8.0, 7.0);
        sum += std::pow(static_cast<double>(v) - code * static_cast<double>(a.scale), 2);
      }
      return sum;
    };
    double least = std::numeric_limits<double>::infinity();
    for (int i = 1; i <= 200; ++i) {
      const float t = histogram.range().max * static_cast<float>(i) / 200;
      least = std::min(least, error({-t, t}));
    }
    const double ours = error(tq::MseCalibrator{}.range<S4, N>(histogram));
    INFO(rounding.name);
    CHECK(ours <= 1.001 * least);
    return tq::MseCalibrator{}.range<S4, N>(histogram);
  };
  CHECK(check(tq::HalfAway{}) == best_range<S4>(histogram));
  CHECK(check(tq::Floor{}) != best_range<S4>(histogram));
  CHECK(check(tq::TowardZero{}) != best_range<S4>(histogram));
  CHECK(tq::MseCalibrator{}.range<S4, tq::Numerics<tq::Stochastic>>(histogram) ==
        best_range<S4>(histogram));
}

TEST_CASE("formats that do not saturate are not clipped into NaN", "[calibrate]") {
  using P = Params<tq::float8_e4m3fn, tq::Symmetric>;
  const std::vector<float> x = distributions::draw(100000, 16, distributions::student);
  const auto histogram = seen<tq::Histogram>(x);
  const tq::Range r = tq::MseCalibrator{}.range<P, tq::numerics::torch>(histogram);
  const float scale = tq::fit_affine<P, tq::numerics::torch>(r).scale;
  for (const float v : {histogram.range().min, histogram.range().max})
    CHECK(std::isfinite(
        P::type::format::decode(P::type::format::encode<tq::NonSaturate>(v * (1.0f / scale)))));
}

TEST_CASE("scales that raise are not tried", "[calibrate]") {
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleRaises>;
  std::vector<float> x{1.1e-36f};  // a hundredth of it has no usable scale
  for (int i = 0; i < 1000; ++i) x.push_back(1e-40f * static_cast<float>(i % 7));
  const tq::Range r = tq::MseCalibrator{}.range<S8, Raises>(seen<tq::Histogram>(x));
  CHECK(tq::fit_affine<S8, Raises>(r).scale > 0);
}

TEST_CASE("the mean squared error calibrator on hard data", "[calibrate]") {
  edge_cases::check<tq::Histogram>(tq::MseCalibrator{});
  edge_cases::check<tq::AbsHistogram>(tq::MseCalibrator{});
  edge_cases::check_million<tq::Histogram>(tq::MseCalibrator{});
}

TEST_CASE("values that were kept count as they are", "[calibrate]") {
  for (const distributions::Data& data : distributions::all(4000)) {
    const distributions::Sorted sorted(data.x);
    const auto check = [&]<class P>() {
      const auto kept = seen<tq::Percentile>(data.x);
      const double ours = true_mse<P>(sorted, best_range<P>(kept)), least = brute_force<P>(sorted);
      INFO(data.name << ", " << P::type::name << " " << P::symmetry_type::name << ": "
                     << 100 * (ours / least - 1) << " % above " << least);
      CHECK(ours <= 1.001 * least);
    };
    check.operator()<S4>();
    check.operator()<A4>();
  }
  edge_cases::check<tq::Percentile>(tq::MseCalibrator{});
}

TEST_CASE("per channel, through an observer", "[calibrate]") {
  using W = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>;
  std::vector<float> x = distributions::draw(20000, 17, distributions::laplace);
  for (std::size_t i = 10000; i < 20000; ++i) x[i] *= 8;
  tq::Observer<tq::Histogram, tq::PerChannel<0>> observer;
  observer.observe({x.data(), {2, 10000}});
  const W p = tq::calibrate<W>(observer, tq::MseCalibrator{});
  for (std::size_t row = 0; row < 2; ++row) {
    const distributions::Sorted sorted(
        {x.begin() + static_cast<std::ptrdiff_t>(10000 * row),
         x.begin() + static_cast<std::ptrdiff_t>(10000 * (row + 1))});
    CHECK(sorted.mse(p.affine(row), -8, 7) <= 1.002 * brute_force<S4>(sorted));
  }
}
