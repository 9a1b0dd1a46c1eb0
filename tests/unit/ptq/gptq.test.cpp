// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/fit_params.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/ptq/gptq.hpp>

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

using W4 = tq::QuantParams<tq::uint4, tq::PerGroup<20>, tq::Asymmetric>;
using W3 = tq::QuantParams<tq::int3, tq::PerChannel<0>, tq::Symmetric>;

struct Layer {
  std::size_t outputs, inputs;
  std::vector<float> w;
  tq::FloatHessian h;

  Layer(std::size_t m, std::size_t n, std::size_t tokens, unsigned seed)
      : outputs(m), inputs(n), w(m * n), h(n) {
    inputs::Random r(seed);
    for (float& v : w) v = static_cast<float>(r.between(-30000, 30000)) / 16384.0f;
    const std::vector<float> x = ptq_test::activations(tokens, n, seed + 1, n > 1);
    h.add(tq::ConstTensorView(x.data(), {tokens, n}));
  }
  [[nodiscard]] tq::ConstTensorView view() const { return {w.data(), {outputs, inputs}}; }
};

tq::FloatHessian identity(std::size_t n) {
  std::vector<double> sums;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) sums.push_back(i == j ? 64.0 : 0.0);
  return tq::FloatHessian::from_state({n, 64, 0, sums});
}

double row_loss(const Layer& l, std::size_t r, const std::vector<float>& values, double lambda) {
  double loss = 0;
  const auto e = [&](std::size_t i) {
    return static_cast<double>(l.w[r * l.inputs + i]) -
           static_cast<double>(values[r * l.inputs + i]);
  };
  for (std::size_t i = 0; i < l.inputs; ++i)
    for (std::size_t j = 0; j < l.inputs; ++j)
      loss += e(i) * (l.h(i, j) + (i == j ? lambda : 0.0)) * e(j);
  return loss;
}

bool same_row(const Layer& l, std::size_t r, const std::vector<float>& a,
              const std::vector<float>& b) {
  const auto first = static_cast<std::ptrdiff_t>(r * l.inputs);
  return std::equal(a.begin() + first, a.begin() + first + static_cast<std::ptrdiff_t>(l.inputs),
                    b.begin() + first);
}

// The algorithm as its paper has it: the Cholesky factor of the inverse, and columns updated after
// each other. Calls begin(place, current weights) before each column is rounded, and
// value(row, column, v) for the value of the code nearest to v.
template <class Begin, class Value>
std::vector<float> by_inverse(const Layer& l, const tq::HessianFactor& f, const Begin& begin,
                              const Value& value) {
  using Real = long double;
  const std::size_t n = l.inputs;
  std::vector<Real> a(n * n), inverse(n * n), t(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    inverse[i * n + i] = 1;
    for (std::size_t j = 0; j < n; ++j)
      a[i * n + j] = Real{l.h(f.order()[i], f.order()[j])} + (i == j ? f.damping_used() : 0.0);
  }
  for (std::size_t k = 0; k < n; ++k) {  // positive definite: without an exchange of rows
    const Real pivot = a[k * n + k];
    for (std::size_t j = 0; j < n; ++j) a[k * n + j] /= pivot, inverse[k * n + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const Real factor = a[i * n + k];
      for (std::size_t j = 0; j < n; ++j) {
        a[i * n + j] -= factor * a[k * n + j];
        inverse[i * n + j] -= factor * inverse[k * n + j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i)  // inverse = t^T t
    for (std::size_t j = i; j < n; ++j) {
      Real s = inverse[i * n + j];
      for (std::size_t k = 0; k < i; ++k) s -= t[k * n + i] * t[k * n + j];
      t[i * n + j] = i == j ? std::sqrt(s) : s / t[i * n + i];
    }
  std::vector<Real> w(l.w.begin(), l.w.end());
  std::vector<float> out(l.w.size());
  for (std::size_t p = 0; p < n; ++p) {
    begin(p, w);
    for (std::size_t r = 0; r < l.outputs; ++r) {
      const std::size_t at = r * n + f.order()[p];
      out[at] = value(r, f.order()[p], static_cast<float>(w[at]));
      const Real error = (w[at] - Real{out[at]}) / t[p * n + p];
      for (std::size_t k = p; k < n; ++k) w[r * n + f.order()[k]] -= error * t[p * n + k];
    }
  }
  return out;
}

// The nearest of all values that codes of `params` have at an element.
template <class Params>
class Nearest {
 public:
  Nearest(const Layer& l, const Params& params) : inputs_(l.inputs) {
    for (int code = 0; code < 1 << Params::type::bits; ++code) {
      const int least = Params::codes.min < 0 ? Params::codes.min : 0;
      if (code + least > Params::codes.max && !tq::CodedParams<Params>) continue;
      const std::vector<typename Params::code_type> codes(
          l.w.size(), static_cast<typename Params::code_type>(code + least));
      std::vector<float> values(l.w.size());
      tq::dequantize(codes, params, tq::TensorView<float>(values.data(), l.view().shape()));
      tables_.push_back(values);
    }
  }
  float operator()(std::size_t r, std::size_t c, float v) const {
    float best = tables_[0][r * inputs_ + c];
    for (const auto& t : tables_)
      if (std::fabs(t[r * inputs_ + c] - v) < std::fabs(best - v)) best = t[r * inputs_ + c];
    return best;
  }

 private:
  std::size_t inputs_;
  std::vector<std::vector<float>> tables_;
};

const std::vector<tq::ColumnOrder> orders = {tq::NaturalOrder{}, tq::ByActivation{},
                                             tq::ByGroup{20}};

template <class Params>
void check_against_inverse(unsigned seed) {
  const Layer l(70, 45, 300, seed);
  const Params params = tq::calibrate<Params>(l.view());
  const Nearest<Params> nearest(l, params);
  for (const tq::ColumnOrder& order : orders) {
    const tq::HessianFactor f = tq::factor(l.h, {.order = order});
    const tq::GptqResult<Params> got = tq::gptq(l.view(), f, params);
    const auto nothing = [](std::size_t, const auto&) {};
    const std::vector<float> values = tq::dequantize(got.tensor),
                             rounded = tq::dequantize(tq::quantize(l.view(), params)),
                             expected = by_inverse(l, f, nothing, nearest);
    double loss = 0, damped = 0, loss_of_rounding = 0;
    std::size_t rounded_rows = 0;
    bool equal = true;
    for (std::size_t r = 0; r < l.outputs; ++r) {
      const bool worse = row_loss(l, r, expected, 0) > row_loss(l, r, rounded, 0);
      rounded_rows += worse;
      equal = equal && same_row(l, r, values, worse ? rounded : expected);
      loss += row_loss(l, r, values, 0);
      damped += row_loss(l, r, values, f.damping_used());
      loss_of_rounding += row_loss(l, r, rounded, 0);
    }
    CHECK(equal);
    CHECK(got.rounded_rows == rounded_rows);
    CHECK(std::fabs(got.loss - loss) < 1e-6 * loss);
    CHECK(std::fabs(got.damped_loss - damped) < 1e-6 * damped);
    CHECK(std::fabs(got.loss_of_rounding - loss_of_rounding) < 1e-6 * loss_of_rounding);
    CHECK(got.loss < 0.8 * got.loss_of_rounding);
    CHECK(got.dead_columns == 1);
    CHECK(got.tokens == 300);
    CHECK(got.damping == f.damping_used());
  }
}

}  // namespace

TEST_CASE("error feedback gives the codes of the Cholesky form in long double") {
  check_against_inverse<W4>(1);
  check_against_inverse<W3>(2);
  check_against_inverse<tq::mxfp4>(3);
  check_against_inverse<tq::nvfp4>(4);
  check_against_inverse<tq::QuantParams<tq::nf4, tq::PerGroup<20>, tq::Symmetric>>(5);
  check_against_inverse<tq::QuantParams<tq::uint4, tq::PerBlock<7, 9>, tq::Asymmetric>>(6);
  check_against_inverse<tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>>(7);
  check_against_inverse<tq::QuantParams<tq::uint4, tq::PerGroup<20>, tq::FloatOffset, tq::float16>>(
      8);
}

TEST_CASE("dynamic groups have the parameters of the best real weights") {
  const Layer l(67, 50, 300, 11);  // the last group has 10 columns
  const std::vector<float> rounded =
      tq::dequantize(tq::quantize(l.view(), tq::calibrate<W4>(l.view())));
  for (const tq::ColumnOrder& order : {orders[0], orders[2]}) {
    const tq::HessianFactor f = tq::factor(l.h, {.order = order});
    const tq::GptqResult<W4> got = tq::gptq<W4>(l.view(), f, tq::DynamicGroups{});
    std::vector<tq::Affine> grid(l.outputs * 3);
    const auto begin = [&](std::size_t place, const std::vector<long double>& w) {
      if (place % 20 != 0) return;
      const std::size_t group = f.order()[place] / 20;
      for (std::size_t r = 0; r < l.outputs; ++r) {
        tq::Range range{std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()};
        for (std::size_t c = 20 * group; c < std::min<std::size_t>(20 * group + 20, 50); ++c) {
          range.min = std::min(range.min, static_cast<float>(w[r * 50 + c]));
          range.max = std::max(range.max, static_cast<float>(w[r * 50 + c]));
        }
        grid[r * 3 + group] = tq::fit_affine<W4>(range);
      }
    };
    const auto value = [&](std::size_t r, std::size_t c, float v) {
      const tq::Affine a = grid[r * 3 + c / 20];
      const float code = std::nearbyint(v / a.scale) + static_cast<float>(a.zero_point);
      return (std::clamp(code, 0.0f, 15.0f) - static_cast<float>(a.zero_point)) * a.scale;
    };
    const std::vector<float> expected = by_inverse(l, f, begin, value),
                             values = tq::dequantize(got.tensor);
    double worst = 0;
    std::size_t rounded_rows = 0;
    for (std::size_t r = 0; r < l.outputs; ++r) {
      if (row_loss(l, r, expected, 0) > row_loss(l, r, rounded, 0)) {
        CHECK(same_row(l, r, values, rounded));
        ++rounded_rows;
        continue;
      }
      for (std::size_t i = 0; i < 50; ++i) {
        const tq::Affine a = got.tensor.params().affine(r * 3 + i / 20);
        CHECK(a.zero_point == grid[r * 3 + i / 20].zero_point);
        const double difference = static_cast<double>(values[r * 50 + i] - expected[r * 50 + i]);
        worst = std::max(worst, std::fabs(difference) / static_cast<double>(a.scale));
      }
    }
    CHECK(worst < 1e-4);  // other scales by float32's last digits, and the same codes
    CHECK(got.rounded_rows == rounded_rows);
    CHECK(got.loss < got.loss_of_rounding);
  }
}

TEST_CASE("without correlations, error feedback is rounding, bit for bit") {
  const Layer l(66, 41, 60, 13);
  for (const tq::ColumnOrder& order : orders) {
    const tq::HessianFactor f = tq::factor(identity(41), {.damping = 0.3, .order = order});
    const auto check = [&]<class Params>(const Params& params) {
      CHECK(tq::gptq(l.view(), f, params).tensor == tq::quantize(l.view(), params));
    };
    check(tq::calibrate<W4>(l.view()));
    check(tq::calibrate<tq::nvfp4>(l.view()));
    check(tq::calibrate<tq::mxfp4>(l.view()));
    if (order.index() == 1) continue;
    CHECK(tq::gptq<W4>(l.view(), f, tq::DynamicGroups{}).tensor ==
          tq::quantize(l.view(), tq::calibrate<W4>(l.view())));
    CHECK(tq::gptq<tq::mxfp4>(l.view(), tq::factor(identity(41), {.order = tq::NaturalOrder{}}),
                              tq::DynamicGroups{})
              .tensor == tq::quantize(l.view(), tq::calibrate<tq::mxfp4>(l.view())));
  }
}

TEST_CASE("threads, instructions, rows and types of weights do not show") {
  const Layer l(200, 75, 100, 17);
  const tq::HessianFactor f = tq::factor(l.h);
  const W4 params = tq::calibrate<W4>(l.view());
  const tq::GptqResult<W4> expected = tq::gptq(l.view(), f, params);
  const auto same = [&](const tq::GptqResult<W4>& got) {
    CHECK(got.tensor == expected.tensor);
    CHECK(got.loss == expected.loss);
    CHECK(got.damped_loss == expected.damped_loss);
  };
  same(tq::gptq(l.view(), f, params, test::Threads{}));
  same(tq::gptq(l.view(), f, params, test::Backwards{}));
  using scalar = tq::arch::scalar;
  same(tq::gptq<tq::backend::native<scalar>, scalar>(l.view(), f, params));
  const std::vector<double> wide(l.w.begin(), l.w.end());
  same(tq::gptq(tq::TensorView<const double>(wide.data(), {200, 75}), f, params));
  std::vector<float> turned(l.w.size());
  for (std::size_t r = 0; r < 200; ++r)
    for (std::size_t c = 0; c < 75; ++c) turned[c * 200 + r] = l.w[r * 75 + c];
  same(tq::gptq(tq::ConstTensorView(turned.data(), {75, 200}).transposed(), f, params));
  // One row by itself, and in other units.
  std::vector<float> row(l.w.begin() + 75 * 131, l.w.begin() + 75 * 132);
  for (float& v : row) v *= 0.125f;
  const tq::ConstTensorView one(row.data(), {1, 75});
  std::vector<float> values = tq::dequantize(tq::gptq(one, f, tq::calibrate<W4>(one)).tensor);
  for (float& v : values) v *= 8.0f;
  const std::vector<float> all = tq::dequantize(expected.tensor);
  CHECK(std::equal(values.begin(), values.end(), all.begin() + 75 * 131));
}

TEST_CASE("a row that feedback makes worse keeps its rounded codes, and a dead column always") {
  std::size_t kept = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    Layer l(64, 8, 40, 100 + seed);
    for (float& v : l.w) v = std::nearbyint(v * 8.0f) / 8.0f + 0.01f;  // little is to be gained
    const tq::HessianFactor f = tq::factor(l.h, {.damping = 3.0, .order = tq::NaturalOrder{}});
    const W3 params = tq::calibrate<W3>(l.view());
    const tq::GptqResult<W3> got = tq::gptq(l.view(), f, params);
    const std::vector<float> values = tq::dequantize(got.tensor),
                             rounded = tq::dequantize(tq::quantize(l.view(), params));
    std::size_t equal_rows = 0;
    for (std::size_t r = 0; r < 64; ++r) {
      const double loss = row_loss(l, r, values, 0), of_rounding = row_loss(l, r, rounded, 0);
      CHECK(loss <= of_rounding * (1 + 1e-6) + 1e-9);
      CHECK(values[r * 8 + 7] == rounded[r * 8 + 7]);
      equal_rows += std::equal(values.begin() + static_cast<std::ptrdiff_t>(8 * r),
                               values.begin() + static_cast<std::ptrdiff_t>(8 * r + 8),
                               rounded.begin() + static_cast<std::ptrdiff_t>(8 * r));
    }
    CHECK(got.rounded_rows <= equal_rows);
    CHECK(got.loss <= got.loss_of_rounding);
    kept += got.rounded_rows;
  }
  CHECK(kept > 0);
}

TEST_CASE("the smallest layers, and copies of columns") {
  const Layer tiny(1, 1, 1, 19);
  const W4 params = tq::calibrate<W4>(tiny.view());
  CHECK(tq::gptq(tiny.view(), tq::factor(tiny.h), params).tensor ==
        tq::quantize(tiny.view(), params));
  Layer l(10, 12, 50, 23);
  std::vector<float> x = ptq_test::activations(50, 12, 29, false);
  for (std::size_t t = 0; t < 50; ++t) x[t * 12 + 4] = x[t * 12 + 9];
  tq::FloatHessian h(12);
  h.add(tq::ConstTensorView(x.data(), {50, 12}));
  const auto got = tq::gptq(l.view(), tq::factor(h), tq::calibrate<W4>(l.view()));
  CHECK(std::isfinite(got.loss));
  CHECK(got.loss < got.loss_of_rounding);
  const std::vector<float> none;
  const tq::ConstTensorView empty(none.data(), {0, 12});
  CHECK(tq::gptq(empty, tq::factor(h), tq::calibrate<W4>(empty)).loss == 0);
}

TEST_CASE("error feedback refuses what does not fit") {
  using test::raises;
  Layer l(3, 40, 50, 31);
  const tq::HessianFactor f = tq::factor(l.h);
  const W4 params = tq::calibrate<W4>(l.view());
  raises(tq::errc::shape_mismatch, {"[outputs, 40]", "got [4, 30]"},
         [&] { static_cast<void>(tq::gptq(tq::ConstTensorView(l.w.data(), {4, 30}), f, params)); });
  raises(tq::errc::shape_mismatch, {"tq::gptq"},
         [&] { static_cast<void>(tq::gptq(tq::ConstTensorView(l.w.data(), {2, 40}), f, params)); });
  raises(tq::errc::bad_argument, {"tq::gptq", "comes back to group"},
         [&] { static_cast<void>(tq::gptq<W4>(l.view(), f, tq::DynamicGroups{})); });
  using Tiles = tq::QuantParams<tq::uint4, tq::PerBlock<2, 4>, tq::Asymmetric>;
  raises(tq::errc::bad_argument, {"one output", "per_block"},
         [&] { static_cast<void>(tq::gptq<Tiles>(l.view(), f, tq::DynamicGroups{})); });
  l.w[47] = std::numeric_limits<float>::infinity();
  raises(tq::errc::not_finite, {"row 1 and column 7"},
         [&] { static_cast<void>(tq::gptq(l.view(), f, params)); });
}
