// SPDX-License-Identifier: MIT
#include <tq/linear/output/code_output.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {
using tq::Bias;
using tq::CodeOutput;
using Bytes = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
}  // namespace

TEST_CASE("the bounds of a clamp are codes, to nearest even, within those there are") {
  const auto range = [](float scale, std::int32_t zero_point, tq::Clamp clamp) {
    const auto r =
        CodeOutput(Bytes(scale, zero_point), clamp).requantization(1.0f, std::array{1.0f}, {});
    return std::array{r.low, r.high};
  };
  CHECK(range(0.1f, 30, {}) == std::array{0, 255});
  CHECK(range(0.1f, 30, tq::Clamp::relu()) == std::array{30, 255});
  CHECK(range(0.1f, 30, tq::Clamp::relu6()) == std::array{30, 90});
  CHECK(range(0.5f, 10, {-1.25f, 1.75f}) == std::array{8, 14});
  CHECK(range(4.0f, 10, tq::Clamp::relu6()) == std::array{10, 12});
  CHECK(range(0.001f, 200, tq::Clamp::relu6()) == std::array{200, 255});
  CHECK(range(0.001f, 200, {-3e38f, -1e38f}) == std::array{0, 0});
  test::raises(tq::errc::bad_argument, {"CodeOutput", "2 to 1"},
               [] { CodeOutput(Bytes(0.1f, 3), {2.0f, 1.0f}); });
  test::raises(tq::errc::bad_argument, {"a clamp", "nan"},
               [] { CodeOutput(Bytes(0.1f, 3), {std::nanf(""), 1.0f}); });
}

TEST_CASE("a requantization has the factors of its scales, and biases in steps") {
  const std::array w{0.5f, 0.25f, 2.0f};
  const CodeOutput out(Bytes(0.5f, 7));
  const auto r = out.requantization(2.0f, w, Bias(std::array{3.0f, 3.0f, -2.0f}));
  CHECK(r.factors == std::vector<double>{2, 1, 8});
  CHECK(r.bias == std::vector<std::int32_t>{3, 6, 0});  // -0.5 is a tie
  const auto stage = r.stage();
  CHECK(stage(10, 1) == 16 + 7);
  CHECK(stage(10, 2) == 80 + 7);
  const auto given = out.requantization(2.0f, w, Bias(std::vector<std::int32_t>{1, 2, 3}));
  CHECK(given.bias == std::vector<std::int32_t>{1, 2, 3});
  CHECK(given.stage()(-3, 2) == 7);

  const auto torch = CodeOutput(Bytes(0.5f, 7), {}, tq::RequantizeTorch{})
                         .requantization(2.0f, w, Bias(std::array{3.0f, 3.0f, -2.0f}));
  CHECK(torch.bias == std::vector<float>{3, 6, -0.5f});
  CHECK(torch.stage()(1, 2) == 11);  // 8 * 0.5
}

TEST_CASE("a bound of a clamp becomes a code as the numerics of the source say") {
  struct Trained {
    using params_type = Bytes;
    Bytes p{0.00214854861f, 0};
    [[nodiscard]] const Bytes& params() const { return p; }
    [[nodiscard]] tq::numerics::torch numerics() const { return {}; }
  };
  const tq::Clamp clamp{-0.273939937f, 0.273939937f};  // 127.49999 by division
  const std::array one{1.0f};
  CHECK(CodeOutput(Bytes(0.00214854861f, 0), clamp).requantization(1.0f, one, {}).high == 127);
  CHECK(CodeOutput(Trained{}, clamp).requantization(1.0f, one, {}).high == 128);
  CHECK(CodeOutput(Trained{}, {}, tq::RequantizeTorch{}).requantization(1.0f, one, {}).high == 255);
  CHECK(CodeOutput(Trained{{1e-45f, 9}}, {}).requantization(1e-45f, one, {}).low == 0);
}

namespace {
// The code of an output that has nothing but a bias, in double.
std::int32_t code_of_bias(float bias, float scale, std::int32_t zero_point) {
  const double steps = std::nearbyint(double(bias / scale)) + zero_point;
  return static_cast<std::int32_t>(std::clamp(steps, 0.0, 255.0));
}

template <class R>
void check_zero_weights(R rounding) {
  std::mt19937 random(7);
  const auto power = [&](int low, int high) {
    const int e = low + static_cast<int>(random() % static_cast<unsigned>(high - low));
    return std::ldexp(1.0f + 0x1p-24f * static_cast<float>(random() % (1u << 24)), e);
  };
  int failed = 0;
  for (int round = 0; round < 3000; ++round) {
    const float y = power(-20, 20), x = power(-60, 60);
    const auto zero_point = static_cast<std::int32_t>(random() % 256);
    const std::array w{power(-60, 60), power(-3, 3)};
    const std::array bias{y * power(-30, 12) * (random() % 2 == 0 ? 1.0f : -1.0f), 0.0f};
    const CodeOutput out(Bytes(y, zero_point), {}, rounding);
    const auto is_zero = [](std::size_t) { return true; };
    const double exact = double(bias[0] / y) * 2;  // ties go as each rounding says
    if (std::nearbyint(exact) == exact) continue;
    for (const std::size_t n : {std::size_t{1}, std::size_t{2}})  // one scale, and two
      failed += out.requantization(x, std::span(w).first(n), Bias(bias), is_zero).stage()(0, 0) !=
                code_of_bias(bias[0], y, zero_point);
  }
  CHECK(failed == 0);
}
}  // namespace

TEST_CASE("outputs whose weights are all 0 have the codes of their biases") {
  check_zero_weights(tq::RequantizeFloat{});
  check_zero_weights(tq::RequantizeTorch{});
  check_zero_weights(tq::RequantizeSingle{});
  check_zero_weights(tq::RequantizeUp{});
  check_zero_weights(tq::FloatProduct<tq::RequantizeSingle>{});
  const auto near = [](auto rounding) {  // rounds twice: 15.2 is no tie
    return CodeOutput(Bytes(0.02f, 0), {}, rounding)
        .requantization(1.0f, std::array{1.0f}, Bias(std::array{0.304f}),
                        [](std::size_t) { return true; })
        .stage()(0, 0);
  };
  CHECK(near(tq::RequantizeDouble{}) == 15);
  // Others keep the steps of their weights.
  const auto mixed = CodeOutput(Bytes(0.02f, 0))
                         .requantization(1.0f, std::array{0.5f}, Bias(std::array{0.3f, 1.0f}),
                                         [](std::size_t n) { return n == 0; });
  CHECK(mixed.factors.size() == 1);
  CHECK(mixed.bias == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("extreme scales and biases have codes, or are refused, in every rounding") {
  constexpr float tiny = std::numeric_limits<float>::denorm_min(),
                  most = std::numeric_limits<float>::max();
  const std::array<float, 8> scales{tiny, 1e-30f, 1e-10f, 0.02f, 1.0f, 1e10f, 1e30f, most};
  int made = 0, refused = 0;
  const auto check = [&](auto rounding) {
    for (const float x : scales)
      for (const float w : scales)
        for (const float y : scales)
          for (const float b : {0.0f, -0.0f, tiny, -1.0f, 1e30f, -most}) {
            const CodeOutput out(Bytes(y, 100), {}, rounding);
            try {
              const auto r = out.requantization(x, std::array{w, w}, Bias(std::array{b, 1.0f}));
              const auto stage = r.stage();
              const std::int32_t sign = r.bias[0] > 0 ? -1 : 1;  // so that 32 bits hold the sum
              for (const std::int32_t sum : {0, sign, sign * (1 << 29)})
                REQUIRE((stage(sum, 0) >= 0 && stage(sum, 0) <= 255));
              ++made;
            } catch (const tq::error&) {
              ++refused;
            }
          }
  };
  check(tq::RequantizeFloat{});
  check(tq::RequantizeTorch{});
  check(tq::RequantizeDouble{});
  check(tq::RequantizeSingle{});
  check(tq::RequantizeUp{});
  CHECK(made > 1000);
  CHECK(refused > 1000);
  const CodeOutput torch(Bytes(1.0f, 0), {}, tq::RequantizeTorch{});
  test::raises(tq::errc::bad_scale, {"tq::CodeOutput", "output 1", "1e-30 * 1e-30"}, [&] {
    (void)torch.requantization(1e-30f, std::array{1e-30f}, Bias(std::array{0.0f, 1.0f}));
  });
  test::raises(tq::errc::not_finite, {"tq::OutputStage", "nan", "output 0"}, [] {
    const std::array one{1.0};
    (void)tq::OutputStage<tq::RequantizeTorch>(one, 0, 0, 255, std::array{std::nanf("")});
  });
}
