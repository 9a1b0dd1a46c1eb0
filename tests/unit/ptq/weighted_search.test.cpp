// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/ptq/gptq.hpp>
#include <tq/ptq/weighted_search.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

namespace {

constexpr std::size_t outputs = 9, columns = 50;

struct Weights {
  std::vector<float> w = std::vector<float>(outputs * columns);
  std::vector<double> importances = std::vector<double>(columns);

  explicit Weights(unsigned seed) {
    inputs::Random r(seed);
    for (float& v : w) v = static_cast<float>(r.normal());
    for (double& v : importances) v = std::exp2(r.between(-6, 6));
    for (std::size_t c = 0; c < columns; ++c) w[3 * columns + c] = 0;
  }
  [[nodiscard]] tq::ConstTensorView view() const { return {w.data(), {outputs, columns}}; }
};

// The weighted errors of all blocks of 16 columns.
template <class Params>
std::vector<double> errors(const Weights& x, const Params& params) {
  const std::vector<float> values = tq::dequantize(tq::quantize(x.view(), params));
  std::vector<double> out(outputs * 4);
  for (std::size_t r = 0; r < outputs; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const double e =
          static_cast<double>(x.w[r * columns + c]) - static_cast<double>(values[r * columns + c]);
      out[r * 4 + c / 16] += x.importances[c] * e * e;
    }
  return out;
}

double sum(const std::vector<double>& v) {
  double out = 0;
  for (const double e : v) out += e;
  return out;
}

template <class Params>
double gain(unsigned seed) {
  const Weights x(seed);
  const tq::WeightedSearch search(x.importances);
  const Params best = tq::calibrate<Params>(x.view(), search);
  CHECK(tq::calibrate<Params>(x.view(), search, typename Params::granularity_type{},
                              test::Threads{}) == best);
  const std::vector<double> by_range = errors(x, tq::calibrate<Params>(x.view())),
                            by_search = errors(x, best);
  for (std::size_t i = 0; i < by_range.size(); ++i) CHECK(by_search[i] <= by_range[i]);
  return sum(by_search) / sum(by_range);
}

}  // namespace

TEST_CASE("a weighted search leaves no block a larger error than its range does") {
  using tq::QuantParams;
  using Groups = tq::PerGroup<16>;
  for (unsigned seed = 1; seed < 4; ++seed) {
    CHECK(gain<QuantParams<tq::int3, Groups, tq::Symmetric>>(seed) < 0.8);
    CHECK(gain<QuantParams<tq::uint3, Groups, tq::Asymmetric>>(seed) < 0.7);
    CHECK(gain<QuantParams<tq::uint2, Groups, tq::FloatOffset, tq::float16>>(seed) < 0.7);
    CHECK(gain<QuantParams<tq::int4, Groups, tq::Symmetric, tq::float16>>(seed) < 0.9);
    CHECK(gain<QuantParams<tq::nf4, Groups, tq::Symmetric>>(seed) < 0.9);
    CHECK(gain<QuantParams<tq::float4_e2m1fn, Groups, tq::Symmetric, tq::float8_e8m0fnu>>(seed) <
          1.0);
    CHECK(gain<tq::nvfp4>(seed) < 0.85);
  }
}

TEST_CASE("the scale that is found is nearly the best of all") {
  const Weights x(7);
  using Params = tq::QuantParams<tq::int3, tq::PerGroup<16>, tq::Symmetric>;
  const tq::WeightedSearch search(x.importances);
  const std::vector<double> found = errors(x, tq::calibrate<Params>(x.view(), search));
  std::vector<double> least(found.size(), std::numeric_limits<double>::infinity());
  for (int i = 1; i <= 4000; ++i) {
    const std::vector<double> e =
        errors(x, Params({}, std::vector<float>(found.size(), static_cast<float>(i) / 2000.0f)));
    for (std::size_t k = 0; k < e.size(); ++k) least[k] = std::min(least[k], e[k]);
  }
  CHECK(sum(found) < 1.03 * sum(least));
}

TEST_CASE("all codes of E4M3 around that of the range are tried") {
  const Weights x(8);
  const tq::nvfp4 start = tq::calibrate<tq::nvfp4>(x.view()),
                  found = tq::calibrate<tq::nvfp4>(x.view(), tq::WeightedSearch(x.importances));
  const auto codes = start.stored_scales().stored();
  const float tensor_scale = start.stored_scales().tensor_scale();
  CHECK(found.stored_scales().tensor_scale() == tensor_scale);
  std::vector<double> least = errors(x, start);
  for (int move = -10; move <= 4; ++move) {
    std::vector<std::uint8_t> moved(codes.begin(), codes.end());
    for (std::uint8_t& c : moved)
      if (c != 0) c = static_cast<std::uint8_t>(std::clamp(c + move, 1, 0x7e));
    const std::vector<double> e =
        errors(x, tq::nvfp4({}, tq::Scales<tq::nvfp4::scale_type>(moved, tensor_scale)));
    for (std::size_t k = 0; k < e.size(); ++k) least[k] = std::min(least[k], e[k]);
  }
  CHECK(errors(x, found) == least);
}

TEST_CASE("searched scales and error feedback go together") {
  Weights x(9);
  const std::vector<float> a = ptq_test::activations(300, columns, 41);
  tq::FloatHessian h(columns);
  h.add(tq::ConstTensorView(a.data(), {300, columns}));
  const tq::HessianFactor f = tq::factor(h);
  using Params = tq::QuantParams<tq::uint3, tq::PerGroup<16>, tq::Asymmetric>;
  const auto by_range = tq::gptq(x.view(), f, tq::calibrate<Params>(x.view()));
  const auto by_search =
      tq::gptq(x.view(), f, tq::calibrate<Params>(x.view(), tq::WeightedSearch(h)));
  CHECK(by_search.loss < 0.9 * by_range.loss);
}

TEST_CASE("a weighted search refuses what does not fit") {
  using test::raises;
  using Params = tq::QuantParams<tq::uint3, tq::PerGroup<16>, tq::Asymmetric>;
  Weights x(10);
  raises(tq::errc::bad_argument, {"importances", "input 1"},
         [] { tq::WeightedSearch search(std::vector<double>{1, -1}); });
  raises(tq::errc::no_data, {"Hessian of tokens"},
         [] { tq::WeightedSearch search{tq::FloatHessian(3)}; });
  const tq::WeightedSearch other(std::vector<double>(4, 1.0));
  raises(tq::errc::shape_mismatch, {"[outputs, 4]"},
         [&] { static_cast<void>(tq::calibrate<Params>(x.view(), other)); });
  x.w[51] = std::numeric_limits<float>::quiet_NaN();
  raises(tq::errc::not_finite, {"row 1 and column 1"}, [&] {
    static_cast<void>(tq::calibrate<Params>(x.view(), tq::WeightedSearch(x.importances)));
  });
}
