// SPDX-License-Identifier: MIT
#include <tq/core/as_tensor.hpp>
#include <tq/core/formats.hpp>
#include <tq/ops/dynamic_outputs.hpp>
#include <tq/ops/quantize_dynamic.hpp>
#include <tq/ops/tensor_scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {
using D8 = tq::QuantParams<tq::int8, tq::PerToken, tq::Symmetric>;
using U4 = tq::QuantParams<tq::uint4, tq::PerToken, tq::Asymmetric>;
}  // namespace

TEST_CASE("named outputs get what a new tensor gets", "[quantize_dynamic]") {
  const std::vector<float> values = inputs::normals(6 * 32, 5);
  const auto x = tq::as_tensor(values, {6, 32});
  std::vector<float> scales(6);
  std::vector<std::int32_t> zero_points(6);

  std::vector<std::int8_t> codes(values.size());
  tq::quantize_dynamic<D8>(x, {.codes = codes, .scales = scales});
  const auto q = tq::quantize_dynamic<D8>(x);
  CHECK(std::ranges::equal(codes, q.codes()));
  CHECK(std::ranges::equal(scales, q.params().scales()));

  std::vector<std::byte> packed(values.size() / 2);
  tq::quantize_dynamic<U4>(x, {.codes = packed, .scales = scales, .zero_points = zero_points},
                           tq::serial, tq::HighFirst{}, tq::numerics::torch{});
  const auto q4 = tq::quantize_dynamic<U4>(x, tq::HighFirst{}, tq::numerics::torch{});
  CHECK(std::ranges::equal(packed, q4.bytes()));
  CHECK(std::ranges::equal(scales, q4.params().scales()));
  CHECK(std::ranges::equal(zero_points, q4.params().zero_points()));

  std::vector<std::byte> blocks(values.size() / 2);
  std::vector<std::uint8_t> block_scales(values.size() / 16);
  tq::quantize_dynamic<tq::nvfp4>(
      x, {.codes = blocks, .scales = block_scales, .tensor_scale = tq::tensor_scale<tq::nvfp4>(x)});
  CHECK(std::ranges::equal(blocks, tq::quantize_dynamic<tq::nvfp4>(x).bytes()));
}

TEST_CASE("named outputs that do not fit are refused", "[quantize_dynamic]") {
  const std::vector<float> values(64, 1.0f);
  const auto x = tq::as_tensor(values, {2, 32});
  std::vector<std::int8_t> codes(64, 9), few(63);
  std::vector<float> scales(2), none;
  using tq::errc;
  test::raises(errc::shape_mismatch, {"scales", "2", "0"},
               [&] { tq::quantize_dynamic<D8>(x, {.codes = codes, .scales = none}); });
  test::raises(errc::shape_mismatch, {"63"},
               [&] { tq::quantize_dynamic<D8>(x, {.codes = few, .scales = scales}); });
  std::vector<std::uint8_t> block_scales(4);
  std::vector<std::byte> packed(32);
  test::raises(errc::bad_scale, {"tq::quantize_dynamic"}, [&] {  // no tensor scale
    tq::quantize_dynamic<tq::nvfp4>(x, {.codes = packed, .scales = block_scales});
  });
  CHECK(std::ranges::all_of(codes, [](std::int8_t c) { return c == 9; }));
}
