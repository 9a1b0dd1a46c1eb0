// SPDX-License-Identifier: MIT
#include <tq/layouts/microscaling.hpp>
#include <tq/ops/dequantize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

namespace mx = tq::layouts::microscaling;
using Bytes = std::vector<std::uint8_t>;
using mx::Halves;
using mx::Interleaved;
using mx::Separate;
using mx::Sequential;

static_assert(mx::Format<tq::mxfp8_e4m3> && mx::Format<tq::mxfp8_e5m2> &&
              mx::Format<tq::mxfp6_e2m3> && mx::Format<tq::mxfp6_e3m2> && mx::Format<tq::mxfp4> &&
              mx::Format<tq::mxint8>);
static_assert(!mx::Format<tq::nvfp4> && !mx::Format<tq::Microscaled<tq::float16>> &&
              !mx::Format<int>);
struct Twice {  // leaves places empty
  static constexpr std::size_t slot(std::size_t i) noexcept { return i / 2; }
};
static_assert(mx::BlockOrder<Sequential> && mx::BlockOrder<Halves> && !mx::BlockOrder<Twice>);
static_assert(tq::BitPacking<tq::LowFirst> && tq::BitPacking<tq::HighFirst> &&
              !tq::BitPacking<tq::Unpacked> && !tq::BitPacking<tq::FiveInByte>);

// Codes and scales of a tensor, and the bytes of every layout put together bit by bit.
template <class Params>
struct Parts {
  static constexpr auto bits = static_cast<std::size_t>(Params::type::bits);
  tq::Shape shape;
  std::size_t lines, length, blocks;
  Bytes codes, scales;

  Parts(const tq::Shape& s, std::uint64_t seed) : shape(s), lines(1), length(s[s.rank() - 1]) {
    inputs::Random r(seed);
    for (int i = 0; i + 1 < s.rank(); ++i) lines *= s[i];
    blocks = (length + 31) / 32;
    codes.resize(lines * length);
    for (auto& c : codes) c = static_cast<std::uint8_t>(r.below(std::size_t{1} << bits));
    scales = ::bits::noise<std::uint8_t>(r, lines * blocks);
  }
  [[nodiscard]] Bytes low_first() const {
    Bytes out((codes.size() * bits + 7) / 8, 0);
    for (std::size_t i = 0; i < codes.size(); ++i)
      ::bits::put(out, 0, 1, i * bits, Params::type::bits, codes[i]);
    return out;
  }
  [[nodiscard]] Bytes high_first() const {
    Bytes out((codes.size() * bits + 7) / 8, 0);
    for (std::size_t i = 0; i < codes.size() * bits; ++i)
      if ((codes[i / bits] >> (bits - 1 - i % bits)) & 1)
        out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | 0x80 >> i % 8);
    return out;
  }
  // `ggml`: byte j of a block has elements j and j + 16.
  [[nodiscard]] Bytes interleaved(bool ggml) const {
    const std::size_t size = 1 + 32 * bits / 8;
    Bytes out(lines * blocks * size, 0);
    for (std::size_t l = 0; l < lines; ++l)
      for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t at = (l * blocks + b) * size;
        out[at] = scales[l * blocks + b];
        for (std::size_t i = 0; i < 32 && b * 32 + i < length; ++i)
          ::bits::put(out, at + 1, 1,
                      (!ggml    ? i
                       : i < 16 ? 2 * i
                                : 2 * (i - 16) + 1) *
                          bits,
                      Params::type::bits, codes[l * length + b * 32 + i]);
      }
    return out;
  }
  [[nodiscard]] float value(std::size_t i) const {
    const std::uint8_t x = scales[i / length * blocks + i % length / 32];
    const double v = double{Params::type::format::decode(codes[i])};
    return x == 255 ? std::nanf("") : static_cast<float>(std::ldexp(v, x - 127));
  }
};

template <class Params, class Pack>
void check_tensor(const tq::QuantizedTensor<Params, Pack>& q, const Parts<Params>& parts) {
  REQUIRE(q.shape() == parts.shape);
  const auto stored = q.params().stored_scales().stored();
  CHECK(Bytes(stored.begin(), stored.end()) == parts.scales);
  const std::vector<float> values = tq::dequantize(q);
  REQUIRE(values.size() == parts.codes.size());
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float wanted = parts.value(i);
    wrong += std::isnan(wanted) ? !std::isnan(values[i]) : values[i] != wanted;
  }
  CHECK(wrong == 0);
}

template <class Params, class L>
void separate(const Parts<Params>& parts, const Bytes& codes, const Bytes& scales) {
  const auto q = mx::load_tensor<Params, L>(parts.shape, codes, scales);
  check_tensor(q, parts);
  inputs::Random r(8);
  Bytes c = bits::noise<std::uint8_t>(r, codes.size());
  Bytes s = bits::noise<std::uint8_t>(r, scales.size());
  mx::store_tensor<L>(q, c, s);
  CHECK(c == codes);
  CHECK(s == scales);
}

template <class Params, class Order>
void interleaved(const Parts<Params>& parts, const Bytes& blocks) {
  using L = Interleaved<Order>;
  const auto q = mx::load_tensor<Params, L>(parts.shape, blocks);
  check_tensor(q, parts);
  inputs::Random r(9);
  Bytes b = bits::noise<std::uint8_t>(r, blocks.size());
  mx::store_tensor<L>(q, b);
  CHECK(b == blocks);
  // From other packings, and from one layout to the other.
  Bytes codes(parts.high_first().size()), scales(parts.scales.size());
  mx::store_tensor<Separate<tq::HighFirst>>(q, codes, scales);
  CHECK(codes == parts.high_first());
  b.assign(blocks.size(), 77);
  mx::store_tensor<L>(mx::load_tensor<Params, Separate<tq::HighFirst>>(parts.shape, codes, scales),
                      b);
  CHECK(b == blocks);
}

template <class Params>
void check_format() {
  const tq::Shape shapes[] = {{1},     {31},       {32},    {33},   {64},      {3, 5}, {5, 96},
                              {3, 65}, {2, 3, 40}, {0, 64}, {3, 0}, {200, 33}, {7, 1}, {1, 130}};
  for (const tq::Shape& shape : shapes) {
    const Parts<Params> parts(shape, shape.size() + 1);
    INFO(Params::type::name << " " << to_string(shape));
    CHECK(mx::block_bytes<Params> == 1 + 4 * parts.bits);
    separate<Params, Separate<>>(parts, parts.low_first(), parts.scales);
    separate<Params, Separate<tq::HighFirst>>(parts, parts.high_first(), parts.scales);
    if (shape.rank() <= 2) {
      const std::size_t tall = shape.rank() == 2 ? (shape[0] + 127) / 128 : 1;
      Bytes tiles(parts.codes.empty() ? 0 : tall * ((parts.blocks + 3) / 4) * 512, 0);
      for (std::size_t l = 0; l < parts.lines; ++l)
        for (std::size_t b = 0; b < parts.blocks; ++b)
          tiles[(l / 128 * ((parts.blocks + 3) / 4) + b / 4) * 512 + l % 32 * 16 +
                l % 128 / 32 * 4 + b % 4] = parts.scales[l * parts.blocks + b];
      separate<Params, Separate<tq::LowFirst, tq::ScaleTiles>>(parts, parts.low_first(), tiles);
    }
    interleaved<Params, Sequential>(parts, parts.interleaved(false));
    if (Params::type::bits == 4) interleaved<Params, Halves>(parts, parts.interleaved(true));
  }
}

}  // namespace

TEST_CASE("Microscaling bytes are read and written bit by bit", "[microscaling]") {
  check_format<tq::mxfp8_e4m3>();
  check_format<tq::mxfp8_e5m2>();
  check_format<tq::mxfp6_e2m3>();
  check_format<tq::mxfp6_e3m2>();
  check_format<tq::mxfp4>();
  check_format<tq::mxint8>();
}

TEST_CASE("one block, byte by byte", "[microscaling]") {
  Bytes codes(32);
  for (std::size_t i = 0; i < 32; ++i) codes[i] = static_cast<std::uint8_t>(i % 16);
  Bytes packed(16);
  for (std::size_t j = 0; j < 16; ++j)
    packed[j] = static_cast<std::uint8_t>(codes[2 * j] | codes[2 * j + 1] << 4);
  const auto q = mx::load_tensor<tq::mxfp4>({32}, packed, Bytes{128});
  Bytes block(17);
  mx::store_tensor<Interleaved<Sequential>>(q, block);
  CHECK(block == Bytes{128, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x10, 0x32, 0x54, 0x76,
                       0x98, 0xba, 0xdc, 0xfe});
  mx::store_tensor<Interleaved<Halves>>(q, block);
  CHECK(block == Bytes{128, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
                       0xcc, 0xdd, 0xee, 0xff});
  CHECK(tq::dequantize(q)[7] == 12.0f);
  CHECK(tq::dequantize(q)[17] == 1.0f);
}

TEST_CASE("GGUF's MXFP4 means the same in ggml's own arithmetic", "[microscaling]") {
  const int doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  inputs::Random r(4);
  Bytes blocks = bits::noise<std::uint8_t>(r, 255 * 17);
  for (std::size_t x = 0; x < 255; ++x) blocks[x * 17] = static_cast<std::uint8_t>(x);
  const auto q = mx::load_tensor<tq::mxfp4, Interleaved<Halves>>({255, 32}, blocks);
  const std::vector<float> values = tq::dequantize(q);
  for (std::size_t x = 0; x < 255; ++x)
    for (std::size_t j = 0; j < 16; ++j) {
      const std::uint8_t byte = blocks[x * 17 + 1 + j];
      const auto half = static_cast<float>(std::ldexp(1.0, static_cast<int>(x) - 128));
      REQUIRE(values[x * 32 + j] == static_cast<float>(doubled[byte & 15]) * half);
      REQUIRE(values[x * 32 + j + 16] == static_cast<float>(doubled[byte >> 4]) * half);
    }
}

TEST_CASE("a scale of 255 makes a block NaN whatever its codes", "[microscaling]") {
  Bytes blocks(3 * 33, 0);
  blocks[33] = 255;
  const std::vector<float> v =
      tq::dequantize(mx::load_tensor<tq::mxint8, Interleaved<Sequential>>({96}, blocks));
  for (std::size_t i = 0; i < 96; ++i) CHECK(std::isnan(v[i]) == (i / 32 == 1));
}

TEST_CASE("a short block ends in zeros, and what is there is not read", "[microscaling]") {
  const std::vector<float> x{1, 2, 3};
  const Bytes three{0x08 | (0x10 & 3) << 6, 0x10 >> 2 | (0x14 & 15) << 4, 0x14 >> 4};
  const auto q = mx::load_tensor<tq::mxfp6_e2m3>({3}, three, Bytes{127});
  Bytes block(25, 0xee);
  mx::store_tensor<Interleaved<Sequential>>(q, block);
  for (std::size_t i = 4; i < 25; ++i) CHECK(block[i] == 0);
  CHECK(block[3] < 4);
  for (std::size_t i = 4; i < 25; ++i) block[i] = 0xff;
  block[3] = static_cast<std::uint8_t>(block[3] | 0xfc);
  CHECK(tq::dequantize(mx::load_tensor<tq::mxfp6_e2m3, Interleaved<Sequential>>({3}, block)) == x);

  Bytes codes{0x21, 0xf3};
  const auto odd = mx::load_tensor<tq::mxfp4>({3}, codes, Bytes{127});
  CHECK(odd.bytes()[1] == std::byte{3});
  // Where the code of 0 is not 0.
  Bytes nf4(17, 0xee);
  mx::store_tensor<Interleaved<Sequential>>(
      mx::load_tensor<tq::Microscaled<tq::nf4>>({1}, Bytes{1}, Bytes{127}), nf4);
  CHECK(nf4[1] == 0x71);
  CHECK(nf4[16] == 0x77);
}

TEST_CASE("Microscaling tensors that do not fit are refused", "[microscaling]") {
  Bytes codes(20, 77), scales(2, 77), blocks(34, 77);
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::microscaling::load_tensor: expected 33 bytes of codes, got 20"},
               [&] { (void)mx::load_tensor<tq::mxfp8_e4m3>({33}, codes, scales); });
  test::raises(tq::errc::shape_mismatch, {"expected 4 bytes of scales, got 2"},
               [&] { (void)mx::load_tensor<tq::mxfp4>({4, 10}, codes, scales); });
  test::raises(tq::errc::shape_mismatch, {"expected 512 bytes of scales, got 2"}, [&] {
    (void)mx::load_tensor<tq::mxfp4, Separate<tq::LowFirst, tq::ScaleTiles>>({40}, codes, scales);
  });
  test::raises(tq::errc::unsupported, {"rank of at most 2", "[1, 1, 40]"}, [&] {
    (void)mx::load_tensor<tq::mxfp4, Separate<tq::LowFirst, tq::ScaleTiles>>({1, 1, 40}, codes,
                                                                             scales);
  });
  test::raises(tq::errc::shape_mismatch, {"expected 17 bytes of blocks, got 34"},
               [&] { (void)mx::load_tensor<tq::mxfp4, Interleaved<Halves>>({32}, blocks); });
  test::raises(tq::errc::bad_axis, {"tq::layouts::microscaling::load_tensor", "per_group", "[]"},
               [&] { (void)mx::load_tensor<tq::mxfp4, Interleaved<Halves>>({}, blocks); });
  const std::size_t half = std::size_t{1} << 63;
  test::raises(tq::errc::bad_argument, {"tq::layouts::microscaling::load_tensor", "extents"},
               [&] { (void)mx::load_tensor<tq::mxfp4>({half, 2, 32}, codes, scales); });
  test::raises(tq::errc::bad_argument, {"tq::layouts::microscaling::load_tensor", "extents"},
               [&] { (void)mx::load_tensor<tq::mxfp4, Interleaved<Halves>>({half, 1}, blocks); });

  const auto q = mx::load_tensor<tq::mxfp4>({40}, Bytes(20), Bytes(2));
  Bytes more(3, 77);
  test::raises(tq::errc::shape_mismatch,
               {"tq::layouts::microscaling::store_tensor: expected 2 bytes of scales, got 3"},
               [&] { mx::store_tensor(q, codes, more); });
  test::raises(tq::errc::shape_mismatch, {"expected 20 bytes of codes, got 34"},
               [&] { mx::store_tensor(q, blocks, scales); });
  test::raises(tq::errc::shape_mismatch, {"expected 34 bytes of blocks, got 20"},
               [&] { mx::store_tensor<Interleaved<Halves>>(q, codes); });
  CHECK(codes == Bytes(20, 77));
  CHECK(scales == Bytes(2, 77));
  CHECK(blocks == Bytes(34, 77));
}
