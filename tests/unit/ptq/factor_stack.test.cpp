// SPDX-License-Identifier: MIT
// Grouped layers, group by group: their factors, error feedback, descent, scales and schemes.
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/coordinate_descent.hpp>
#include <tq/ptq/encode_weights.hpp>
#include <tq/ptq/factor_stack.hpp>
#include <tq/ptq/gptq.hpp>
#include <tq/ptq/weighted_search.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"
#include "unit/ptq/activations.hpp"

namespace {

using Channel = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>;
using Lines = tq::QuantParams<tq::uint4, tq::PerGroup<3>, tq::Asymmetric>;
using One = tq::QuantParams<tq::int3, tq::PerTensor, tq::Symmetric>;

// Filters [outputs, channels of a group, 3, 3] and the Hessians of their inputs.
struct Filters {
  std::size_t groups, outputs, channels, inputs = channels * 9;  // outputs: of a group
  std::vector<float> w;
  tq::HessianStack<tq::FloatHessian> h;

  Filters(std::size_t of, std::size_t rows, std::size_t width, unsigned seed, bool dead = false)
      : groups(of), outputs(rows), channels(width), w(of * rows * inputs), h(of, inputs) {
    inputs::Random r(seed);
    for (float& v : w) v = static_cast<float>(r.normal());
    std::vector<float> x = ptq_test::activations(80, of * inputs, seed + 1);
    if (dead)
      for (std::size_t t = 0; t < 80; ++t)
        std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(t * of * inputs + inputs), inputs,
                    0.0f);  // of group 1
    h.add(tq::ConstTensorView(x.data(), {80, of * inputs}));
  }
  [[nodiscard]] tq::ConstTensorView view() const {
    return {w.data(), {groups * outputs, channels, 3, 3}};
  }
  // The weights of a group as a matrix.
  [[nodiscard]] tq::ConstTensorView matrix(std::size_t g) const {
    return {w.data() + g * outputs * inputs, {outputs, inputs}};
  }
};

template <class Params>
bool same_codes(const Filters& l, const tq::QuantizedTensor<Params>& all, std::size_t g,
                const tq::QuantizedTensor<Params>& own) {
  const auto a = tq::dequantize(all), b = tq::dequantize(own);
  return std::equal(b.begin(), b.end(),
                    a.begin() + static_cast<std::ptrdiff_t>(g * l.outputs * l.inputs));
}

template <class Params>
void check_groups(const Filters& l) {
  const tq::FactorOptions options{.order = tq::ByGroup{3}};
  const tq::FactorStack factors = tq::factor(l.h, options, test::Threads{2});
  const tq::WeightedSearch search(l.h);
  auto all = tq::gptq(l.view(), factors, tq::calibrate<Params>(l.view(), search), test::Threads{3});
  CHECK(all.loss <= all.loss_of_rounding);
  double loss = 0, rounding = 0;
  std::vector<tq::QuantizedTensor<Params>> own;
  for (std::size_t g = 0; g < l.groups; ++g) {
    const tq::HessianFactor factor = tq::factor(l.h[g], options);
    auto result = tq::gptq(l.matrix(g), factor,
                           tq::calibrate<Params>(l.matrix(g), tq::WeightedSearch(l.h[g])));
    CHECK(factors[g].damping_used() == factor.damping_used());
    CHECK(same_codes(l, all.tensor, g, result.tensor));
    loss += result.loss;
    rounding += result.loss_of_rounding;
    own.push_back(std::move(result.tensor));
  }
  CHECK(all.loss == Approx(loss));
  CHECK(all.loss_of_rounding == Approx(rounding));
  const tq::DescentResult after =
      tq::coordinate_descent(l.view(), l.h, factors, all.tensor, {}, test::Threads{2});
  CHECK(after.damped_loss <= after.damped_loss_before);
  for (std::size_t g = 0; g < l.groups; ++g) {
    tq::coordinate_descent(l.matrix(g), l.h[g], tq::factor(l.h[g], options), own[g]);
    CHECK(same_codes(l, all.tensor, g, own[g]));
  }
}

}  // namespace

TEST_CASE("codes of a grouped layer are those of its groups by themselves") {
  SECTION("depthwise") {
    check_groups<Channel>({6, 1, 1, 21});
    check_groups<Lines>({6, 1, 1, 22});
  }
  SECTION("depthwise with two outputs a channel") { check_groups<Lines>({3, 2, 1, 23}); }
  SECTION("groups of channels") { check_groups<Channel>({2, 5, 3, 24}); }
  SECTION("one group, as of a plain convolution") { check_groups<Lines>({1, 50, 4, 25}); }
}

TEST_CASE("parameters of a grouped layer may be shared by groups") {
  const Filters l(4, 2, 2, 31);
  const One params = tq::calibrate<One>(l.view());
  const tq::FactorStack factors = tq::factor(l.h);
  const auto all = tq::gptq(l.view(), factors, params);
  CHECK(all.loss < all.loss_of_rounding);
  CHECK(all.tensor.shape() == l.view().shape());
  for (std::size_t g = 0; g < l.groups; ++g)
    CHECK(same_codes(l, all.tensor, g, tq::gptq(l.matrix(g), factors[g], params).tensor));
}

TEST_CASE("a group without inputs is rounded to nearest") {
  const Filters l(3, 2, 1, 41, true);
  const Channel params = tq::calibrate<Channel>(l.view(), tq::WeightedSearch(l.h));
  const tq::FactorStack factors = tq::factor(l.h);
  CHECK(factors[1].damping_used() == 1);
  CHECK(factors.dead_columns() == 10);  // with the last input of all
  const auto all = tq::gptq(l.view(), factors, params);
  const auto made = tq::dequantize(all.tensor),
             rounded = tq::dequantize(tq::quantize(l.view(), params));
  CHECK(std::equal(made.begin() + 18, made.begin() + 36, rounded.begin() + 18));

  const tq::HessianStack<tq::FloatHessian> empty(3, 9);
  test::raises(tq::errc::no_data, {"Hessian of tokens"}, [&] { (void)tq::factor(empty); });
  std::vector<float> zeros(80 * 27);
  tq::HessianStack<tq::FloatHessian> dead(3, 9);
  dead.add(tq::ConstTensorView(zeros.data(), {80, 27}));
  test::raises(tq::errc::no_data, {"not always 0"}, [&] { (void)tq::factor(dead); });
  test::raises(tq::errc::no_data, {"not always 0"}, [&] { (void)tq::WeightedSearch(dead); });
}

TEST_CASE("schemes that are values have the codes of static types on grouped layers") {
  const Filters l(4, 2, 1, 51);
  tq::QuantSpec spec{.type = "uint4"};
  spec.granularity = "per_group";
  spec.symmetry = "asymmetric";
  spec.group_size = 3;
  spec.axis = -1;
  using Types = tq::TypeList<tq::uint4>;
  const tq::EncodedWeights made = tq::encode_weights<Types>(
      l.view(), spec, l.h, {.name = "gptq", .order = "group"}, test::Threads{2});
  const tq::FactorStack factors = tq::factor(l.h, {.order = tq::ByGroup{3}});
  auto expected =
      tq::gptq(l.view(), factors, tq::calibrate<Lines>(l.view(), tq::WeightedSearch(l.h)));
  const double rounding = expected.loss_of_rounding;
  const auto after = tq::coordinate_descent(l.view(), l.h, factors, expected.tensor);
  CHECK(made.tensor.shape == l.view().shape());
  CHECK(std::ranges::equal(tq::decode<Types>(made.tensor), tq::dequantize(expected.tensor)));
  CHECK(made.report.loss == after.loss);
  CHECK(made.report.loss_of_rounding == rounding);
  CHECK(made.report.loss < rounding);
  CHECK(made.report.tokens == 80);

  const tq::EncodedWeights weighted =
      tq::encode_weights<Types>(l.view(), spec, l.h, {.name = "rtn-weighted"});
  CHECK(
      std::ranges::equal(tq::decode<Types>(weighted.tensor),
                         tq::dequantize(tq::quantize(
                             l.view(), tq::calibrate<Lines>(l.view(), tq::WeightedSearch(l.h))))));
}

TEST_CASE("weights of other groups are refused") {
  const Filters l(4, 2, 1, 61), other(3, 2, 1, 62);
  const tq::FactorStack factors = tq::factor(l.h);
  const auto params = tq::calibrate<One>(l.view());
  const auto refuses = [&](tq::Shape shape, const char* text) {
    test::raises(tq::errc::shape_mismatch, {"tq::gptq: ", "a multiple of 4", text},
                 [&] { (void)tq::gptq(tq::ConstTensorView(l.w.data(), shape), factors, params); });
  };
  refuses({6, 1, 3, 3}, "got [6, 1, 3, 3]");
  refuses({8, 1, 3, 2}, "got [8, 1, 3, 2]");
  refuses({8}, "got [8]");
  auto tensor = tq::quantize(l.view(), params);
  test::raises(tq::errc::shape_mismatch, {"factors of 4 groups of 9 inputs, got 3 of 9"},
               [&] { tq::coordinate_descent(l.view(), l.h, tq::factor(other.h), tensor); });
}
