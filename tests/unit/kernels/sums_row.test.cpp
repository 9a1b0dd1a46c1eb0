// SPDX-License-Identifier: MIT
#include <tq/kernels/sums_row.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace {

using Arch = tq::arch::native;
using tq::driver::numbers_at, tq::driver::shared_number;
using tq::kernels::Rescale;
constexpr std::size_t most = 150, padding = 64;

struct Numbers {
  std::vector<float> scales, real;
  std::vector<std::int32_t> sums, whole;

  explicit Numbers(std::uint32_t seed)
      : scales(most + padding), real(scales), sums(scales.size()), whole(scales.size()) {
    std::mt19937 random(seed);
    const auto number = [&](int exponent) {
      return std::ldexp(static_cast<float>(random() % 2000) - 1000.0f,
                        static_cast<int>(random() % 40) + exponent);
    };
    for (std::size_t i = 0; i < most; ++i) {
      scales[i] = std::abs(number(-30));
      real[i] = number(-30);
      whole[i] = static_cast<std::int32_t>(random() % 2000) - 1000;
      sums[i] = static_cast<std::int32_t>(random()) >> (random() % 30 + 1);
    }
    sums[0] = whole[0] = 0;
    real[0] = -0.0f;
  }
};

// Volatile, as compilers otherwise fuse the product and the sum.
float rescaled(std::int32_t sum, float x, float w, float real, float low, float high) {
  const float scale = x * w;
  const volatile float product = static_cast<float>(sum) * scale;
  return std::clamp(product + real, low, high);
}

std::uint32_t bits(float v) { return std::bit_cast<std::uint32_t>(v); }

}  // namespace

TEST_CASE("sums of rows of every length become floats, and nothing behind them is written") {
  const Numbers all(1);
  std::array<float, tq::kernels::widest_register> x;
  x.fill(0.3f);
  for (const auto& [low, high] : {std::array{0.0f, 1e5f}, std::array{-HUGE_VALF, HUGE_VALF}})
    for (std::size_t n = 0; n <= most; ++n) {
      const std::size_t at = most - n;
      std::vector<float> out(n + 1, -7.0f);
      tq::kernels::sums_row<Arch>(
          Rescale(low, high), all.sums.data() + at, out.data(), n,
          {shared_number(x.data()), numbers_at(all.scales.data() + at),
           numbers_at(all.whole.data() + at), numbers_at(all.real.data() + at)});
      bool same = out[n] == -7.0f;
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t k = at + i;
        same = same && bits(out[i]) == bits(rescaled(all.sums[k] + all.whole[k], 0.3f,
                                                     all.scales[k], all.real[k], low, high));
      }
      CHECK(same);
    }
}

TEST_CASE("a float below the limits by its sign only stays what it is") {
  std::array<float, tq::kernels::widest_register> x, tiny;
  x.fill(1e-40f);
  tiny.fill(1e-40f);
  std::array<std::int32_t, tq::kernels::widest_register> none{};
  std::array<float, tq::kernels::widest_register> nothing;
  nothing.fill(-0.0f);
  const std::array<std::int32_t, 9> sums{-1, -1, -1, -1, -1, -1, -1, -1, -1};
  std::array<float, 9> out{};
  tq::kernels::sums_row<Arch>(Rescale(0.0f, 1.0f), sums.data(), out.data(), sums.size(),
                              {shared_number(x.data()), shared_number(tiny.data()),
                               shared_number(none.data()), shared_number(nothing.data())});
  for (const float v : out) CHECK(bits(v) == 0x80000000u);
}
