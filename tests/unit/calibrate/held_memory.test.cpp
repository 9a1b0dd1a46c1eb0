// SPDX-License-Identifier: MIT
// Functions that only read a tensor make no copy of it, whatever its elements and its layout.
#include <tq/calibrate/calibrate.hpp>
#include <tq/calibrate/mse.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/ops/compare.hpp>

#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"

namespace {

template <class F>
std::ptrdiff_t allocated_by(F&& f) {
  const std::ptrdiff_t before = test::total;
  f();
  return test::total - before;
}

template <class T>
void check() {
  using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  constexpr std::ptrdiff_t little = 1 << 17;  // an eighth of the smallest copy
  const std::vector<T> memory(512 * 1024, static_cast<T>(1.5f));
  for (const tq::Strides& strides :
       {tq::Strides{512, 1}, tq::Strides{1, 512}, tq::Strides{1024, 2}}) {
    const tq::Shape shape = strides[1] == 2   ? tq::Shape{512, 512}
                            : strides[0] == 1 ? tq::Shape{512, 1024}
                                              : tq::Shape{1024, 512};
    const tq::TensorView<const T> x(memory.data(), shape, strides);
    CHECK(allocated_by([&] { (void)tq::calibrate<A8>(x); }) < little);
    CHECK(allocated_by([&] { (void)tq::calibrate<W8>(x); }) < little);
    CHECK(allocated_by([&] { (void)tq::calibrate<A8, tq::Histogram>(x, tq::MseCalibrator{}); }) <
          little);
    CHECK(allocated_by([&] { (void)tq::compare(x, x); }) < little);
  }
}

}  // namespace

TEST_CASE("what is observed, calibrated or compared is not copied", "[calibrate]") {
  check<tq::float16>();
  check<double>();
  check<float>();
}
