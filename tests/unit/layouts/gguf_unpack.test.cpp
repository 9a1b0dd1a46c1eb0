// SPDX-License-Identifier: MIT
// Blocks as quantized tensors and back, against the decoders of blocks.
#include <tq/calibrate/calibrate.hpp>
#include <tq/layouts/gguf/best.hpp>
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/pack.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/layouts/gguf/unpack.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace tq::layouts::gguf;
using tq::errc;
using tq::Shape;

namespace {

using Bytes = std::vector<std::uint8_t>;

template <class F>
void for_each_unpackable(F&& f) {
  for (const TypeInfo& info : types)
    static_cast<void>(detail::Blocks::visit(info.type, [&]<class B>(std::type_identity<B> type) {
      if constexpr (Unpackable<B>) {
        INFO(info.name);
        f(type);
      }
    }));
}

template <Block B>
std::vector<float> decoded(const Bytes& blocks) {
  std::vector<float> out(blocks.size() / B::bytes * B::elements);
  dequantize<B>(blocks, out);
  return out;
}

template <Block B>
constexpr bool has_minimum =
    detail::has_minimums<B> || std::same_as<B, Q4_1> || std::same_as<B, Q5_1>;

// The code of 0, or that of 1 where none is nearer.
template <SuperBlocked B>
constexpr std::uint8_t nothing = has_minimum<B>            ? 0
                                 : std::same_as<B, Q3_K>   ? 4
                                 : std::same_as<B, IQ4_XS> ? 8
                                                           : 32;

// Blocks of any bytes, with finite scales, which are not negative where there are offsets.
template <Block B>
Bytes random_blocks(std::size_t count, std::mt19937_64& random) {
  Bytes blocks(count * B::bytes);
  for (std::uint8_t& byte : blocks) byte = static_cast<std::uint8_t>(random() & 255);
  for (std::size_t b = 0; b < count; ++b) {
    std::uint8_t* const block = blocks.data() + b * B::bytes;
    if (std::same_as<B, MXFP4>) block[0] %= 255;
    if (std::same_as<B, NVFP4>)
      for (std::size_t s = 0; s < 4; ++s) block[s] %= 127;
    const TypeInfo& info = info_of(B::type);
    const std::size_t words = std::same_as<B, IQ4_XS> ? 1 : info.words;
    for (std::size_t w = 0; w < words; ++w) {
      std::uint8_t& high = block[info.first_word + 2 * w + 1];
      if ((high & 0x7c) == 0x7c) high ^= 0x40;     // infinite or NaN
      if (has_minimum<B> && w == 0) high &= 0x7f;  // negative
    }
  }
  return blocks;
}

// The bytes that a super-block is packed to: a scale whose group has no value but 0 is 0, the first
// number of the largest magnitude is negative, and zeros have d = 0 where that is 1.
template <SuperBlocked B>
void make_canonical(std::uint8_t* block) {
  const std::vector<float> values = decoded<B>(Bytes(block, block + B::bytes));
  std::uint8_t codes[256];
  typename B::Scales s;
  if constexpr (std::same_as<B, IQ4_XS>) {
    B::load_scales(block, s);
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint8_t pair = block[8 + i / 32 * 16 + i % 16];
      codes[i] = static_cast<std::uint8_t>(i % 32 < 16 ? pair & 15 : pair >> 4);
    }
  } else {
    typename B::Fields fields;
    B::load(block, fields);
    s = fields;
    for (std::size_t i = 0; i < 256; ++i)
      codes[i] = static_cast<std::uint8_t>(fields.codes[i] + nothing<B>);
  }
  int first = 0;
  for (std::size_t g = 0; g < s.parts; ++g) {
    std::uint8_t* const group = codes + g * (256 / s.parts);
    const bool zeros =
        std::all_of(group, group + 256 / s.parts, [&](int q) { return q == nothing<B>; }) &&
        !std::same_as<B, IQ4_XS>;
    if (s.d == 0 || (zeros && std::abs(s.scales[g]) == 1)) s.scales[g] = 0;
    if (s.scales[g] == 0) std::fill_n(group, 256 / s.parts, nothing<B>);
    if (std::abs(s.scales[g]) > std::abs(first)) first = s.scales[g];
  }
  if (first == 0) s.d = s.d == 1 || s.d == 0 ? 0 : std::fabs(s.d);
  if (!has_minimum<B> && first == 0) s.d = std::fabs(s.d);
  if (!has_minimum<B> && first > 0) {
    s.d = -s.d;
    for (int& number : s.scales) number = -number;
  }
  B::store_scales(s, block);
  B::store_codes(codes, block);
}

template <Block B>
Bytes repacked(const Bytes& blocks) {
  return pack<B>(unpack<B>(blocks, Shape{blocks.size() / B::bytes * B::elements}));
}

}  // namespace

TEST_CASE(
    "unpacked blocks have the values of the blocks, and are packed to blocks with these values") {
  std::mt19937_64 random(7);
  for_each_unpackable([&]<class B>(std::type_identity<B>) {
    constexpr std::size_t rows = 3, columns = 5 * B::elements;
    const Bytes blocks = random_blocks<B>(15, random);
    const auto tensor = unpack<B>(blocks, Shape{rows, columns});
    CHECK(tensor.shape() == Shape{rows, columns});
    const std::vector<float> expected = decoded<B>(blocks);
    CHECK(tq::dequantize(tensor) == expected);
    CHECK(decoded<B>(pack<B>(tensor)) == expected);
  });
}

TEST_CASE("super-blocks keep their float16 and whole numbers") {
  std::mt19937_64 random(8);
  for_each_unpackable([&]<class B>(std::type_identity<B>) {
    if constexpr (SuperBlocked<B>) {
      constexpr std::size_t count = 60;
      Bytes blocks = random_blocks<B>(count, random);
      for (std::size_t b = 0; b < count; ++b) {
        std::uint8_t* const block = blocks.data() + b * B::bytes;
        const std::size_t d = info_of(B::type).first_word;
        if (b % 6 == 0) block[d] = 0, block[d + 1] = b % 12 == 0 ? 0 : 0x3c;  // d = 0, 1
        if (b % 6 == 1) block[d] = 1, block[d + 1] = 0;                       // the least
        if (b % 4 == 0) {  // numbers of 0 and 1, and codes of few values
          typename B::Scales s{};
          s.d = detail::load_half(block + d);
          for (std::size_t g = 0; g < s.parts; ++g)
            s.scales[g] =
                b % 8 == 0 ? 0 : static_cast<int>(random() % 3) - (has_minimum<B> ? 0 : 1);
          std::uint8_t codes[256];
          std::fill_n(codes, 256, nothing<B>);
          if (b % 8 == 4) codes[40] = 1;
          B::store_scales(s, block);
          B::store_codes(codes, block);
        }
      }
      const auto tensor = unpack<B>(blocks, Shape{count * 256});
      const auto& stored = tensor.params().stored_scales();
      for (std::size_t b = 0; b < count; ++b) {
        const float d =
            detail::load_half(blocks.data() + b * B::bytes + info_of(B::type).first_word);
        CHECK(stored.super_values()[b] == (d == 0 ? 1.0f : std::fabs(d)));
      }
      Bytes expected = blocks;
      for (std::size_t b = 0; b < count; ++b) make_canonical<B>(expected.data() + b * B::bytes);
      CHECK(decoded<B>(expected) == decoded<B>(blocks));
      CHECK(pack<B>(tensor) == expected);
      CHECK(repacked<B>(expected) == expected);
      // The same values with scales of float32, for which factors are searched.
      const auto floats =
          detail::unpack_as<float_params_of<B>, B, tq::default_backend>(blocks, Shape{count * 256});
      CHECK(tq::dequantize(floats) == decoded<B>(blocks));
      CHECK(decoded<B>(pack<B>(floats)) == decoded<B>(blocks));
    }
  });
}

TEST_CASE("formats without factors keep the bytes of blocks under scales that are not 0") {
  std::mt19937_64 random(9);
  for_each_unpackable([&]<class B>(std::type_identity<B>) {
    if constexpr (!SuperBlocked<B> && !std::same_as<B, TQ1_0> && !std::same_as<B, Q1_0>) {
      Bytes blocks = random_blocks<B>(40, random);
      CHECK(repacked<B>(blocks) == blocks);
    }
  });
}

TEST_CASE("calibrated tensors are packed to blocks of their values") {
  const std::vector<float> x = inputs::normals(6 * 512, 4);
  const tq::ConstTensorView view(x.data(), Shape{6, 512});
  const auto check = [&]<class B>(std::type_identity<B>) {
    const auto tensor = tq::quantize(view, tq::calibrate<params_of<B>>(view));
    CHECK(decoded<B>(pack<B>(tensor)) == tq::dequantize(tensor));
  };
  check(std::type_identity<Q2_K>{});
  check(std::type_identity<Q4_K>{});
  check(std::type_identity<Q5_K>{});
}

TEST_CASE("blocks that quantizers make are packed to the same bytes") {
  std::vector<float> x = inputs::normals(8 * 256, 3);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] *= std::ldexp(1.0f, static_cast<int>(i / 256) - 4);
  for_each_unpackable([&]<class B>(std::type_identity<B>) {
    Bytes blocks(x.size() / B::elements * B::bytes);
    quantize<B>(x, blocks);
    CHECK(repacked<B>(blocks) == blocks);
    if constexpr (Searched<B>) {
      quantize<B>(x, blocks, best{Effort::fast});
      CHECK(decoded<B>(repacked<B>(blocks)) == decoded<B>(blocks));
      CHECK(repacked<B>(blocks) == blocks);
    }
  });
}

TEST_CASE("blocks of zeros and of negative scales keep their bytes") {
  const auto same = [](const auto& type, Bytes block) {
    using B = typename std::decay_t<decltype(type)>::type;
    const std::vector<float> values = decoded<B>(block);
    CHECK(tq::dequantize(unpack<B>(block, Shape{B::elements})) == values);
    CHECK(repacked<B>(block) == block);
  };
  Bytes q4(18, 0x88), q8(34, 0), nl(18, 0x88);
  for (const std::uint8_t high :
       std::array<std::uint8_t, 4>{0x00, 0x80, 0x3c, 0xbc}) {  // 0, -0, 1, -1
    q4[0] = q8[0] = nl[0] = 0;
    q4[1] = q8[1] = nl[1] = high;
    if (high % 0x80 != 0) q4[2] = 0x70, q4[17] = 0xf1, q8[2] = 0x80, q8[3] = 0x7f, nl[2] = 0xf0;
    same(std::type_identity<Q4_0>{}, q4);
    same(std::type_identity<Q8_0>{}, q8);
    if (high != 0x80) same(std::type_identity<IQ4_NL>{}, nl);
  }
  CHECK(decoded<Q8_0>(q8)[0] == 128.0f);
  // A constant: the minimum alone.
  Bytes q4_1(20, 0);
  q4_1[3] = 0xc0;
  same(std::type_identity<Q4_1>{}, q4_1);
  // Sub-blocks of scale 0 whose codes are kept have the codes 0.
  Bytes q4_K(144, 0x77);
  std::fill_n(q4_K.begin(), 16, std::uint8_t{0});
  q4_K[1] = q4_K[3] = 0x3c, q4_K[5] = 3, q4_K[8] = 9;
  CHECK(tq::dequantize(unpack<Q4_K>(q4_K, Shape{256})) == decoded<Q4_K>(q4_K));
  const Bytes again = repacked<Q4_K>(q4_K);
  CHECK(decoded<Q4_K>(again) == decoded<Q4_K>(q4_K));
  CHECK(again[16] == 0x70);  // the first sub-block has scale 0, the second 3
}

TEST_CASE("scales that parameters do not have are refused with the number of their block") {
  const auto refuse = []<class B>(std::type_identity<B>, errc code, std::size_t at,
                                  std::uint8_t byte, std::initializer_list<const char*> parts) {
    Bytes blocks(2 * B::bytes);
    blocks[B::bytes + at] = byte;
    test::raises(code, parts, [&] { (void)unpack<B>(blocks, Shape{2, B::elements}); });
  };
  refuse(std::type_identity<Q4_0>{}, errc::bad_scale, 1, 0x7c, {"finite", "inf", "block 1"});
  refuse(std::type_identity<Q6_K>{}, errc::bad_scale, 209, 0x7e, {"finite scales", "nan"});
  refuse(std::type_identity<MXFP4>{}, errc::bad_scale, 0, 0xff, {"finite scales", "block 1"});
  refuse(std::type_identity<NVFP4>{}, errc::bad_scale, 2, 0xff, {"480", "block 1"});
  refuse(std::type_identity<Q4_1>{}, errc::bad_scale, 1, 0xbc, {"not negative", "-1", "block 1"});
  refuse(std::type_identity<Q5_1>{}, errc::not_finite, 3, 0xfc, {"offsets", "-inf", "block 1"});
  test::raises(errc::shape_mismatch, {"a multiple of 32 elements, got 33"},
               [] { (void)unpack<Q4_0>(Bytes(18), Shape{1, 33}); });
  test::raises(errc::shape_mismatch, {"36 bytes of blocks", "got 18"},
               [] { (void)unpack<Q4_0>(Bytes(18), Shape{2, 32}); });
  CHECK(unpack<Q4_0>(Bytes{}, Shape{0, 32}).size() == 0);
}

TEST_CASE("tensors that no block holds are refused with the reason") {
  using P = params_of<Q4_0>;
  tq::QuantizedTensor<P> four(
      Shape{64}, P({}, tq::Scales<tq::float16>({1, 1}), std::vector<std::int32_t>{8, 5}));
  std::ranges::fill(four.bytes(), std::byte{0});
  test::raises(errc::bad_zero_point, {"zero points of 8, or of 7", "got 5", "parameter 1"},
               [&] { (void)pack<Q4_0>(four); });
  using K = float_params_of<Q6_K>;
  std::vector<float> scales(16, 1.0f);
  scales[3] = 1.0f / 3.0f;
  tq::QuantizedTensor<K, tq::Unpacked> six(Shape{256},
                                           K({}, scales, std::vector<std::int32_t>(16, 32)));
  std::ranges::fill(six.codes(), std::uint8_t{1});
  test::raises(errc::bad_scale, {"products of a float16", "block 0"},
               [&] { (void)pack<Q6_K>(six); });
  // Numbers that Q6_K does not have: 129, and 128 under two signs.
  using W = params_of<Q6_K>;
  const auto refuse = [](std::vector<std::uint8_t> numbers,
                         const std::vector<std::int32_t>& zeros) {
    numbers.resize(16, 1);
    tq::QuantizedTensor<W, tq::Unpacked> wide(Shape{256},
                                              W({}, {std::move(numbers), {0x3c00}}, zeros));
    std::ranges::fill(wide.codes(), std::uint8_t{1});
    test::raises(errc::bad_scale, {"whole numbers the format has", "block 0"},
                 [&] { (void)pack<Q6_K>(wide); });
  };
  std::vector<std::int32_t> zeros(16, 32);
  refuse({1, 129}, zeros);
  zeros[1] = 31;
  refuse({128, 128}, zeros);
  using N = params_of<IQ4_NL>;
  tq::QuantizedTensor<N, tq::Unpacked> values(Shape{32}, N({}, tq::Scales<tq::float16>({0x3c00})));
  std::ranges::fill(values.codes(), std::int8_t{-127});
  CHECK(decoded<IQ4_NL>(pack<IQ4_NL>(values))[31] == -127.0f);
  values.codes()[5] = 127;
  test::raises(errc::bad_argument, {"values of IQ4_NL", "parameter 0"},
               [&] { (void)pack<IQ4_NL>(values); });
  using T = params_of<TQ1_0>;
  tq::QuantizedTensor<T, tq::Unpacked> trits(
      Shape{256}, T({}, tq::Scales<tq::float16>({0x3c00}), std::vector<std::int32_t>{1}));
  std::ranges::fill(trits.codes(), std::uint8_t{3});
  test::raises(errc::bad_argument, {"codes of the format", "parameter 0"},
               [&] { (void)pack<TQ1_0>(trits); });
  test::raises(errc::bad_scale, {"tensor scale of 1", "got 2"}, [] {
    (void)pack<NVFP4>(tq::QuantizedTensor<tq::nvfp4>(
        Shape{64}, tq::nvfp4({}, {std::vector<std::uint8_t>(4), 2.0f})));
  });
}
