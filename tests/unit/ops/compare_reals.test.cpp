// SPDX-License-Identifier: MIT
// Metrics of tensors of 16 and 64 bits are those of the same values as float32, bit for bit.
#include <tq/ops/compare.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/index_oracle.hpp"
#include "support/real_tensors.hpp"
#include "support/thread_executor.hpp"

namespace {

using real_tensors::Pair;

bool same(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }
bool same(const tq::ErrorMetrics& a, const tq::ErrorMetrics& b) {
  return same(a.mse, b.mse) && same(a.mae, b.mae) && same(a.max_abs, b.max_abs) &&
         same(a.sqnr_db, b.sqnr_db) && same(a.cosine, b.cosine) && a.count == b.count;
}

// All layouts of one shape against one another.
template <class X, class Y>
std::string differing(bool tame) {
  std::string text;
  for (const real_tensors::Layout& one : real_tensors::layouts()) {
    const Pair<X> x(one, 1, tame);
    for (const real_tensors::Layout& other : real_tensors::layouts()) {
      if (!(one.shape == other.shape)) continue;
      const Pair<Y> y(other, 2, tame);
      if (!same(tq::compare(x.view(), y.view()), tq::compare(x.float_view(), y.float_view())))
        text += one.name + ", " + other.name + "\n";
      if (!same(tq::compare(x.float_view(), y.view()), tq::compare(x.float_view(), y.float_view())))
        text += one.name + ", " + other.name + ", one as float32\n";
    }
  }
  return text;
}

// The elements in row-major order.
std::vector<float> dense(const tq::ConstTensorView& x) {
  std::vector<float> out;
  oracle::each_index(x.shape(), [&](const std::vector<std::size_t>& i) {
    out.push_back(x.data()[oracle::offset(i, x.strides())]);
  });
  return out;
}
bool close(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); }

}  // namespace

TEST_CASE("in any two layouts float32 has the metrics of rows, but for the order of sums",
          "[compare]") {
  for (const real_tensors::Layout& one : real_tensors::layouts())
    for (const real_tensors::Layout& other : real_tensors::layouts()) {
      if (!(one.shape == other.shape) || one.shape.size() == 0) continue;
      const Pair<tq::bfloat16> x(one, 1, true), y(other, 2, true);
      const tq::ErrorMetrics m = tq::compare(x.float_view(), y.float_view()),
                             rows = tq::compare(dense(x.float_view()), dense(y.float_view()));
      INFO(one.name << ", " << other.name);
      CHECK((close(m.mse, rows.mse) && close(m.mae, rows.mae) && m.max_abs == rows.max_abs &&
             close(m.sqnr_db, rows.sqnr_db)));
      CHECK((std::fabs(m.cosine - rows.cosine) < 1e-12 && m.count == rows.count));
    }
}

TEST_CASE("halves and float64 have the metrics of float32, in any layout", "[compare]") {
  CHECK(differing<tq::float16, tq::float16>(true) == "");
  CHECK(differing<tq::bfloat16, double>(true) == "");
  CHECK(differing<double, tq::float16>(true) == "");
  CHECK(differing<double, tq::bfloat16>(false) == "");
}

TEST_CASE("halves have the metrics of float32 on threads", "[compare]") {
  const real_tensors::Layout rows{"rows", {600, 1001}, {1001, 1}, 0, 600600},
      columns{"columns", {600, 1001}, {1, 600}, 0, 600600}, flat{"flat", {600600}, {1}, 0, 600600};
  for (const real_tensors::Layout& l : {rows, columns, flat}) {
    const Pair<tq::float16> x(l, 1, true);
    const Pair<double> y(l, 2, true);
    const tq::ErrorMetrics wanted = tq::compare(x.float_view(), y.float_view());
    CHECK(wanted.mse > 0);
    CHECK(same(tq::compare(x.view(), y.view()), wanted));
    CHECK(same(tq::compare(x.view(), y.view(), test::Threads{}), wanted));
  }
}

TEST_CASE("spans, vectors, arrays and views of any real numbers are compared", "[compare]") {
  const std::vector<double> doubles{1, 2, 3};
  const std::array<tq::float16, 3> halves{tq::float16(1.0f), tq::float16(2.0f), tq::float16(5.0f)};
  std::vector<float> floats{1, 2, 4};
  CHECK(tq::compare(doubles, halves).max_abs == 2);
  CHECK(tq::compare(halves, floats).max_abs == 1);
  CHECK(tq::compare(std::span(floats), doubles, tq::serial).max_abs == 1);
  CHECK(tq::compare(tq::TensorView<const double>(doubles.data(), {3, 1}), halves).max_abs == 2);
  CHECK(tq::compare(floats, tq::TensorView<float>(floats.data(), {3})).max_abs == 0);
  CHECK(tq::compare({floats.data(), {3}}, floats).max_abs == 0);
  test::raises(tq::errc::shape_mismatch, {"tq::compare", "[3]", "got [2]"},
               [&] { (void)tq::compare(doubles, std::span(halves).first(2)); });
  // Rounded to float32, these are the same, and the last ones infinite.
  CHECK(tq::compare(std::vector<double>{1 + 1e-12}, std::vector<double>{1}).mse == 0);
  CHECK(tq::compare(std::vector<double>{1e300}, std::vector<double>{1}).max_abs ==
        std::numeric_limits<double>::infinity());
}

TEST_CASE("pieces of halves have the metrics of the whole", "[compare]") {
  const Pair<tq::bfloat16> x({"flat", {300000}, {1}, 0, 300000}, 1, true);
  const Pair<double> y({"flat", {300000}, {1}, 0, 300000}, 2, true);
  const std::span<const tq::bfloat16> a(x.memory);
  const std::span<const double> b(y.memory);
  tq::Comparison<> parts;
  parts.add(a.first(2 * parts.piece), b.first(2 * parts.piece));
  parts.add(a.subspan(2 * parts.piece), b.subspan(2 * parts.piece));
  CHECK(same(parts.metrics(), tq::compare(x.float_view(), y.float_view())));
}
