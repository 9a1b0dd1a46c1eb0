// SPDX-License-Identifier: MIT
// Copies from all real numbers to all others, in any layout, rounded once.
#include <tq/ops/copy.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
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

// The nearest of the finite numbers of 16 bits, the even one of two, searched for.
template <class Out>
Out nearest(double v) {
  Out out;
  if (std::isnan(v)) {
    out.code = std::same_as<Out, tq::float16> ? 0x7e00 : 0x7fc0;
    return out;
  }
  const auto value = [](int code) {
    Out t;
    t.code = static_cast<std::uint16_t>(code);
    return static_cast<double>(real_tensors::widened(t));
  };
  const double size = std::fabs(v);
  int low = 0, high = std::same_as<Out, tq::float16> ? 0x7bff : 0x7f7f;  // the largest one
  if (size >= value(high)) low = high;
  while (high - low > 1) (value((low + high) / 2) <= size ? low : high) = (low + high) / 2;
  const double below = size - value(low), above = value(high) - size;
  const int code = low == high || below < above || (below == above && low % 2 == 0) ? low : high;
  out.code = static_cast<std::uint16_t>(code | (std::signbit(v) ? 0x8000 : 0));
  return out;
}
template <class Out>
Out rounded(double v) {
  if constexpr (std::same_as<Out, double>) return v;
  else if constexpr (std::same_as<Out, float>) return static_cast<float>(v);
  else return nearest<Out>(v);
}
template <class X>
double exactly(X v) {
  if constexpr (std::same_as<X, double> || std::same_as<X, float>) return static_cast<double>(v);
  else return static_cast<double>(real_tensors::widened(v));
}

template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(exactly(a)) && std::isnan(exactly(b)));
}

template <class X>
X drawn(inputs::Random& r) {
  if constexpr (std::same_as<X, float>) {
    return r.chance(30) ? inputs::value(r, 1) : static_cast<float>(r.normal());
  } else if constexpr (std::same_as<X, double>) {
    if (r.chance(50)) return real_tensors::drawn<double>(r, false);
    // Half way between two halves, or so little beside it that float32 does not tell.
    tq::float16 h;
    h.code = static_cast<std::uint16_t>(r.below(0x7c00));
    tq::bfloat16 b;
    b.code = static_cast<std::uint16_t>(r.below(0x7f80));
    const bool is_half = r.chance(50);
    const double v = is_half ? exactly(h) : exactly(b);
    const double step = std::max(std::ldexp(v, is_half ? -11 : -8), is_half ? 0x1p-25 : 0x1p-134);
    return (v + std::exp2(std::floor(std::log2(step)))) * (1 + (r.between(-1, 1)) * 0x1p-50);
  } else {
    return real_tensors::drawn<X>(r, false);
  }
}

// From every layout to every other one of its shape.
template <class X, class Out>
std::string differing() {
  std::string text;
  inputs::Random r(sizeof(X) * 16 + sizeof(Out));
  for (const real_tensors::Layout& from : real_tensors::layouts()) {
    std::vector<X> x(from.extent);
    for (X& v : x) v = drawn<X>(r);
    for (const real_tensors::Layout& to : real_tensors::layouts()) {
      if (!(from.shape == to.shape) || to.name.find("repeated") != std::string::npos) continue;
      Out guard;
      std::memset(&guard, 0x5a, sizeof guard);
      std::vector<Out> got(to.extent, guard), wanted = got;
      oracle::each_index(from.shape, [&](const std::vector<std::size_t>& i) {
        const X v = x[static_cast<std::size_t>(from.first + oracle::offset(i, from.strides))];
        Out& out = wanted[static_cast<std::size_t>(to.first + oracle::offset(i, to.strides))];
        if constexpr (std::same_as<X, Out>) out = v;
        else out = rounded<Out>(exactly(v));
      });
      tq::copy(tq::TensorView<const X>(x.data() + from.first, from.shape, from.strides),
               tq::TensorView<Out>(got.data() + to.first, to.shape, to.strides));
      for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::same_as<X, Out> ? std::memcmp(&got[i], &wanted[i], sizeof(Out)) == 0
                                   : same(got[i], wanted[i]))) {
          text += from.name + " to " + to.name + "\n";
          break;
        }
    }
  }
  return text;
}
template <class X>
void check() {
  CHECK(differing<X, tq::float16>() == "");
  CHECK(differing<X, tq::bfloat16>() == "");
  CHECK(differing<X, float>() == "");
  CHECK(differing<X, double>() == "");
}

}  // namespace

TEST_CASE("halves are copied to anything, in any layout", "[copy]") {
  check<tq::float16>();
  check<tq::bfloat16>();
}

TEST_CASE("float32 and float64 are copied to anything, rounded once, in any layout", "[copy]") {
  check<float>();
  check<double>();
}

TEST_CASE("float64 to halves is not rounded to float32 on the way", "[copy]") {
  const std::vector<double> x{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40, 1e300, -1e39};
  std::array<tq::float16, 4> halves;
  std::vector<tq::bfloat16> more(4);
  tq::copy(x, tq::TensorView<tq::float16>(halves.data(), {4}));
  tq::copy(x, tq::TensorView<tq::bfloat16>(more));
  CHECK(float(halves[0]) == 1 + 0x1p-10f);
  CHECK(float(halves[2]) == 65504.0f);
  CHECK(float(more[1]) == 1 + 0x1p-7f);
  CHECK(float(more[3]) == -tq::bfloat16::max_finite);
  std::vector<float> floats(4);
  tq::copy(x, floats);
  CHECK(floats[0] == 1 + 0x1p-11f);
  CHECK(floats[2] == std::numeric_limits<float>::infinity());
}

TEST_CASE("spans and vectors are copied, on threads too, and sizes must agree", "[copy]") {
  const std::vector<tq::float16> x(600000, tq::float16(1.5f));
  std::vector<float> floats(x.size());
  std::vector<tq::float16> other(x.size());
  tq::copy(x, floats, test::Threads{});
  tq::copy(std::span(x), tq::TensorView<tq::float16>(other), test::Threads{});
  CHECK(floats == std::vector<float>(x.size(), 1.5f));
  CHECK(std::memcmp(other.data(), x.data(), 2 * x.size()) == 0);
  test::raises(tq::errc::shape_mismatch, {"tq::copy", "600000", "got [3]"},
               [&] { tq::copy(x, std::span(floats).first(3)); });
  test::raises(tq::errc::shape_mismatch, {"tq::copy", "600000", "got [3]"},
               [&] { tq::copy(x, tq::TensorView<tq::float16>(std::span(other).first(3))); });
}
