// SPDX-License-Identifier: MIT
#include <tq/ops/compare.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"

namespace {
bool near(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fabs(b); }
}  // namespace

TEST_CASE("metrics worked out by hand", "[compare]") {
  const std::vector<float> a{1, 2, -2, 0}, b{1, 3, -2, -2};
  const tq::ErrorMetrics m = tq::compare(a, b);
  CHECK(m.count == 4);
  CHECK(m.mse == 1.25);
  CHECK(m.mae == 0.75);
  CHECK(m.max_abs == 2);
  CHECK(near(m.sqnr_db, 10 * std::log10(9.0 / 5.0)));
  CHECK(near(m.cosine, 11 / std::sqrt(9.0 * 18.0)));
}

TEST_CASE("equal tensors have no error", "[compare]") {
  const std::vector<float> a{1, -2, 3};
  const tq::ErrorMetrics m = tq::compare(a, a);
  CHECK(m.mse == 0);
  CHECK(m.max_abs == 0);
  CHECK(m.sqnr_db == std::numeric_limits<double>::infinity());
  CHECK(near(m.cosine, 1));
  const std::vector<float> zeros(3), none;
  CHECK(tq::compare(zeros, zeros).cosine == 1);
  CHECK(tq::compare(zeros, zeros).sqnr_db == std::numeric_limits<double>::infinity());
  CHECK(tq::compare(none, none).count == 0);
  CHECK(tq::compare(none, none).mse == 0);
}

TEST_CASE("zeros against something", "[compare]") {
  const std::vector<float> zeros(2), x{3, 4};
  const tq::ErrorMetrics m = tq::compare(zeros, x);
  CHECK(m.mse == 12.5);
  CHECK(m.sqnr_db == -std::numeric_limits<double>::infinity());
  CHECK(m.cosine == 0);
  CHECK(tq::compare(x, zeros).sqnr_db == 0);
  CHECK(tq::compare(x, zeros).cosine == 0);
}

TEST_CASE("views of any strides are compared index by index", "[compare]") {
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{1, 4, 2, 5, 3, 6};
  const tq::ConstTensorView rows(a.data(), {2, 3}), columns(b.data(), {2, 3}, {1, 2});
  CHECK(tq::compare(rows, columns).mse == 0);
  CHECK(tq::compare(rows, b).mse > 0);
  CHECK(tq::compare(rows, a).mse == 0);  // a span stands for a dense tensor
}

TEST_CASE("NaN makes the metrics NaN", "[compare]") {
  const std::vector<float> a{1, 2, 3}, b{1, std::numeric_limits<float>::quiet_NaN(), 3};
  for (const tq::ErrorMetrics& m : {tq::compare(a, b), tq::compare(b, a)}) {
    CHECK(std::isnan(m.mse));
    CHECK(std::isnan(m.mae));
    CHECK(std::isnan(m.max_abs));
    CHECK(std::isnan(m.sqnr_db));
    CHECK(std::isnan(m.cosine));
  }
}

TEST_CASE("the largest floats do not overflow", "[compare]") {
  constexpr float big = std::numeric_limits<float>::max();
  const std::vector<float> a{big, -big}, b{-big, big};
  const tq::ErrorMetrics m = tq::compare(a, b);
  CHECK(m.max_abs == 2 * static_cast<double>(big));
  CHECK(std::isfinite(m.mse));
  CHECK(near(m.cosine, -1));
}

TEST_CASE("shapes must agree", "[compare]") {
  const std::vector<float> a(6), b(5);
  test::raises(tq::errc::shape_mismatch, {"tq::compare", "[6]", "got [5]"},
               [&] { (void)tq::compare(a, b); });
  test::raises(tq::errc::shape_mismatch, {"tq::compare", "6", "got 5"},
               [&] { (void)tq::compare(tq::ConstTensorView(a.data(), {2, 3}), b); });
  test::raises(tq::errc::shape_mismatch, {"tq::compare", "[2, 3]", "[3, 2]"}, [&] {
    (void)tq::compare(tq::ConstTensorView(a.data(), {2, 3}), tq::ConstTensorView(a.data(), {3, 2}));
  });
}

TEST_CASE("sums of many elements, on threads and in any layout", "[compare]") {
  inputs::Random r(9);
  const std::size_t rows = 700, cols = 601;
  std::vector<float> a(rows * cols), b(a.size()), t(a.size());
  long double error2 = 0, error1 = 0, signal = 0, other = 0, dot = 0, top = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(r.normal());
    b[i] = a[i] + static_cast<float>(0.01 * r.normal());
    t[i % cols * rows + i / cols] = b[i];
    const long double x = a[i], y = b[i], e = x - y;
    error2 += e * e;
    error1 += e < 0 ? -e : e;
    top = (e < 0 ? -e : e) > top ? (e < 0 ? -e : e) : top;
    signal += x * x;
    other += y * y;
    dot += x * y;
  }
  const tq::ConstTensorView x(a.data(), {rows, cols}),
      y(t.data(), {rows, cols}, {1, static_cast<std::ptrdiff_t>(rows)});
  const auto check = [&](const tq::ErrorMetrics& m) {
    const auto n = static_cast<double>(a.size());
    CHECK(near(m.mse, static_cast<double>(error2) / n));
    CHECK(near(m.mae, static_cast<double>(error1) / n));
    CHECK(m.max_abs == static_cast<double>(top));
    CHECK(near(m.sqnr_db, static_cast<double>(10 * std::log10(signal / error2))));
    CHECK(near(m.cosine, static_cast<double>(dot / std::sqrt(signal * other))));
  };
  check(tq::compare(x, b));
  check(tq::compare(x, y));
  const tq::ErrorMetrics one = tq::compare(x, b), many = tq::compare(x, b, test::Threads{});
  CHECK(one.mse == many.mse);
  CHECK(one.cosine == many.cosine);
  b[300000] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(tq::compare(x, b).max_abs));
  CHECK(std::isnan(tq::compare(x, b, test::Threads{}).mse));
  b[300000] = std::numeric_limits<float>::infinity();
  CHECK(tq::compare(x, b).max_abs == std::numeric_limits<double>::infinity());
}

TEST_CASE("pieces have the metrics of the whole, bit for bit", "[compare]") {
  constexpr std::size_t piece = tq::Comparison<>::piece;
  inputs::Random r(5);
  std::vector<float> a(3 * piece + 13), b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(r.between(-100000, 100000)) * 0x1p-10f;
    b[i] = a[i] + static_cast<float>(r.between(-100, 100)) * 0x1p-12f;
  }
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, piece - 1, piece, piece + 1, a.size()}) {
    const std::span<const float> x(a.data(), n), y(b.data(), n);
    const tq::ErrorMetrics whole = tq::compare(x, y);
    for (const std::size_t step : {piece, 2 * piece, 4 * piece}) {
      tq::Comparison<> parts;
      for (std::size_t i = 0; i < n; i += step)
        parts.add(x.subspan(i, std::min(step, n - i)), y.subspan(i, std::min(step, n - i)));
      const tq::ErrorMetrics m = parts.metrics();
      CHECK((m.mse == whole.mse && m.mae == whole.mae && m.max_abs == whole.max_abs));
      CHECK((m.sqnr_db == whole.sqnr_db && m.cosine == whole.cosine && m.count == whole.count));
    }
    tq::Comparison<> first,
        rest;  // of which the second is one piece: added to the first, nothing is rounded elsewhere
    const std::size_t cut = n < piece ? 0 : (n - 1) / piece * piece;
    first.add(x.first(cut), y.first(cut));
    rest.add(x.subspan(cut), y.subspan(cut));
    first.merge(rest);
    const tq::ErrorMetrics m = first.metrics();
    CHECK((m.mse == whole.mse && m.mae == whole.mae && m.max_abs == whole.max_abs));
    CHECK((m.sqnr_db == whole.sqnr_db && m.cosine == whole.cosine && m.count == whole.count));
  }
  tq::Comparison<> parts;
  test::raises(tq::errc::shape_mismatch, {"tq::Comparison", "2", "got 3"}, [&] {
    parts.add(std::span<const float>(a).first(2), std::span<const float>(b).first(3));
  });
}
