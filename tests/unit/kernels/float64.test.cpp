// SPDX-License-Identifier: MIT
#include <tq/kernels/float64.hpp>

#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace {

using Arch = tq::arch::native;

// The nearest float32, the even one of two, by integers: |v| = m * 2^e, cut to what float32 has
// room for.
float nearest(double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  const float sign = bits >> 63 ? -1.0f : 1.0f;
  const auto field = static_cast<int>(bits >> 52 & 0x7ff);
  if (field == 0x7ff)
    return bits << 12 != 0 ? std::numeric_limits<float>::quiet_NaN()
                           : sign * std::numeric_limits<float>::infinity();
  const std::uint64_t fraction = bits & 0xfffffffffffffu,
                      m = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const int e = (field == 0 ? 1 : field) - 1075;
  const int cut = std::max(29, -149 - e);  // bits that are too many: normal numbers keep 24
  if (cut > 60) return sign * 0.0f;
  const std::uint64_t rest = m & ((std::uint64_t{1} << cut) - 1),
                      half = std::uint64_t{1} << (cut - 1);
  std::uint64_t kept = m >> cut;
  if (rest > half || (rest == half && kept % 2 == 1)) ++kept;
  const double value = std::ldexp(static_cast<double>(kept), e + cut);
  return sign *
         (value >= 0x1p128 ? std::numeric_limits<float>::infinity() : static_cast<float>(value));
}

// Any bits, floats, places between two floats and their neighbours, the ends of float32.
double value(inputs::Random& r) {
  const double sign = r.chance(50) ? 1 : -1;
  const auto near = [&](double v) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) + r.below(3) - 1);
  };
  switch (r.below(8)) {
    case 0: return std::bit_cast<double>(r.bits());
    case 1: return std::bit_cast<double>(r.bits() | 0x7ff0000000000000u);  // NaN
    case 2: return sign * std::numeric_limits<double>::infinity();
    case 3: return sign * near(0x1.ffffffp127);  // half way beyond the largest
    case 4: return sign * near(std::ldexp(static_cast<double>(1 + r.below(1u << 20)), -150));
    case 5: return sign * std::ldexp(r.unit(), r.between(-152, 129));
    default:
      return sign * near(std::ldexp(static_cast<double>((1u << 25) + 1 + 2 * r.below(1u << 23)),
                                    r.between(-140, 100)));
  }
}

}  // namespace

TEST_CASE("float64 is rounded to float32 once, in rows, columns and any other steps", "[float64]") {
  using namespace tq::kernels;
  constexpr auto kernel = tq::driver::kernel<Arch, Float64, Same, ToFloats<float>>;
  constexpr float guard = 12345.0f;
  inputs::Random r(1);
  int failed = 0;
  for (std::size_t length = 1; length <= 3 * tq::driver::block<Arch>; ++length)
    for (const std::ptrdiff_t step : {1, 2, -1, 5}) {
      const std::size_t count = 1 + length % 3;
      const auto row = step == 5 ? std::ptrdiff_t{1} : static_cast<std::ptrdiff_t>(3 * length);
      std::vector<double> x(10 * length + 10);
      for (double& v : x) v = value(r);
      const std::ptrdiff_t at = step < 0 ? static_cast<std::ptrdiff_t>(length) : length % 2;
      std::vector<float> got(count * length + 2, guard);
      tq::driver::sweep(
          kernel,
          {.source = x.data(), .first = at, .target = got.data() + 1, .streams = length % 2 == 0},
          {length, count, row, static_cast<std::ptrdiff_t>(length), step},
          {.scales = tq::driver::ones<Arch>()});
      failed += got.front() != guard || got.back() != guard;
      for (std::size_t k = 0; k < count; ++k)
        for (std::size_t i = 0; i < length; ++i) {
          const double from = x[static_cast<std::size_t>(at + static_cast<std::ptrdiff_t>(k) * row +
                                                         static_cast<std::ptrdiff_t>(i) * step)];
          failed += !oracle::same(got[1 + k * length + i], nearest(from));
        }
    }
  CHECK(failed == 0);
}

TEST_CASE("float64 rounded to odd is exact, or the odd one of its two neighbours", "[float64]") {
  using namespace tq::kernels;
  inputs::Random r(2);
  std::vector<double> x(20011);
  for (double& v : x) v = value(r);
  std::vector<float> got(x.size());
  tq::driver::sweep(tq::driver::kernel<Arch, Float64Odd, Same, ToFloats<float>>,
                    {.source = x.data(), .target = got.data()}, {.length = x.size()},
                    {.scales = tq::driver::ones<Arch>()});
  constexpr float inf = std::numeric_limits<float>::infinity();
  int failed = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = got[i];
    const bool is_exact = v == x[i] || (v != v && x[i] != x[i]);
    const double below = std::nextafter(got[i], -inf), above = std::nextafter(got[i], inf);
    failed += !is_exact &&
              !(std::bit_cast<std::uint32_t>(got[i]) % 2 == 1 && below < x[i] && x[i] < above);
    failed += std::signbit(v) != std::signbit(x[i]) && v == v;
    failed += !is_exact && std::isinf(v);
  }
  CHECK(failed == 0);
}
