// SPDX-License-Identifier: MIT
// Operations on a named backend, and the deprecated forms, which give the same results.
#include <tq/ops/backend/on.hpp>

#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/core/formats.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/ops/cast.hpp>
#include <tq/ops/compare.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/isa_info.hpp>
#include <tq/ops/pack.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/train/backward.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {

using Scalar = tq::backend::native<tq::arch::scalar>;
using tq::numerics::torch;
using P = tq::QuantParams<tq::int4, tq::PerGroup<16>, tq::Symmetric>;

// The default kernels under another name, which count the tensors that they see.
struct Counting : tq::default_backend {
  static inline int runs = 0;
  struct min_max : tq::default_backend::min_max {
    template <class... Args>
    static auto run(const Args&... args) {
      ++runs;
      return tq::default_backend::min_max::run(args...);
    }
  };
};

const std::vector<float>& values() {
  static const std::vector<float> x = inputs::normals(256, 12);
  return x;
}

}  // namespace

TEST_CASE("a backend is an option among others", "[ops][options]") {
  const std::vector<float>& x = values();
  const test::Threads threads{3};
  const auto p = tq::calibrate<P>(x, torch{});
  CHECK(tq::calibrate<P>(x, tq::on<Scalar>, torch{}) == p);
  CHECK(tq::calibrate<P, tq::MinMax>(x, tq::MinMaxCalibrator{}, torch{}, tq::on<Scalar>) == p);
  const auto q = tq::quantize(x, p);
  CHECK(tq::quantize(x, p, tq::on<Scalar>) == q);
  CHECK(tq::quantize(x, p, threads, tq::on<Scalar>, torch{}) == q);
  CHECK(tq::quantize(x, p, tq::with(tq::on<Scalar>, threads), torch{}) == q);
  CHECK(tq::quantize_dynamic<P>(x, tq::on<Scalar>, torch{}) == q);
  CHECK(tq::dequantize(q, tq::on<Scalar>) == tq::dequantize(q, threads));
  CHECK(tq::fake_quantize(x, p, tq::on<Scalar>, threads) == tq::dequantize(q));
  CHECK(tq::isa_info(tq::on<Scalar>).running == "scalar");
}

TEST_CASE("a backend given as an option runs the operation", "[ops][options]") {
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::RaiseNan>;
  const std::vector<float>& x = values();
  const auto p = tq::calibrate<P>(x);
  Counting::runs = 0;
  (void)tq::quantize(x, p, Raises{});
  CHECK(Counting::runs == 0);
  (void)tq::quantize(x, p, Raises{}, tq::on<Counting>);
  CHECK(Counting::runs > 0);
}

TEST_CASE("deprecated forms give what the new ones give", "[ops][options]") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const std::vector<float>& x = values();
  const test::Threads threads{3};
  const auto p = tq::calibrate<P>(x, torch{});
  CHECK(tq::calibrate<P>(x, {}, torch{}, threads) == p);
  CHECK(tq::calibrate<P, Scalar>(x, torch{}) == p);
  CHECK(tq::calibrate<P, tq::MinMax, tq::MinMaxCalibrator, Scalar>(x, tq::MinMaxCalibrator{},
                                                                   torch{}) == p);
  const auto by_error = tq::calibrate<P, tq::Histogram>(x, tq::MseCalibrator{}, torch{});
  CHECK(tq::calibrate<P, tq::Histogram>(x, tq::MseCalibrator{}, {}, torch{}) == by_error);
  tq::Observer<tq::MinMax, tq::PerGroup<16>> seen;
  seen.observe<Scalar>(x);
  CHECK(tq::calibrate<P>(seen, {}, torch{}) == p);
  CHECK(tq::calibrate<P>(seen, tq::MinMaxCalibrator{}, {}, threads) == tq::calibrate<P>(x));
  CHECK(tq::calibrate<P, torch>(seen) == p);

  const auto q = tq::quantize(x, p);
  CHECK(tq::quantize<Scalar>(x, p) == q);
  CHECK(tq::quantize<tq::LowFirst, Scalar>(x, p) == q);
  CHECK(tq::quantize(x, p, {}, threads) == q);
  std::vector<std::int8_t> codes(x.size()), others(x.size());
  tq::quantize(x, p, codes);
  tq::quantize(x, p, others, {}, threads);
  CHECK(codes == others);
  CHECK(tq::quantize_dynamic<P>(x, {}, torch{}) == q);
  CHECK(tq::quantize_dynamic<P, tq::LowFirst, Scalar>(x, torch{}) == q);
  std::vector<float> scales(16);
  std::ranges::fill(others, std::int8_t{0});
  tq::quantize_dynamic<P>(x, {}, others, scales, {}, torch{});
  CHECK(codes == others);
  CHECK(std::ranges::equal(scales, p.scales()));

  const std::vector<float> back = tq::dequantize(q);
  CHECK(tq::dequantize<Scalar>(q) == back);
  CHECK(tq::fake_quantize<Scalar>(x, p) == back);
  CHECK(tq::fake_quantize(x, p, {}, threads) == back);
  std::vector<float> copied(x.size());
  tq::copy<Scalar>(x, copied);
  CHECK(copied == x);
  CHECK(tq::compare<Scalar>(x, x).mse == 0);
  const auto halves = tq::cast_to<tq::float16>(x);
  CHECK(tq::cast_to<tq::float16, Scalar>(x) == halves);
  CHECK(tq::cast_from<tq::float16, Scalar>(halves) == tq::cast_from<tq::float16>(halves));

  using Nvfp4 = tq::nvfp4;
  std::vector<std::byte> bytes(x.size() / 2), wanted(x.size() / 2);
  const auto blocks = tq::quantize_dynamic<Nvfp4>(x);
  std::vector<std::uint8_t> stored(16);
  CHECK(tq::tensor_scale<Nvfp4>(x, {}, tq::numerics_of<Nvfp4>{}) == tq::tensor_scale<Nvfp4>(x));
  tq::quantize_dynamic<Nvfp4>(x, {}, tq::tensor_scale<Nvfp4>(x), std::span(bytes),
                              std::span(stored));
  CHECK(std::ranges::equal(bytes, blocks.bytes()));

  std::vector<float> gx(x.size()), wanted_gx(x.size());
  (void)tq::fake_quantize_backward(x, p, x, wanted_gx);
  (void)tq::fake_quantize_backward(x, p, x, gx, {}, threads);
  CHECK(gx == wanted_gx);
#pragma GCC diagnostic pop
}
