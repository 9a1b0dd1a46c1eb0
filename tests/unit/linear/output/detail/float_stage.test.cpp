// SPDX-License-Identifier: MIT
#include <tq/linear/output/detail/float_stage.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {
using tq::Bias;
}  // namespace

namespace {
float value(const tq::detail::FloatStage& stage, std::int32_t sum, std::size_t n, float x_scale) {
  float out = 0;
  stage.row<tq::arch::native>(&sum, n, 1, x_scale, &out);
  return out;
}
}  // namespace

TEST_CASE("floats of sums: scaled, then with their bias, then clamped") {
  const std::array w{0.5f, 2.0f};
  const tq::detail::FloatStage real(2, w, Bias(std::array{1.0f, -1.0f}), {-4.0f, 4.0f});
  CHECK(value(real, 3, 0, 0.5f) == 1.75f);
  CHECK(value(real, 3, 1, 0.5f) == 2.0f);
  CHECK(value(real, 300, 1, 0.5f) == 4.0f);
  CHECK(value(real, -300, 0, 0.5f) == -4.0f);
  const tq::detail::FloatStage whole(2, std::array{0.5f}, Bias(std::vector<std::int32_t>{4, 5}),
                                     {});
  CHECK(value(whole, 3, 1, 0.5f) == 2.0f);
  const tq::detail::FloatStage none(1, std::array{1e-40f}, {}, {});
  CHECK(std::signbit(value(none, -1, 0, 1e-40f)));  // an underflow keeps its sign
  whole.require_finite("here", std::array{1e38f, 0.5f});
  const tq::detail::FloatStage large(2, std::array{1.0f, 1e10f}, {}, {});
  test::raises(tq::errc::bad_scale, {"here", "1e+30 of x", "1e+10 of weights"},
               [&] { large.require_finite("here", std::array{1.0f, 1e30f}); });
}
