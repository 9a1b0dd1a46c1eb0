// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ptq/hqq.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/layer.hpp"

namespace {

using ptq_test::Layer;
constexpr std::size_t group = 12;
using W3 = tq::QuantParams<tq::uint3, tq::PerGroup<group>, tq::FloatOffset>;
using Half = tq::QuantParams<tq::uint3, tq::PerGroup<group>, tq::FloatOffset, tq::float16>;

// Sums of magnitudes of errors, by groups: of 12 and 5 columns.
std::vector<double> group_errors(const Layer& l, const std::vector<float>& values) {
  std::vector<double> out(l.outputs * 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i / l.columns * 2 + i % l.columns / group] +=
        std::fabs(static_cast<double>(l.w[i]) - static_cast<double>(values[i]));
  return out;
}
double sum(const std::vector<double>& v) {
  double s = 0;
  for (const double x : v) s += x;
  return s;
}

template <class Params>
void check_errors(unsigned seed) {
  const Layer l(30, 17, seed);
  const auto by_range =
      group_errors(l, tq::fake_quantize(l.view(), tq::calibrate<Params>(l.view())));
  const auto q = tq::hqq<Params>(l.view());
  const auto best = group_errors(l, tq::dequantize(q));
  for (std::size_t g = 0; g < best.size(); ++g) CHECK(best[g] <= by_range[g]);
  CHECK(sum(best) < 0.98 * sum(by_range));
  const auto last = tq::hqq<Params>(l.view(), {.keep_last = true});
  CHECK(sum(best) < sum(group_errors(l, tq::dequantize(last))));
  CHECK(tq::hqq<Params>(l.view(), {}, {}, test::Threads{}) == q);
}

}  // namespace

TEST_CASE("offsets by half-quadratic splitting leave no group worse than its range does") {
  check_errors<W3>(1);
  check_errors<Half>(2);
}

TEST_CASE("the first offset is the one of the formula") {
  const Layer l(1, group, 3);
  const W3 start = tq::calibrate<W3>(l.view());
  const std::vector<float> values = tq::fake_quantize(l.view(), start);
  const double scale = start.scales()[0], zero = -static_cast<double>(start.offsets()[0]) / scale;
  // z = mean(q - (w - e) / s), as the authors write it.
  double next = 0;
  for (std::size_t i = 0; i < group; ++i) {
    const double w = l.w[i], code = std::round(static_cast<double>(values[i]) / scale + zero),
                 d = w - static_cast<double>(values[i]),
                 e = std::copysign(
                     std::max(std::fabs(d) - std::pow(std::fabs(d), 0.5 - 1) / 4, 0.0), d);
    next += (code - (w - e) / scale) / group;
  }
  const auto got =
      tq::hqq<W3>(l.view(), {.norm = 0.5, .penalty = 4, .iterations = 1, .keep_last = true});
  CHECK(std::fabs(-static_cast<double>(got.params().offsets()[0]) / scale - next) < 1e-5);
  CHECK(got.params().scales()[0] == start.scales()[0]);
  const auto none = tq::hqq<W3>(l.view(), {.iterations = 0});
  CHECK(none.params() == start);
}

TEST_CASE("constant groups are exact, and columns without importance count nothing") {
  Layer l(2, group, 5);
  std::fill_n(l.w.begin(), group, 0.1f);
  std::vector<double> importances(group, 1.0);
  importances[7] = 0;
  const auto q = tq::hqq<W3>(l.view(), {.importances = importances});
  const std::vector<float> values = tq::dequantize(q);
  CHECK((std::vector<float>(values.begin(), values.begin() + group) ==
         std::vector<float>(group, 0.1f)));
  CHECK(tq::hqq<W3>(l.view(), {.importances = std::vector<double>(group, 0.0)}).params() ==
        tq::calibrate<W3>(l.view()));
}

TEST_CASE("half-quadratic quantization refuses options and weights out of their domain") {
  using test::raises;
  Layer l(2, group, 7);
  const auto refuse = [&](tq::errc code, const char* text, const tq::HqqOptions& options) {
    raises(code, {text}, [&] { static_cast<void>(tq::hqq<W3>(l.view(), options)); });
  };
  refuse(tq::errc::bad_argument, "a norm above 0 and at most 1, got 2", {.norm = 2});
  refuse(tq::errc::bad_argument, "a penalty above 0", {.penalty = 0});
  refuse(tq::errc::bad_argument, "a growth of 1 to 2", {.growth = 0.5});
  refuse(tq::errc::shape_mismatch, "importances of 12 inputs, got 3",
         {.importances = std::vector<double>(3, 1.0)});
  l.w[13] = std::nanf("");
  refuse(tq::errc::not_finite, "row 1 and column 1", {});
  raises(tq::errc::shape_mismatch, {"[outputs, inputs]"},
         [&] { static_cast<void>(tq::hqq<W3>(tq::ConstTensorView(l.w.data(), {24}))); });
}
