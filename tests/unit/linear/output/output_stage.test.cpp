// SPDX-License-Identifier: MIT
#include <tq/linear/output/output_stage.hpp>

#include <tq/arch/scalar.hpp>
#include <tq/linear/output/float_product.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {
using tq::OutputStage;
}  // namespace

TEST_CASE("a row of sums of any length has the codes of its sums one by one", "[output_stage]") {
  const auto check_rows = [&]<class R, class Arch>(std::uint64_t seed, bool one_factor,
                                                   bool has_bias) {
    using Bias = typename OutputStage<R>::bias_type;
    inputs::Random r(seed);
    const std::size_t outputs = 150;
    std::vector<double> factors(one_factor ? 1 : outputs);
    for (auto& f : factors) f = std::ldexp(0.5 + r.unit() / 2, r.between(-31, 20));
    std::vector<Bias> bias(has_bias ? outputs : 0);
    for (auto& b : bias) b = static_cast<Bias>(r.between(-100'000, 100'000));
    std::vector<std::int32_t> sums(outputs);
    for (auto& s : sums) {
      s = static_cast<std::int32_t>(r.bits()) >> r.between(0, 31);
      s = std::clamp(s, -2'000'000'000, 2'000'000'000);
    }
    constexpr std::array zeros{std::numeric_limits<std::int32_t>::min() + 100, -700, 700,
                               std::numeric_limits<std::int32_t>::max() - 100};
    const std::int32_t zero_point =
        seed % 5 == 0 ? zeros[r.below(zeros.size())] : r.between(-100, 100);
    const OutputStage<R> stage(factors, zero_point, -128, seed % 7 == 0 ? 80 : 127, bias);
    bool equal = true;
    for (std::size_t first = 0; first < 9; ++first)
      for (std::size_t n = 0; first + n <= outputs; n += 1 + n / 8) {
        std::vector<std::int8_t> codes(n + 1, 77);
        stage.template row<Arch>(sums.data() + first, first, n, codes.data());
        equal = equal && codes[n] == 77;
        for (std::size_t i = 0; i < n; ++i)
          equal = equal && codes[i] == stage(sums[first + i], first + i);
      }
    return equal;
  };
  const auto check_all = [&]<class R>() {
    for (std::uint64_t seed = 0; seed < 35; ++seed)
      CHECK(
          check_rows.template operator()<R, tq::arch::native>(seed, seed % 4 == 0, seed % 3 != 0));
    CHECK(check_rows.template operator()<R, tq::arch::scalar>(99, false, true));
  };
  check_all.template operator()<tq::RequantizeFloat>();
  check_all.template operator()<tq::RequantizeTorch>();
  check_all.template operator()<tq::RequantizeDouble>();
  check_all.template operator()<tq::RequantizeSingle>();
  check_all.template operator()<tq::RequantizeUp>();
  check_all.template operator()<tq::FloatProduct<tq::RequantizeDouble>>();
}

TEST_CASE("codes of rows are those of single sums") {
  std::mt19937 random(6);
  constexpr std::size_t most = 150;
  std::vector<double> factors(most);
  std::vector<std::int32_t> sums(most), bias(most);
  for (std::size_t i = 0; i < most; ++i) {
    factors[i] = std::ldexp(static_cast<double>(random() % 1000 + 1), -20);
    sums[i] = static_cast<std::int32_t>(random()) >> (random() % 24 + 8);
    bias[i] = static_cast<std::int32_t>(random() % 2000) - 1000;
  }
  sums[0] = std::numeric_limits<std::int32_t>::max(), bias[0] = 0, factors[0] = 4e6;
  const auto agree = [&](const auto& stage, auto code) {
    using Code = decltype(code);
    for (std::size_t n = 0; n <= most; ++n) {
      const std::size_t first = most - n;
      std::vector<Code> out(n + 1, Code{77});
      stage.template row<tq::arch::native>(sums.data() + first, first, n, out.data());
      bool same = out[n] == Code{77};
      for (std::size_t i = 0; i < n; ++i)
        same = same && out[i] == stage(sums[first + i], first + i);
      CHECK(same);
    }
  };
  const std::span<const double> one(factors.data() + 1, 1);
  agree(OutputStage<>(factors, 3, -128, 127, bias), std::int8_t{});
  agree(OutputStage<>(one, 130, 130, 255), std::uint8_t{});
  agree(OutputStage<tq::RequantizeUp>(one, 3, -128, 127, bias), std::int8_t{});
}

TEST_CASE("one factor serves all outputs, and no bias is 0") {
  const OutputStage<> stage(std::array{0.25}, -3, -128, 127);
  CHECK(stage(10, 0) == -1);
  CHECK(stage(14, 7) == 1);
  CHECK(stage(1000, 3) == 127);
  CHECK(stage(std::numeric_limits<std::int32_t>::min(), 3) == -128);
}

TEST_CASE("stages of no range and of no factor are refused") {
  test::raises(tq::errc::bad_argument, {"a range of codes", "1 to 0"},
               [&] { OutputStage<>(std::array{0.1}, 0, 1, 0); });
  test::raises(tq::errc::bad_argument, {"a factor"}, [&] { OutputStage<>({}, 0, 0, 1); });
  test::raises(tq::errc::bad_scale, {"at least 0"},
               [&] { OutputStage<>(std::array{-0.1}, 0, 0, 1); });
}
