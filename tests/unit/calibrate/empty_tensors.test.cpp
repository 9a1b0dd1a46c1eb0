// SPDX-License-Identifier: MIT
// Tensors without elements: every operation takes them, and the parameters they have are those of
// zeros.
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/entropy.hpp>
#include <tq/calibrate/mean_abs.hpp>
#include <tq/calibrate/mean_std.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/calibrate/percentile.hpp>
#include <tq/core/formats.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/percentile.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace {

using tq::ConstTensorView;
using tq::Shape;
using B = tq::backend::native<tq::arch::scalar>;

const std::vector<Shape> shapes{{0, 6}, {6, 0}, {3, 0, 4}, {0, 2, 32}, {0, 0}};

template <class P>
void all_operations(const Shape& shape) {
  const ConstTensorView none(nullptr, shape);
  INFO(to_string(shape));
  const auto params = tq::calibrate<P>(none, tq::on<B>);
  const std::size_t count = tq::param_count(params.granularity(), shape);
  REQUIRE(params.scales().size() == count);
  const float zero = 0;
  const auto of_zeros =
      tq::calibrate<tq::QuantParams<typename P::type, tq::PerTensor, typename P::symmetry_type>>(
          ConstTensorView(&zero, {1, 1}), tq::on<B>);
  if constexpr (std::is_same_v<typename P::scale_type, float>)
    for (const float s : params.scales()) CHECK(s == of_zeros.scales()[0]);
  if constexpr (P::has_zero_point)
    for (const std::int32_t z : params.zero_points()) CHECK(z == of_zeros.zero_points()[0]);
  const auto q = tq::quantize(none, params, tq::on<B>);
  CHECK(q.bytes().empty());
  CHECK(tq::dequantize(q, tq::on<B>).empty());
  CHECK(tq::fake_quantize(none, params, tq::on<B>).empty());
  CHECK(tq::compare(none, none).count == 0);
  const auto dynamic = tq::quantize_dynamic<P>(none, tq::on<B>);
  CHECK(dynamic.bytes().empty());
  CHECK(std::ranges::equal(dynamic.params().scales(), params.scales()));
}

template <class T, class S, class Scale = float>
void all_granularities() {
  for (const Shape& shape : shapes) {
    all_operations<tq::QuantParams<T, tq::PerTensor, S, Scale>>(shape);
    all_operations<tq::QuantParams<T, tq::PerChannel<0>, S, Scale>>(shape);
    all_operations<tq::QuantParams<T, tq::PerGroup<2, -1>, S, Scale>>(shape);
    all_operations<tq::QuantParams<T, tq::PerToken, S, Scale>>(shape);
    all_operations<tq::QuantParams<T, tq::PerBlock<2, 2>, S, Scale>>(shape);
  }
}

template <class P, class Acc, class C>
void calibrated(const C& calibrator) {
  for (const Shape& shape : shapes) {
    const ConstTensorView none(nullptr, shape);
    INFO(to_string(shape));
    CHECK(tq::calibrate<P, Acc>(none, calibrator, tq::on<B>) == tq::calibrate<P>(none, tq::on<B>));
  }
}

}  // namespace

TEST_CASE("every operation takes tensors without elements", "[calibrate]") {
  all_granularities<tq::int8, tq::Symmetric>();
  all_granularities<tq::uint4, tq::Asymmetric>();
  all_granularities<tq::nf4, tq::Symmetric>();
  all_granularities<tq::float4_e2m1fn, tq::Symmetric, tq::float8_e8m0fnu>();
}

TEST_CASE("parameters of no elements do not depend on the calibrator", "[calibrate]") {
  using A8 = tq::QuantParams<tq::uint8, tq::PerChannel<0>, tq::Asymmetric>;
  calibrated<A8, tq::MinMax>(tq::MinMaxCalibrator{});
  calibrated<A8, tq::MeanStd>(tq::MeanStdCalibrator{});
  calibrated<A8, tq::Percentile>(tq::PercentileCalibrator{});
  calibrated<A8, tq::Histogram>(tq::MseCalibrator{});
  calibrated<A8, tq::Histogram>(tq::EntropyCalibrator{});
  calibrated<tq::QuantParams<tq::ternary, tq::PerChannel<0>, tq::Symmetric>, tq::MeanAbs>(
      tq::MeanAbsCalibrator{});
}
