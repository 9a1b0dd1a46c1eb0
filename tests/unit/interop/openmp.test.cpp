// SPDX-License-Identifier: MIT
#include <tq/interop/openmp.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <atomic>
#include <cstddef>
#include <new>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

static_assert(tq::Executor<tq::interop::OpenMp>);

TEST_CASE("OpenMP calls every index once", "[openmp]") {
  std::vector<std::atomic<int>> calls(1000);
  tq::interop::OpenMp{4}(calls.size(), [&](std::size_t i) { ++calls[i]; });
  for (const std::atomic<int>& c : calls) REQUIRE(c == 1);
  tq::interop::OpenMp{}(0, [&](std::size_t) { FAIL("there is nothing to do"); });
  CHECK(tq::interop::OpenMp{}.concurrency() >= 1);
  CHECK(tq::interop::OpenMp{5}.concurrency() == 5);
}

TEST_CASE("OpenMP gives the bits of the serial executor", "[openmp]") {
  const tq::interop::OpenMp threads{4};
  const std::vector<float> x = inputs::normals(3 * 137 * 1009, 1);
  const tq::ConstTensorView view(x.data(), {3, 137, 1009});
  using Params = tq::QuantParams<tq::int4, tq::PerToken, tq::Asymmetric>;
  const auto one = tq::quantize_dynamic<Params>(view);
  const auto many = tq::quantize_dynamic<Params>(view, tq::Numerics<>{}, threads);
  const auto equal = [](auto a, auto b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  CHECK(one.params() == many.params());
  CHECK(equal(one.bytes(), many.bytes()));
  CHECK(equal(tq::quantize(view, one.params()).bytes(),
              tq::quantize(view, one.params(), tq::Numerics<>{}, threads).bytes()));
  CHECK(tq::dequantize(one) == tq::dequantize(one, threads));
  CHECK(tq::fake_quantize(view, one.params()) ==
        tq::fake_quantize(view, one.params(), tq::Numerics<>{}, threads));
}

TEST_CASE("a degenerate row raises outside the parallel region", "[openmp]") {
  using Params = tq::QuantParams<tq::int8, tq::PerToken, tq::Symmetric>;
  using Raises = tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleRaises>;
  const std::vector<float> x(3 * 200000);
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"}, [&] {
    (void)tq::quantize_dynamic<Params>(tq::ConstTensorView(x.data(), {3, 200000}), Raises{},
                                       tq::interop::OpenMp{2});
  });
}

TEST_CASE("the first exception of a piece of work reaches the caller of OpenMP", "[openmp]") {
  for (const int n : {0, 1, 4}) {
    std::atomic<int> calls = 0;
    test::raises(tq::errc::bad_argument, {"the 700th"}, [&] {
      tq::interop::OpenMp{n}(1000, [&](std::size_t i) {
        ++calls;
        if (i == 700) tq::raise(tq::errc::bad_argument, "the 700th");
      });
    });
    CHECK(calls > 0);
    CHECK_THROWS_AS(tq::interop::OpenMp{n}(8, [](std::size_t) { throw std::bad_alloc(); }),
                    std::bad_alloc);
  }
}
