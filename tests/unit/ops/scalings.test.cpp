// SPDX-License-Identifier: MIT
// Scalings other than those that batches know: the kernels compute what they say.
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/ops/fake_quantize.hpp>
#include <tq/ops/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

struct TwiceAsMuch {
  static constexpr std::string_view name = "twice_as_much";
  static float apply(float x, float scale) noexcept { return 2 * (x / scale); }
};
using Twice = tq::Numerics<tq::NearestEven, TwiceAsMuch>;
using InHalf = tq::Numerics<tq::NearestEven, tq::DivideIn<tq::float16::format>>;

std::vector<float> values(std::size_t n) { return inputs::normals(n, 11, 3); }

// Codes under Twice are those of the default with half the scale.
template <class T>
void check_twice() {
  using P = tq::QuantParams<T, tq::PerTensor, tq::Symmetric>;
  const std::vector<float> x = values(301);
  std::vector<typename T::code_type> a(x.size()), b(x.size());
  tq::quantize(x, P(0.25f), a, Twice{});
  tq::quantize(x, P(0.125f), b);
  INFO(T::name);
  CHECK(a == b);
}

}  // namespace

TEST_CASE("a scaling of the user's own is the one that is used", "[scalings]") {
  check_twice<tq::int8>();
  check_twice<tq::int16>();
  check_twice<tq::float8_e4m3fn>();
  check_twice<tq::float4_e2m1fn>();
  check_twice<tq::nf4>();
  using P = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  const std::vector<float> x = values(301);
  const std::vector<float> a = tq::fake_quantize(x, P(0.25f), Twice{});
  std::vector<float> b = tq::fake_quantize(x, P(0.125f));
  for (float& v : b) v *= 2;
  CHECK(a == b);
}

TEST_CASE("numbers of float16 are divided in float16", "[scalings]") {
  using P = tq::QuantParams<tq::int16, tq::PerTensor, tq::Symmetric>;
  // 2047 / 3 = 682.33..., in float16 682.5, which is a tie; 2045 / 3 = 681.67 becomes 681.5.
  const std::vector<float> x{2047, -2047, 2045, 3, 0};
  std::vector<std::int16_t> codes(x.size());
  tq::quantize(x, P(3.0f), codes, InHalf{});
  CHECK(codes == std::vector<std::int16_t>{682, -682, 682, 1, 0});
  tq::quantize(x, P(1.5f), codes, InHalf{});  // 1364.67: whole numbers only from 1024 on
  CHECK(codes == std::vector<std::int16_t>{1365, -1365, 1363, 2, 0});
}
