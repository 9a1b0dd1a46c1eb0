// SPDX-License-Identifier: MIT
// Errors and edges; codes and parameters are compared in ops_cases.hpp.
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {
using B = tq::backend::native<tq::arch::scalar>;  // quick to compile
using Rows = tq::QuantParams<tq::int8, tq::PerToken, tq::Asymmetric>;
using Whole = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
}  // namespace

TEST_CASE("ranges ignore NaN and infinities, codes do not", "[quantize_dynamic]") {
  const std::vector<float> x{not_a_number, -1, 127, inf, -inf};
  const auto q = tq::quantize_dynamic<Whole, tq::LowFirst, B>(x);
  CHECK(q.params() == Whole(1.0f));
  CHECK(std::vector<int>(q.codes().begin(), q.codes().end()) == std::vector<int>{0, -1, 127, 127, -128});
  const auto none = tq::quantize_dynamic<Whole, tq::LowFirst, B>(std::vector<float>{not_a_number, inf});
  CHECK(none.params() == Whole(1.0f));
}

TEST_CASE("tensors without elements", "[quantize_dynamic]") {
  CHECK(tq::quantize_dynamic<Whole, tq::LowFirst, B>(std::vector<float>{}).params() == Whole(1.0f));
  const auto rows = tq::quantize_dynamic<Rows, tq::LowFirst, B>(tq::ConstTensorView(nullptr, {3, 0}));
  CHECK(rows.bytes().empty());
  CHECK(rows.params().scales().size() == 3);
  CHECK(tq::dequantize<B>(rows).empty());
  CHECK(tq::quantize_dynamic<Rows, tq::LowFirst, B>(tq::ConstTensorView(nullptr, {0, 3})).params().scales().empty());
}

TEST_CASE("more short rows than are taken at a time", "[quantize_dynamic]") {
  constexpr std::size_t rows = 2500, length = 3;
  inputs::Random r(5);
  std::vector<float> x(rows * length);
  for (float& v : x) v = static_cast<float>(r.between(-1000, 1000)) / 8;
  const auto together = tq::quantize_dynamic<Rows, tq::LowFirst, B>(tq::ConstTensorView(x.data(), {rows, length}));
  std::size_t other = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto alone = tq::quantize_dynamic<Rows, tq::LowFirst, B>(tq::ConstTensorView(x.data() + row * length, {1, length}));
    const auto codes = together.codes().subspan(row * length, length);
    other += together.params().scales()[row] != alone.params().scales()[0];
    other += together.params().zero_points()[row] != alone.params().zero_points()[0];
    other += !std::equal(codes.begin(), codes.end(), alone.codes().begin());
  }
  CHECK(other == 0);
}

TEST_CASE("bad input to quantize_dynamic is refused before anything is written", "[quantize_dynamic]") {
  const std::vector<float> x{1, 2, 3, 4, 5, not_a_number};
  const tq::ConstTensorView m(x.data(), {2, 3});
  std::vector<std::int8_t> out(6, 99);
  std::vector<float> scales(2, -7), three(3, -7);
  std::vector<std::int32_t> zeros(2, -7), one(1, -7);
  const auto run = [&](tq::ConstTensorView v, std::vector<float>& s, std::vector<std::int32_t>& z,
                       std::span<std::int8_t> to) { tq::quantize_dynamic<Rows, B>(v, {}, to, s, z); };
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "scales", "2", "got 3"}, [&] { run(m, three, zeros, out); });
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "zero points", "2", "got 1"},
               [&] { run(m, scales, one, out); });
  test::raises(tq::errc::shape_mismatch, {"tq::quantize_dynamic", "6", "got 5"},
               [&] { run(m, scales, zeros, std::span(out).first(5)); });
  test::raises(tq::errc::bad_axis, {"tq::quantize_dynamic", "per_token", "[]"},
               [&] { run(tq::ConstTensorView(x.data(), {}), scales, zeros, out); });
  using Group = tq::QuantParams<tq::int8, tq::PerGroup<>, tq::Symmetric>;
  test::raises(tq::errc::bad_group_size, {"tq::quantize_dynamic", "per_group"},
               [&] { (void)tq::quantize_dynamic<Group, tq::LowFirst, B>(m, tq::PerGroup<>(0)); });
  const tq::Numerics<tq::NearestEven, tq::Divide, tq::NanRaises> raises;
  test::raises(tq::errc::not_finite, {"tq::quantize_dynamic", "NaN"},
               [&] { tq::quantize_dynamic<Rows, B>(m, {}, out, scales, zeros, raises); });
  CHECK(out == std::vector<std::int8_t>(6, 99));
  CHECK(scales == std::vector<float>(2, -7));
  CHECK(zeros == std::vector<std::int32_t>(2, -7));
}

TEST_CASE("a row without a usable scale raises where the policy says so", "[quantize_dynamic]") {
  const std::vector<float> x{1, 2, 0, 0};
  const tq::ConstTensorView m(x.data(), {2, 2});
  const tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleRaises> raises;
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"}, [&] { (void)tq::quantize_dynamic<Rows, tq::LowFirst, B>(m, {}, raises); });
  // The error leaves the executor's threads alone.
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"},
               [&] { (void)tq::quantize_dynamic<Rows, tq::LowFirst, B>(m, {}, raises, test::Threads{}); });
  std::vector<std::int8_t> out(4, 99);
  std::vector<float> scales(2);
  std::vector<std::int32_t> zeros(2);
  test::raises(tq::errc::bad_scale, {"tq::ScaleRaises"},
               [&] { tq::quantize_dynamic<Rows, B>(m, {}, tq::TensorView<std::int8_t>(out.data(), {2, 2}), scales, zeros, raises); });
  CHECK(out == std::vector<std::int8_t>(4, 99));
}
