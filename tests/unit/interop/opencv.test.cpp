// SPDX-License-Identifier: MIT
// By a stand-in with the members of cv::Mat that the adapter uses.
#include <tq/core/as_tensor.hpp>
#include <tq/interop/opencv.hpp>
#include <tq/ops/quantize.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/mat.hpp"

static_assert(tq::Readable<cv::Mat> && tq::Readable<cv::Mat_<double>>);
static_assert(tq::Writable<cv::Mat, float> && tq::Writable<cv::Mat_<signed char>&, std::int8_t>);
static_assert(!tq::Writable<const cv::Mat&, float> && !tq::Readable<cv::Mat_<int>>);

TEST_CASE("matrices of OpenCV keep their extents, steps and channels", "[opencv]") {
  std::vector<float> x(60);
  cv::Mat rows(5, 1, {3, 4}, {20, 1}, x.data());
  const auto view = tq::as_tensor(rows);
  static_assert(std::same_as<decltype(tq::as_tensor(rows)), tq::TensorView<float>>);
  CHECK(view.shape() == tq::Shape{3, 4});
  CHECK(view.strides() == tq::Strides{20, 1});
  CHECK(view.data() == x.data());
  const cv::Mat image(5, 3, {4, 5}, {15, 3}, x.data());
  CHECK(tq::as_tensor(image).shape() == tq::Shape{4, 5, 3});
  CHECK(tq::as_tensor(image).strides() == tq::Strides{15, 3, 1});
  const tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric> params(0.5f);
  x[21] = 2;
  CHECK(tq::quantize(rows, params).codes()[5] == 4);

  const cv::Mat bytes(0, 1, {4}, {1}, x.data());
  test::raises(tq::errc::bad_argument, {"tq::as_tensor", "depth 5, got 0"},
               [&] { (void)tq::as_tensor(bytes); });
  const cv::Mat deep(5, 2, std::vector<int>(8, 1), std::vector<std::size_t>(8, 2), x.data());
  test::raises(tq::errc::rank_too_large, {"got 9"}, [&] { (void)tq::as_tensor(deep); });
}
