// SPDX-License-Identifier: MIT
#include <tq/kernels/short_reductions.hpp>

#include <cstddef>
#include <limits>
#include <vector>

#include "support/catch.hpp"

#if TQ_HAS_SIMD

namespace {

using arch = tq::arch::native;
using F = tq::arch::floats<arch>;

// The largest values; "not finite" is 1000 and above.
struct Largest {
  F top = F(-std::numeric_limits<float>::infinity());
  static F batch(const float* p) noexcept { return F::load_unaligned(p); }
  void add(const F& v) noexcept { top = xsimd::max(top, v); }
  void join(const Largest& other) noexcept { add(other.top); }
  float value() const noexcept { return tq::arch::lanes<arch>::highest(top); }

  struct Watch {
    float most = 0;
    void add(const Largest (&of)[4]) noexcept {
      for (const Largest& l : of) most = l.value() > most ? l.value() : most;
    }
    bool all_finite() const noexcept { return most < 1000; }
  };
};
using fours = tq::kernels::short_reductions<arch, Largest>;

}  // namespace

TEST_CASE("short_reductions: every value of every stretch counts, and none between them",
          "[short_reductions]") {
  for (std::size_t length = 1; length <= 20 * fours::width;
       length += length < 5 * fours::width ? 1 : fours::width + 1)
    for (const std::size_t count : {0u, 1u, 4u, 7u, 64u, 69u}) {
      const std::size_t stride = length + 1;
      std::vector<float> x(count * stride, 999.0f);  // between the stretches
      for (std::size_t k = 0; k < count; ++k)
        for (std::size_t i = 0; i < length; ++i)
          x[k * stride + i] = i == k * 5 % length ? static_cast<float>(k) : -1.0f;
      std::vector<float> found(count, -2.0f);
      std::size_t put = 0, alone = 0;
      fours::run(
          x.data(), count, length, static_cast<std::ptrdiff_t>(stride),
          [&](std::size_t k, const Largest(&of)[4]) {
            for (std::size_t r = 0; r < 4; ++r) found[k + r] = of[r].value();
            put += 4;
          },
          [&](std::size_t k, const float* at) {
            CHECK(at == x.data() + k * stride);
            found[k] = at[k * 5 % length];
            ++alone;
          });
      CHECK(put == (length < fours::width ? 0 : count / 4 * 4));
      CHECK(put + alone == count);
      bool right = true;
      for (std::size_t k = 0; k < count; ++k) right = right && found[k] == static_cast<float>(k);
      CHECK(right);
    }
}

TEST_CASE(
    "short_reductions: stretches near one that is not finite come one by one, the others do not",
    "[short_reductions]") {
  constexpr std::size_t count = 200, length = 3 * fours::width;
  for (std::size_t special = 0; special < count; special += 13) {
    std::vector<float> x(count * length, 1.0f);
    x[special * length + special % length] = 1000.0f;
    std::vector<bool> alone(count);
    fours::run(
        x.data(), count, length, static_cast<std::ptrdiff_t>(length),
        [](std::size_t, const Largest(&)[4]) {},
        [&](std::size_t k, const float*) { alone[k] = true; });
    bool right = true;
    for (std::size_t k = 0; k < count; ++k) right = right && alone[k] == (k / 64 == special / 64);
    CHECK(right);
  }
}

#endif
