// SPDX-License-Identifier: MIT
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                inf = std::numeric_limits<float>::infinity();

struct Twice {  // a calibrator of the user's own
  template <tq::AnyParams Params, tq::NumericsPolicy N, tq::RangeAccumulator Acc>
  [[nodiscard]] tq::Range range(const Acc& seen) const {
    return {2 * seen.range().min, 2 * seen.range().max};
  }
};
struct NeedsHistogram {
  template <tq::AnyParams Params, tq::NumericsPolicy N, tq::HistogramAccumulator Acc>
  [[nodiscard]] tq::Range range(const Acc& seen) const {
    return seen.range();
  }
};
static_assert(tq::CalibratorFor<tq::MinMaxCalibrator, tq::MinMax, W8>);
static_assert(tq::CalibratorFor<Twice, tq::MinMax, W8>);
static_assert(!tq::CalibratorFor<NeedsHistogram, tq::MinMax, W8>);

}  // namespace

TEST_CASE("parameters cover the range of every block", "[calibrate]") {
  const std::vector<float> x{1, -127, 3, nan_value, inf, 254};
  const W8 p = tq::calibrate<W8>(tq::ConstTensorView(x.data(), {2, 3}));
  CHECK(p == W8({}, {1.0f, 2.0f}));
  const A8 a = tq::calibrate<A8>(std::vector<float>{-55, 200});
  CHECK(a == A8(1.0f, 55));
  CHECK(tq::calibrate<A8>(std::vector<float>{0, 0}) == A8(1.0f, 0));
  using Groups = tq::QuantParams<tq::int4, tq::PerGroup<>, tq::Symmetric>;
  CHECK(tq::calibrate<Groups>(std::vector<float>{7, 0, -14}, tq::PerGroup<>(2)).scales()[1] ==
        2.0f);
}

TEST_CASE("an observer that saw the parts gives the parameters of the whole", "[calibrate]") {
  const std::vector<float> x = inputs::normals(1000, 1);
  tq::Observer<tq::MinMax> o;
  for (std::size_t i = 0; i < 1000; i += 100) o.observe(std::span(x).subspan(i, 100));
  CHECK(tq::calibrate<A8>(o) == tq::calibrate<A8>(x));
  CHECK(tq::calibrate<A8>(o, Twice{}).scales()[0] == 2 * tq::calibrate<A8>(x).scales()[0]);
  CHECK(tq::calibrate<A8>(o, tq::MinMaxCalibrator{}, tq::numerics::torch{}) ==
        tq::calibrate<A8>(o));
}

TEST_CASE("without data there are no parameters", "[calibrate]") {
  test::raises(tq::errc::no_data, {"tq::calibrate"},
               [] { (void)tq::calibrate<A8>(tq::Observer<tq::MinMax>{}); });
  test::raises(tq::errc::no_data, {"tq::calibrate", "slot 0 of 1"},
               [] { (void)tq::calibrate<A8>(std::vector<float>{nan_value, inf}); });
  tq::Observer<tq::MinMax, tq::PerChannel<0>> rows({}, {}, "relu1");
  rows.observe(tq::ConstTensorView(std::vector<float>{1, nan_value}.data(), {2, 1}));
  test::raises(tq::errc::no_data, {"tq::calibrate", "'relu1'", "slot 1 of 2"},
               [&] { (void)tq::calibrate<W8>(rows); });
  const std::vector<float> x{1, 2, nan_value, -inf};
  test::raises(tq::errc::no_data, {"tq::calibrate", "slot 1 of 2"},
               [&] { (void)tq::calibrate<W8>(tq::ConstTensorView(x.data(), {2, 2})); });
  const float one = 1;
  test::raises(tq::errc::bad_axis, {"per_channel"},
               [&] { (void)tq::calibrate<W8>(tq::ConstTensorView(&one, {})); });
}

TEST_CASE("degenerate ranges follow the policy", "[calibrate]") {
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleRaises>;
  const std::vector<float> zeros(4);
  CHECK(tq::calibrate<A8>(zeros, tq::numerics::torch{}).scales()[0] == 0x1p-23f);
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"},
               [&] { (void)tq::calibrate<A8>(zeros, Raises{}); });
}

TEST_CASE("straight from a tensor by any calibrator, and on threads", "[calibrate]") {
  using Rows = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>;
  std::vector<float> x(2 * 4096);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97) - 48.0f;
  x[5] = 1000.0f;
  const tq::ConstTensorView view(x.data(), {2, 4096});
  tq::Observer<tq::Histogram, tq::PerChannel<0>> seen;
  seen.observe(view);
  const Rows wanted = tq::calibrate<Rows>(seen, tq::MseCalibrator{});
  CHECK(tq::calibrate<Rows, tq::Histogram>(view, tq::MseCalibrator{}) == wanted);
  CHECK(tq::calibrate<Rows, tq::Histogram>(view, tq::MseCalibrator{}, test::Threads{}) == wanted);
  CHECK(wanted.scales()[0] < tq::calibrate<Rows>(view).scales()[0]);
  CHECK(tq::calibrate<Rows>(view, test::Threads{}) == tq::calibrate<Rows>(view));
}

TEST_CASE("a tensor without channels has no parameters, and one without values those of zeros",
          "[calibrate]") {
  using Rows = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  CHECK(tq::calibrate<Rows>(tq::ConstTensorView(nullptr, {0, 32})).scales().empty());
  CHECK(tq::calibrate<Rows>(tq::ConstTensorView(nullptr, {2, 0})) ==
        Rows({}, std::vector<float>{1, 1}));
  CHECK(tq::calibrate<A8>(std::vector<float>{}) == tq::calibrate<A8>(std::vector<float>{0}));
  test::raises(tq::errc::bad_axis,
               {"tq::calibrate: expected", "axis 0 for per_channel", "got shape []"},
               [] { (void)tq::calibrate<Rows>(tq::ConstTensorView(nullptr, tq::Shape{})); });
}

TEST_CASE("parameters with offsets cover the range of every block, wherever 0 is", "[calibrate]") {
  using Groups = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, tq::float16>;
  std::vector<float> x(64);
  for (std::size_t i = 0; i < 64; ++i)
    x[i] = (i < 32 ? 100.0f : -3.0f) + static_cast<float>(i * 7 % 32);
  const auto p = tq::calibrate<Groups>(tq::ConstTensorView(x.data(), {1, 64}));
  REQUIRE(p.scales().size() == 2);
  // 31 / 15 in float16, and the least values, which float16 has.
  CHECK(p.affine(0) == tq::OffsetAffine{2.06640625f, 100.0f});
  CHECK(p.affine(1) == tq::OffsetAffine{2.06640625f, -3.0f});
  using Whole = tq::QuantParams<tq::uint8, tq::PerTensor, tq::FloatOffset>;
  CHECK(tq::calibrate<Whole>(std::vector<float>{10, 265}) == Whole(1.0f, 10.0f));
  CHECK(tq::calibrate<Whole>(std::vector<float>{10, 10}) == Whole(1.0f, 10.0f));
  CHECK(tq::calibrate<Whole>(std::vector<float>{}) == Whole(1.0f, 0.0f));
  const auto twice = tq::calibrate<Whole, tq::MinMax>(std::vector<float>{10, 265}, Twice{},
                                                      tq::Numerics<>{}, test::Threads{2});
  CHECK(twice == Whole(2.0f, 20.0f));
}

TEST_CASE("quantize uses the numerics that calibrate was told", "[calibrate]") {
  using tq::numerics::torch;
  using P = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  std::vector<float> x = inputs::normals(4096, 11);
  const auto p = tq::calibrate<P>(x, torch{});
  // Values beside ties, where a quotient and a product with the reciprocal part.
  for (std::size_t i = 0; i + 1 < x.size(); i += 2)
    x[i] = (static_cast<float>(i % 200) - 100.5f) * p.scales()[0];
  const auto said = tq::quantize(x, p, torch{}), other = tq::quantize(x, p, tq::numerics::onnx{});
  REQUIRE_FALSE(said == other);
  CHECK(tq::quantize(x, p) == said);
  std::vector<std::int8_t> codes(x.size());
  tq::quantize(x, p, codes);
  CHECK(std::ranges::equal(codes, said.codes()));
  CHECK(tq::fake_quantize(x, p) == tq::dequantize(said));
  const auto dynamic = tq::quantize_dynamic<P>(x, torch{});
  CHECK(tq::quantize(x, dynamic.params()) == dynamic);
}

TEST_CASE("options in any order give what they give in their places", "[calibrate][options]") {
  using tq::numerics::torch;
  using P = tq::QuantParams<tq::int4, tq::PerGroup<16>, tq::Symmetric>;
  const std::vector<float> x = inputs::normals(256, 12);
  const test::Threads threads{3};
  const auto p = tq::calibrate<P>(x, torch{}, threads);
  CHECK(tq::calibrate<P>(x, torch{}) == p);
  CHECK(tq::calibrate<P>(x, threads, torch{}) == p);
  CHECK(tq::calibrate<P>(x, tq::with(torch{}, threads)) == p);
  CHECK(tq::calibrate<P>(x, tq::PerGroup<16>{}, threads, torch{}) == p);
  CHECK(tq::calibrate<P, tq::Histogram>(x, tq::MseCalibrator{}, threads, torch{}) ==
        tq::calibrate<P, tq::Histogram>(x, tq::MseCalibrator{}, torch{}));
  tq::Observer<tq::MinMax, tq::PerGroup<16>> seen;
  seen.observe(x);
  CHECK(tq::calibrate<P>(seen, torch{}) == p);
  CHECK(tq::calibrate<P>(seen, threads, torch{}) == p);
  CHECK(tq::calibrate<P>(seen, tq::MinMaxCalibrator{}, threads, torch{}) == p);

  const auto q = tq::quantize(x, p);
  CHECK(tq::quantize(x, p, threads) == q);
  CHECK(tq::quantize<P>(x, threads, torch{}) == q);
  CHECK(tq::quantize<P>(x, torch{}) == q);
  CHECK(tq::quantize<P>(x) == tq::quantize(x, tq::calibrate<P>(x)));
  CHECK(tq::quantize_dynamic<P>(x, threads, torch{}) == q);
  CHECK(tq::quantize_dynamic<P>(x, tq::PerGroup<16>{}, threads, torch{}) == q);
  std::vector<std::int8_t> codes(x.size()), others(x.size());
  tq::quantize(x, p, codes, threads);
  tq::quantize(x, p, others);
  CHECK(codes == others);
  const auto high = tq::quantize(x, p, tq::HighFirst{}, threads);
  std::vector<std::byte> bytes(x.size() / 2);
  tq::quantize(x, p, bytes, threads, tq::HighFirst{});
  CHECK(std::ranges::equal(bytes, high.bytes()));
  auto again = q;
  tq::quantize(x, again, threads);
  CHECK(again == q);
  std::vector<float> out(x.size());
  tq::fake_quantize(x, p, out, threads, torch{});
  CHECK(out == tq::dequantize(q));
  CHECK(tq::fake_quantize(x, p, threads) == out);

  tq::Observer<tq::MinMax, tq::PerGroup<16>> bundled;
  bundled.observe(x, tq::with(threads));
  CHECK(tq::calibrate<P>(bundled, tq::with(threads, torch{})) == p);
  CHECK(tq::dequantize(q, tq::with(threads)) == out);
  CHECK(tq::dequantize(codes, p, threads) == out);
  std::vector<float> values(x.size());
  tq::dequantize(bytes, p, values, threads, tq::HighFirst{});
  CHECK(values == out);
  std::ranges::fill(values, 0.0f);
  tq::dequantize(bytes, p, values, tq::with(tq::HighFirst{}, threads));
  CHECK(values == out);
  tq::copy(x, values, tq::with(threads));
  CHECK(values == x);
  CHECK(tq::compare(x, out, tq::with(threads)).mse == tq::compare(x, out).mse);
}
