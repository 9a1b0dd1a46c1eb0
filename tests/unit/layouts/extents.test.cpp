// SPDX-License-Identifier: MIT
#include <tq/layouts/awq.hpp>
#include <tq/layouts/bitsandbytes.hpp>
#include <tq/layouts/compressed_tensors.hpp>
#include <tq/layouts/detail/scale_grid.hpp>
#include <tq/layouts/gptq.hpp>
#include <tq/layouts/matmul_nbits.hpp>
#include <tq/layouts/microscaling.hpp>
#include <tq/layouts/nvfp4.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/extents.hpp"

namespace {

namespace layouts = tq::layouts;

void try_groups(const tq::GroupedShape& shape) {
  const std::int32_t word = 0;
  const std::uint8_t byte = 0;
  const std::int8_t code = 0;
  const float scale = 1;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) {
    const std::span words(&word, n);
    const std::span bytes(&byte, n);
    const std::span scales(&scale, n);
    test::works_or_refuses([&] {
      (void)layouts::gptq::load_weight<tq::uint4, layouts::gptq::V1>(shape, words, words, scales);
    });
    test::works_or_refuses([&] { (void)layouts::awq::load_weight(shape, words, words, scales); });
    test::works_or_refuses(
        [&] { (void)layouts::compressed_tensors::load_weight<tq::int4>(shape, words, scales); });
    test::works_or_refuses(
        [&] { (void)layouts::compressed_tensors::load_codes(shape, std::span(&code, n), scales); });
    test::works_or_refuses(
        [&] { (void)layouts::matmul_nbits::load_weight<tq::uint4>(shape, bytes, scales); });
    test::works_or_refuses([&] { (void)tq::group_order(shape, words); });
  }
}

void try_tensor(const tq::Shape& shape) {
  std::uint8_t byte = 0, other = 0;
  float scale = 1;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}}) {
    const std::span<const std::uint8_t> bytes(&byte, n);
    test::works_or_refuses(
        [&] { (void)layouts::microscaling::load_tensor<tq::mxfp4>(shape, bytes, bytes); });
    test::works_or_refuses([&] {
      (void)layouts::microscaling::load_tensor<
          tq::mxfp4, layouts::microscaling::Interleaved<layouts::microscaling::Halves>>(shape,
                                                                                        bytes);
    });
    test::works_or_refuses([&] {
      (void)layouts::nvidia::load_tensor<tq::nvfp4, layouts::nvidia::Multiplier, tq::ScaleTiles>(
          shape, bytes, bytes, 1.0f);
    });
    test::works_or_refuses([&] {
      (void)layouts::bitsandbytes::load_tensor<tq::nf4_64>(shape, bytes, std::span(&scale, n));
    });
    test::works_or_refuses([&] {
      const std::vector<std::size_t> block(static_cast<std::size_t>(shape.rank()), 128);
      tq::multiply_by_blocks(std::span(&scale, n), shape, {block}, std::span(&scale, n));
    });
    if (shape.rank() != 2) continue;
    const std::span<std::uint8_t> out(&other, n);
    test::works_or_refuses(
        [&] { tq::load_scales<tq::ScaleTiles>(shape[0], shape[1], bytes, out); });
    test::works_or_refuses(
        [&] { tq::store_scales<tq::ScaleRows>(shape[0], shape[1], bytes, out); });
  }
}

}  // namespace

TEST_CASE("weights in groups of any extents are loaded, or refused", "[extents]") {
  test::for_each_shape(3, [](const tq::Shape& s) {
    INFO(to_string(s));
    try_groups({s[0], s[1], s[2]});
    try_groups({s[0], s[1], 32});
  });
}

TEST_CASE("tensors of any extents are loaded, or refused", "[extents]") {
  for (int rank = 0; rank <= 3; ++rank)
    test::for_each_shape(rank, [](const tq::Shape& shape) {
      INFO(to_string(shape));
      try_tensor(shape);
    });
}

TEST_CASE("sizes of layouts are the largest size where they are larger", "[extents]") {
  constexpr std::size_t half = std::size_t{1} << 63, most = half - 1 + half;
  static_assert(layouts::compressed_tensors::words_for<tq::int8, 1>(half, 8) == most);
  static_assert(tq::ScaleRows::bytes_for(half, 2) == most);
  static_assert(tq::ScaleTiles::bytes_for(half, half) == most);
  static_assert(tq::ScaleTiles::bytes_for(129, 5) == 2 * 2 * 512);
  CHECK(layouts::matmul_nbits::row_bytes<tq::uint8>({most, 1, 16}) == most);
}
