// SPDX-License-Identifier: MIT
#include <tq/linear/byte_weights.hpp>
#include <tq/linear/conv2d.hpp>
#include <tq/linear/float_linear.hpp>
#include <tq/linear/grouped_linear.hpp>
#include <tq/linear/grouped_weights_bytes.hpp>
#include <tq/linear/matmul.hpp>
#include <tq/linear/packed_weights_bytes.hpp>
#include <tq/linear/quantized_embedding.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/error_check.hpp"
#include "support/extents.hpp"

namespace {

constexpr std::size_t half = std::size_t{1} << 63;

// Weights of one code at most, and products by them where they are.
void try_weights(const tq::Shape& shape) {
  const std::int8_t code = 1;
  const float value = 1;
  float result = 0;
  std::int32_t sum = 0;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}})
    test::works_or_refuses([&] {
      const tq::ByteWeights weights(std::span(&code, count), shape, shape, {1.0f}, {});
      const tq::PackedWeights packed(weights);
      (void)tq::load_packed_weights(tq::save_packed_weights(packed));
    });
  test::works_or_refuses([&] {
    const tq::PackedWeights packed(tq::TensorView<const std::int8_t>(&code, shape));
    for (const std::size_t rows : test::extents) {
      const tq::Shape in{rows, packed.inputs()}, out{rows, packed.outputs()};
      if (!test::fits_one_element(in) || !test::fits_one_element(out)) continue;
      test::works_or_refuses([&] {
        tq::matmul_integer(tq::TensorView<const std::int8_t>(&code, in), {}, packed,
                           tq::TensorView<std::int32_t>(&sum, out));
      });
    }
  });
  test::works_or_refuses([&] {
    const tq::FloatLinear layer(tq::ConstTensorView(&value, shape));
    for (const std::size_t rows : test::extents) {
      const tq::Shape in{rows, layer.inputs()}, out{rows, layer.outputs()};
      if (!test::fits_one_element(in) || !test::fits_one_element(out)) continue;
      test::works_or_refuses([&] {
        layer.forward(tq::ConstTensorView(&value, in), tq::TensorView<float>(&result, out));
      });
    }
  });
  test::works_or_refuses(
      [&] { (void)tq::QuantizedEmbedding<4>(tq::ConstTensorView(&value, shape)); });
}

void try_groups(const tq::Shape& shape, const tq::Shape& block) {
  float value = 1, result = 0;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}})
    test::works_or_refuses([&] {
      tq::GroupedCodes codes{
          tq::LevelMap::of_integers(0, 15), shape, block, tq::Buffer<std::uint8_t>(count),
          std::vector<float>(count, 1.0f),  {}};
      if (count != 0) *codes.packed.data() = 3;
      tq::GroupedWeights weights(codes);
      (void)tq::load_grouped_weights(tq::save_grouped_weights(weights));
      const tq::GroupedLinear<tq::Int8PerRow> layer(std::move(weights));
      for (const std::size_t rows : test::extents) {
        const tq::Shape in{rows, shape[1]}, out{rows, shape[0]};
        if (!test::fits_one_element(in) || !test::fits_one_element(out)) continue;
        test::works_or_refuses([&] {
          layer.forward(tq::ConstTensorView(&value, in), tq::TensorView<float>(&result, out));
        });
      }
    });
}

}  // namespace

TEST_CASE("weights of any extents are packed, or refused", "[extents]") {
  for (int rank = 0; rank <= 3; ++rank)
    test::for_each_shape(rank, [](const tq::Shape& shape) {
      if (!test::fits_one_element(shape)) return;
      INFO(to_string(shape));
      try_weights(shape);
    });
  test::for_each_shape(2, [](const tq::Shape& shape) {
    if (!test::fits_one_element(shape)) return;
    test::for_each_shape(2, [&](const tq::Shape& block) {
      INFO(to_string(shape) << " in blocks of " << to_string(block));
      try_groups(shape, block);
    });
  });
}

TEST_CASE("filters of any extents are packed, or refused", "[extents]") {
  const std::int8_t code = 1;
  test::for_each_shape(4, [&](const tq::Shape& shape) {
    if (!test::fits_one_element(shape)) return;
    INFO(to_string(shape));
    for (const std::size_t groups : test::extents)
      test::works_or_refuses([&] {
        (void)tq::PackedFilters(tq::TensorView<const std::int8_t>(&code, shape), groups);
      });
  });
}

TEST_CASE("convolutions of any geometry work, or refuse it", "[extents]") {
  const std::int8_t code = 1, weights[2] = {1, 2};
  std::int32_t sum = 0;
  const tq::TensorView<const std::int8_t> x(&code, {1, 1, 1, 1});
  for (const std::size_t kernel : {1u, 2u}) {
    const tq::PackedFilters filters(tq::TensorView<const std::int8_t>(weights, {1, 1, 1, kernel}));
    test::for_each_shape(4, [&](const tq::Shape& s) {
      const tq::ConvGeometry geometry{{1, s[0]}, {1, s[1]}, {0, s[2]}, {0, s[3]}};
      INFO(to_string(s));
      test::works_or_refuses([&] {
        const std::size_t outputs = geometry.outputs(1, 1, kernel);
        if (outputs == 1 || outputs > tq::detail::most_in_memory)
          tq::conv2d_integer(x, 0, filters, geometry,
                             tq::TensorView<std::int32_t>(&sum, {1, 1, 1, outputs}));
      });
    });
  }
}

TEST_CASE("rows of embeddings of any width are taken, or refused", "[extents]") {
  const std::vector<std::byte> bytes(16);
  const std::vector<std::int32_t> none;
  for (std::size_t width : test::extents)
    for (const std::size_t less : {0u, 1u, 3u, 7u, 8u})
      for (const std::size_t count : {0u, 16u})
        test::works_or_refuses([&] {
          const tq::QuantizedEmbedding<2> table(width - less, std::span(bytes).first(count));
          float y = 0;
          table.gather(none, tq::TensorView<float>(&y, {0, table.width()}));
        });
}

TEST_CASE("negative paddings, and reaches beyond 2^64, are refused by name", "[extents]") {
  const auto outputs = [](const tq::ConvGeometry& g) { (void)g.outputs(1, 8, 3); };
  test::raises(
      tq::errc::bad_argument,
      {"paddings before", "at least 0", "got -1 (which is 18446744073709551615 as a size)"},
      [&] { outputs({.pads_before = {0, static_cast<std::size_t>(-1)}}); });
  test::raises(tq::errc::bad_argument, {"paddings after", "got -2"},
               [&] { outputs({.pads_after = {0, static_cast<std::size_t>(-2)}}); });
  test::raises(tq::errc::bad_argument, {"dilations of at least 1", "got -9223372036854775808"},
               [&] { outputs({.dilations = {1, half}}); });
  test::raises(tq::errc::bad_argument, {"at least 9223372036854775807", "got 8"},
               [&] { outputs({.dilations = {1, half / 2 - 1}}); });
  test::raises(tq::errc::bad_argument, {"less than 2^63", "with 9223372036854775807 before"},
               [&] { outputs({.pads_before = {0, half - 1}}); });
}

TEST_CASE("a saved file of no codes takes no time for its outputs", "[extents]") {
  std::vector<std::byte> bytes(68);
  tq::detail::put_number(bytes, 40, std::uint64_t{32});               // inputs of a group
  tq::detail::put_number(bytes, 52, static_cast<std::uint32_t>(-8));  // the lowest code
  tq::detail::put_number(bytes, 56, std::uint32_t{7});
  tq::detail::put_number(bytes, 64, std::uint32_t{8});
  tq::detail::grouped_format.seal(bytes, {32, std::uint64_t{1} << 31, 0});
  test::raises(tq::errc::malformed, {"tq::load_grouped_weights", "2147483648 outputs of 0 inputs"},
               [&] { (void)tq::load_grouped_weights(bytes); });
}
