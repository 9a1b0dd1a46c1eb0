// SPDX-License-Identifier: MIT
#include <tq/checkpoints/int8_scaled.hpp>
#include <tq/linear/quantized_linear.hpp>

#include "checkpoint_test.hpp"

using namespace checkpoint_test;

TEST_CASE("int8 has one scale, one an output or one a group, zero and negative ones as well",
          "[checkpoints][int8_scaled]") {
  File rows;
  rows.add("l.weight", {2, 3}, std::vector<std::int8_t>{1, -128, 3, 4, 5, 6});
  rows.add("l.weight_scale", {2, 1}, std::vector<float>{0.5f, 0});  // a dead row
  CHECK(rows.values() == std::vector<float>{0.5f, -64, 1.5f, 0, 0, 0});
  rows.add("l.weight_scale", {2, 1}, std::vector<float>{-0.5f, 1});
  CHECK(rows.values() == std::vector<float>{-0.5f, 64, -1.5f, 4, 5, 6});
  check_layer(rows.load());
  rows.add("l.weight_scale", {1}, std::vector<float>{2});
  CHECK(rows.values() == std::vector<float>{2, -256, 6, 8, 10, 12});
  check_layer(rows.load());
  rows.add("l.weight_zero_point", {1}, std::vector<std::int8_t>{-3});
  CHECK(rows.values() == std::vector<float>{8, -250, 12, 14, 16, 18});
  check_layer(rows.load());
}

TEST_CASE("int8 with a scale an output is the weight of an integer layer, without floats",
          "[checkpoints][int8_scaled]") {
  inputs::Random r(61);
  constexpr std::size_t n = 7, k = 50, rows = 2;
  File file;
  std::vector<std::int8_t> codes(n * k);
  for (auto& c : codes) c = static_cast<std::int8_t>(r.between(-128, 127));
  std::vector<float> scales(n), x(rows * k), y(rows * n), expected(rows * n);
  for (float& s : scales) s = static_cast<float>(0.01 + r.unit());
  for (float& v : x) v = static_cast<float>(r.normal());
  file.add("l.weight", {n, k}, codes);
  file.add("l.weight_scale", {n, 1}, scales);
  const tq::QuantizedLinear layer(tq::byte_weights_of(file.load()));
  layer.forward(tq::ConstTensorView(x.data(), {rows, k}),
                tq::TensorView<float>(y.data(), {rows, n}));
  // The same layer of static types.
  using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  tq::QuantizedTensor<W8> q(tq::Shape{n, k}, W8({}, scales));
  std::copy(codes.begin(), codes.end(), q.codes().begin());
  tq::QuantizedLinear(tq::ByteWeights(q))
      .forward(tq::ConstTensorView(x.data(), {rows, k}),
               tq::TensorView<float>(expected.data(), {rows, n}));
  CHECK(y == expected);
}
