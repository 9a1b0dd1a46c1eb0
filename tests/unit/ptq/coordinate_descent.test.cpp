// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ptq/coordinate_descent.hpp>
#include <tq/ptq/float_hessian.hpp>
#include <tq/ptq/gptq.hpp>

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

constexpr std::size_t outputs = 50, columns = 17;
using W3 = tq::QuantParams<tq::uint3, tq::PerGroup<7>, tq::Asymmetric>;

struct Layer {
  std::vector<float> w = std::vector<float>(outputs * columns);
  tq::FloatHessian h{columns};

  explicit Layer(unsigned seed) {
    inputs::Random r(seed);
    for (float& v : w) v = static_cast<float>(r.normal());
    const std::vector<float> x = ptq_test::activations(100, columns, seed + 1);
    h.add(tq::ConstTensorView(x.data(), {100, columns}));
  }
  [[nodiscard]] tq::ConstTensorView view() const { return {w.data(), {outputs, columns}}; }

  [[nodiscard]] double row_loss(std::size_t r, const std::vector<float>& values,
                                double lambda) const {
    double loss = 0;
    const auto e = [&](std::size_t i) {
      return static_cast<double>(w[r * columns + i]) - static_cast<double>(values[r * columns + i]);
    };
    for (std::size_t i = 0; i < columns; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        loss += e(i) * (h(i, j) + (i == j ? lambda : 0.0)) * e(j);
    return loss;
  }
};

// The values after sweeps by the definition: every element to the value of a code that leaves the
// least loss. `tables` are the values of each code at all elements.
std::vector<float> by_definition(const Layer& l, std::vector<float> values,
                                 const std::vector<std::vector<float>>& tables,
                                 const tq::HessianFactor& f, int sweeps) {
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (const std::uint32_t c : f.order())
      for (std::size_t r = 0; r < outputs; ++r) {
        const std::size_t at = r * columns + c;
        float best = values[at];
        double least = l.row_loss(r, values, f.damping_used());
        for (const auto& t : tables) {
          values[at] = t[at];
          const double loss = l.row_loss(r, values, f.damping_used());
          if (loss < least) least = loss, best = t[at];
        }
        values[at] = best;
      }
  return values;
}

template <class Params>
std::vector<std::vector<float>> tables_of(const Layer& l, const Params& params) {
  std::vector<std::vector<float>> tables;
  for (int code = 0; code < 1 << Params::type::bits; ++code) {
    const std::vector<typename Params::code_type> codes(
        l.w.size(), static_cast<typename Params::code_type>(code));
    tables.emplace_back(l.w.size());
    tq::dequantize(codes, params, tq::TensorView<float>(tables.back().data(), l.view().shape()));
  }
  return tables;
}

template <class Params>
void check_descent(unsigned seed) {
  const Layer l(seed);
  const tq::HessianFactor f = tq::factor(l.h);
  const Params params = tq::calibrate<Params>(l.view());
  const auto tables = tables_of(l, params);
  const tq::QuantizedTensor<Params> rounded = tq::quantize(l.view(), params);
  tq::QuantizedTensor<Params> q = rounded;
  const tq::DescentResult got = tq::coordinate_descent(l.view(), l.h, f, q, {.sweeps = 2});
  const std::vector<float> values = tq::dequantize(q);
  CHECK((values == by_definition(l, tq::dequantize(rounded), tables, f, 2)));
  double damped = 0, before = 0, loss = 0;
  for (std::size_t r = 0; r < outputs; ++r) {
    damped += l.row_loss(r, values, f.damping_used());
    before += l.row_loss(r, tq::dequantize(rounded), f.damping_used());
    loss += l.row_loss(r, values, 0);
  }
  CHECK(std::fabs(got.damped_loss - damped) < 1e-9 * damped);
  CHECK(std::fabs(got.damped_loss_before - before) < 1e-9 * before);
  CHECK(std::fabs(got.loss - loss) < 1e-9 * before);
  CHECK(got.damped_loss < 0.6 * got.damped_loss_before);
  CHECK(got.changed.size() == 2);
  CHECK(got.changed[0] > got.changed[1]);

  tq::QuantizedTensor<Params> threads = rounded, scalar = rounded;
  tq::coordinate_descent(l.view(), l.h, f, threads, {.sweeps = 2}, test::Threads{});
  tq::coordinate_descent<tq::backend::native<tq::arch::scalar>, tq::arch::scalar>(
      l.view(), l.h, f, scalar, {.sweeps = 2});
  CHECK(threads == q);
  CHECK(scalar == q);

  // Until nothing changes: then no code by itself is better.
  CHECK(tq::coordinate_descent(l.view(), l.h, f, q, {.sweeps = 100}).changed.back() == 0);
  const std::vector<float> last = tq::dequantize(q);
  CHECK((last == by_definition(l, last, tables, f, 1)));
}

}  // namespace

TEST_CASE("coordinate descent changes codes to the best while the others stay") {
  check_descent<W3>(1);
  check_descent<tq::QuantParams<tq::float4_e2m1fn, tq::PerGroup<16>, tq::Symmetric>>(2);
  check_descent<tq::nvfp4>(3);
}

TEST_CASE("coordinate descent goes on from error feedback") {
  const Layer l(5);
  const tq::HessianFactor f = tq::factor(l.h);
  auto result = tq::gptq(l.view(), f, tq::calibrate<W3>(l.view()));
  const tq::DescentResult got = tq::coordinate_descent(l.view(), l.h, f, result.tensor);
  CHECK(std::fabs(got.damped_loss_before - result.damped_loss) < 1e-6 * result.damped_loss);
  CHECK(got.damped_loss < got.damped_loss_before);
  CHECK(tq::coordinate_descent(l.view(), l.h, f, result.tensor, {.sweeps = 0}).changed.empty());
}

TEST_CASE("coordinate descent refuses what does not fit, and changes nothing then") {
  using test::raises;
  Layer l(7);
  const tq::HessianFactor f = tq::factor(l.h);
  tq::QuantizedTensor<W3> q = tq::quantize(l.view(), tq::calibrate<W3>(l.view()));
  const tq::QuantizedTensor<W3> before = q;
  raises(tq::errc::shape_mismatch, {"expected codes of shape [49, 17], got [50, 17]"},
         [&] { tq::coordinate_descent(l.view().slice(0, 0, 49), l.h, f, q); });
  raises(tq::errc::shape_mismatch, {"[outputs, 17]"},
         [&] { tq::coordinate_descent(l.view().slice(1, 0, 9), l.h, f, q); });
  const std::vector<float> x = ptq_test::activations(9, 3, 1);
  tq::FloatHessian other(3);
  other.add(tq::ConstTensorView(x.data(), {9, 3}));
  raises(tq::errc::shape_mismatch, {"a factor of 17 inputs, got 3"},
         [&] { tq::coordinate_descent(l.view(), l.h, tq::factor(other), q); });
  l.w[18] = std::numeric_limits<float>::infinity();
  raises(tq::errc::not_finite, {"tq::coordinate_descent", "row 1 and column 1"},
         [&] { tq::coordinate_descent(l.view(), l.h, f, q); });
  CHECK(q == before);
}
