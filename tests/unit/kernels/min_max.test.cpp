// SPDX-License-Identifier: MIT
#include <tq/kernels/min_max.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"

namespace {

using kernel = tq::kernels::min_max<tq::arch::native>;
using tq::kernels::Extremes;

void add(Extremes& e, float v) {
  if (std::isnan(v)) {
    ++e.nan;
  } else if (std::isinf(v)) {
    ++e.infinite;
  } else {
    if (v < e.min) e.min = v;
    if (v > e.max) e.max = v;
  }
}
bool equal(const Extremes& a, const Extremes& b) {
  return a.min == b.min && a.max == b.max && a.nan == b.nan && a.infinite == b.infinite;
}

// Mostly finite: whole chunks without a special value, and some with one.
float value(inputs::Random& r, int specials) {
  if (static_cast<int>(r.below(1000)) < specials) return inputs::value(r, 1.0f);
  return r.chance(5) ? std::ldexp(1.0f, r.between(-149, 127)) : static_cast<float>(r.normal());
}

}  // namespace

TEST_CASE("the extremes of a run", "[min_max]") {
  inputs::Random r(1);
  std::string failures;
  for (std::size_t n = 0; n < 20000; n = n < 300 ? n + 1 : n * 3 / 2)
    for (const int specials : {0, 1, 30, 1000}) {
      const std::size_t lead = r.below(16);
      std::vector<float> x(lead + n);
      for (float& v : x) v = value(r, specials);
      Extremes wanted;
      for (std::size_t i = 0; i < n; ++i) add(wanted, x[lead + i]);
      if (!equal(kernel::run(x.data() + lead, n), wanted)) failures += std::to_string(n) + " ";
    }
  CAPTURE(failures);
  CHECK(failures.empty());
}

TEST_CASE("the extremes of each of many rows", "[min_max]") {
  inputs::Random r(3);
  std::string failures;
  test::Share share;
  for (std::size_t length = 0; length <= 1100; length = length < 150 ? length + 1 : length * 2 - 31)
    for (const std::size_t count : {0u, 1u, 3u, 4u, 5u, 8u, 11u, 70u})
      for (const int specials : {0, 2, 300, 1000}) {
        if (!share.takes()) continue;
        const std::size_t stride = length + r.below(3), lead = r.below(5);
        std::vector<float> x(lead + stride * count + 1);
        for (float& v : x) v = value(r, specials);
        std::vector<float> low(count + 1, 7.0f), high(count + 1, 8.0f);
        kernel::rows(x.data() + lead, count, length, static_cast<std::ptrdiff_t>(stride),
                     low.data(), high.data());
        bool same = low[count] == 7.0f && high[count] == 8.0f;
        for (std::size_t k = 0; k < count; ++k) {
          Extremes wanted;
          for (std::size_t i = 0; i < length; ++i) add(wanted, x[lead + k * stride + i]);
          same = same && low[k] == wanted.min && high[k] == wanted.max;
        }
        if (!same) failures += std::to_string(count) + "x" + std::to_string(length) + " ";
      }
  CAPTURE(failures);
  CHECK(failures.empty());
}

TEST_CASE("one special value in one of many rows", "[min_max]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const std::size_t length : {32u, 300u})
    for (std::size_t at = 0; at < 140; ++at)
      for (const float special : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
        std::vector<float> x(140 * length, 2.0f), low(140), high(140);
        for (std::size_t k = 0; k < 140; ++k) x[k * length] = static_cast<float>(k + 3);
        x[at * length + at % (length - 1) + 1] = special;
        kernel::rows(x.data(), 140, length, static_cast<std::ptrdiff_t>(length), low.data(),
                     high.data());
        for (std::size_t k = 0; k < 140; ++k)
          if (low[k] != 2.0f || high[k] != static_cast<float>(k + 3))
            FAIL_CHECK("row " << k << ", special value in " << at);
      }
}

TEST_CASE("one special value at every place", "[min_max]") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                            infinity,
                            -infinity,
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::lowest(),
                            std::numeric_limits<float>::denorm_min()};
  int failed = 0;
  for (const std::size_t n : {70u, 257u})
    for (std::size_t at = 0; at < n; ++at)
      for (const float special : specials) {
        std::vector<float> x(n, 0.0f);
        x[at] = special;
        Extremes wanted;
        for (const float v : x) add(wanted, v);
        failed += !equal(kernel::run(x.data(), n), wanted);
        std::vector<Extremes> columns(n);
        kernel::columns(x.data(), 1, n, 0, columns.data());
        for (std::size_t i = 0; i < n; ++i) {
          Extremes one;
          add(one, x[i]);
          failed += !equal(columns[i], one);
        }
      }
  CHECK(failed == 0);
}

TEST_CASE("the extremes of columns are added to what was there", "[min_max]") {
  inputs::Random r(2);
  std::string failures;
  test::Share share;
  for (std::size_t n = 0; n <= 1300; n = n < 140 ? n + 1 : n * 2 + 1)
    for (const std::size_t rows : {0u, 1u, 2u, 7u, 8u, 9u, 17u, 40u})
      for (const int specials : {0, 2, 300}) {
        if (!share.takes()) continue;
        const auto signed_n = static_cast<std::ptrdiff_t>(n);
        const std::ptrdiff_t stride =
            r.chance(30) ? -signed_n - 2 : signed_n + static_cast<std::ptrdiff_t>(r.below(4));
        std::vector<float> x((n + 5) * rows + 1);
        for (float& v : x) v = value(r, specials);
        const std::ptrdiff_t first =
            stride < 0 && rows > 0 ? -stride * (static_cast<std::ptrdiff_t>(rows) - 1) : 0;
        std::vector<Extremes> got(n + 8), wanted;
        for (std::size_t i = 0; i < n; ++i)
          if (r.chance(50)) got[i] = {-0.5f, 0.25f, 3, 4};
        wanted = got;
        for (std::size_t k = 0; k < rows; ++k)
          for (std::size_t i = 0; i < n; ++i)
            add(wanted[i],
                x[static_cast<std::size_t>(first + static_cast<std::ptrdiff_t>(k) * stride) + i]);
        kernel::columns(x.data() + first, rows, n, stride, got.data());
        for (std::size_t i = 0; i < got.size(); ++i)
          if (!equal(got[i], wanted[i])) {
            failures +=
                std::to_string(rows) + "x" + std::to_string(n) + " at " + std::to_string(i) + "; ";
            break;
          }
      }
  CAPTURE(failures);
  CHECK(failures.empty());
}
