// SPDX-License-Identifier: MIT
// Errors; values are compared in ops_cases.hpp.
#include <tq/ops/dequantize.hpp>

#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {
using Rows = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Asymmetric>;
}

TEST_CASE("codes of a plain vector, with a view as target", "[dequantize]") {
  const Rows p({}, {0.5f, 2.0f}, {0, 1});
  const std::vector<std::int8_t> codes{1, 2, 3, 1, 2, 3};
  std::vector<float> out(6);
  tq::dequantize(codes, p, tq::TensorView<float>(out.data(), {2, 3}));
  CHECK(out == std::vector<float>{0.5f, 1.0f, 1.5f, 0.0f, 2.0f, 4.0f});
}

TEST_CASE("bad input to dequantize is refused before anything is written", "[dequantize]") {
  const Rows p({}, {0.5f, 2.0f}, {0, 1});
  const std::vector<std::int8_t> codes(6);
  std::vector<float> out(6, -7), small(5, -7);
  const tq::TensorView<float> view(out.data(), {2, 3});
  test::raises(tq::errc::shape_mismatch, {"tq::dequantize", "codes", "6", "got 4"},
               [&] { tq::dequantize(std::span(codes).first(4), p, view); });
  test::raises(tq::errc::shape_mismatch, {"tq::dequantize", "[2, 3]", "got [3, 2]"}, [&] {
    tq::dequantize(tq::TensorView<const std::int8_t>(codes.data(), {3, 2}), p, view);
  });
  test::raises(tq::errc::shape_mismatch,
               {"tq::dequantize", "per_channel", "[3, 2]", "expects 3", "got 2"},
               [&] { tq::dequantize(codes, p, tq::TensorView<float>(out.data(), {3, 2})); });
  tq::QuantizedTensor<Rows> q({2, 3}, p);
  std::fill(q.codes().begin(), q.codes().end(), std::int8_t{0});
  test::raises(tq::errc::shape_mismatch, {"tq::dequantize", "6", "got 5"},
               [&] { tq::dequantize(q, small); });
  test::raises(tq::errc::shape_mismatch, {"tq::dequantize", "[2, 3]", "[3, 2]"},
               [&] { tq::dequantize(q, tq::TensorView<float>(out.data(), {3, 2})); });
  const tq::QuantParams<tq::int8, tq::PerGroup<>, tq::Symmetric> group(tq::PerGroup<>(0), {1.0f});
  test::raises(tq::errc::bad_group_size, {"tq::dequantize", "per_group"},
               [&] { tq::dequantize(codes, group, view); });
  CHECK(out == std::vector<float>(6, -7));
  CHECK(small == std::vector<float>(5, -7));
}
