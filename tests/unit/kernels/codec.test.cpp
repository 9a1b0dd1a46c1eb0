// SPDX-License-Identifier: MIT
// Every format on batches against its scalar form: all codes, all float16 and bfloat16 values, and
// what lies next to the points where codes change.
#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/kernels/codec.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/format_oracle.hpp"

#if TQ_HAS_SIMD

namespace {

using Arch = tq::arch::native;
using F = tq::arch::floats<Arch>;
using I = tq::arch::ints<Arch>;
constexpr std::size_t width = tq::arch::width<Arch>;

template <std::size_t N>
struct shuffled {  // multiples of 1/8 in no order
  static constexpr std::string_view name = "shuffled";
  static constexpr std::array<float, N> values = [] {
    std::array<float, N> v{};
    for (std::size_t i = 0; i < N; ++i) v[i] = (static_cast<float>(i * 157 % 257) - 100.0f) / 8;
    return v;
  }();
};
template <std::size_t N>
using table = tq::Codebook<shuffled<N>>;

struct Codec {
  void (*saturate)(const float*, std::int32_t*);
  void (*non_saturate)(const float*, std::int32_t*);
  void (*decode)(const std::int32_t*, float*);
  std::uint32_t (*code)(float, bool);
  float (*value)(std::uint32_t);
};

void check(std::string_view name, const Codec& codec, std::uint32_t codes,
           const std::vector<double>& marks, std::uint64_t seed) {
  std::vector<float> x;
  const auto add = [&](float v) {
    if (!oracle::is_nan(static_cast<double>(v))) x.push_back(v);
  };
  for (const double v : oracle::cached_format<tq::float16>().values) add(static_cast<float>(v));
  for (const double v : oracle::cached_format<tq::bfloat16>().values) add(static_cast<float>(v));
  inputs::Random r(seed);
  for (int i = 0; i < 20000; ++i) add(oracle::value_near(marks, 1.0f, r));
  while (x.size() % width != 0) x.push_back(1.0f);
  int failed = 0;
  std::string first;
  for (std::size_t i = 0; i < x.size(); i += width)
    for (const bool saturate : {true, false}) {
      std::int32_t got[width];
      (saturate ? codec.saturate : codec.non_saturate)(x.data() + i, got);
      for (std::size_t k = 0; k < width; ++k) {
        const std::uint32_t wanted = codec.code(x[i + k], saturate);
        if (static_cast<std::uint32_t>(got[k]) == wanted || ++failed > 1) continue;
        std::ostringstream text;
        text << std::hexfloat << x[i + k] << (saturate ? " saturating" : "") << std::hex
             << ": expected " << wanted << ", got " << got[k];
        first = text.str();
      }
    }
  for (std::uint32_t c = 0; c < codes; c += static_cast<std::uint32_t>(width)) {
    std::int32_t in[width];
    float got[width];
    for (std::size_t k = 0; k < width; ++k) in[k] = static_cast<std::int32_t>((c + k) % codes);
    codec.decode(in, got);
    for (std::size_t k = 0; k < width; ++k)
      failed += !oracle::same(got[k], codec.value(static_cast<std::uint32_t>(in[k])));
  }
  INFO(name << ": " << failed << " differ; the first: " << first);
  CHECK(failed == 0);
}

template <class T>
void check(std::uint64_t seed) {
  using Format = typename T::format;
  using codec = tq::kernels::codec<Arch, Format>;
  Codec c{};
  c.saturate = [](const float* x, std::int32_t* out) {
    I(codec::template encode<tq::Saturate>(F::load_unaligned(x))).store_unaligned(out);
  };
  c.non_saturate = [](const float* x, std::int32_t* out) {
    I(codec::template encode<tq::NonSaturate>(F::load_unaligned(x))).store_unaligned(out);
  };
  c.decode = [](const std::int32_t* q, float* out) {
    codec::decode(I::load_unaligned(q)).store_unaligned(out);
  };
  c.code = [](float x, bool saturate) {
    return saturate ? Format::template encode<tq::Saturate>(x, tq::NearestEven{}, 0)
                    : Format::template encode<tq::NonSaturate>(x, tq::NearestEven{}, 0);
  };
  c.value = [](std::uint32_t code) { return Format::decode(code); };
  check(T::name, c, 1u << Format::bits, oracle::marks(oracle::format<T>()), seed);
}

}  // namespace

TEST_CASE("floats on batches equal their scalar form", "[codec]") {
  check<tq::float16>(1);
  check<tq::bfloat16>(2);
  check<tq::float8_e4m3fn>(3);
  check<tq::float8_e5m2>(4);
  check<tq::float8_e4m3fnuz>(5);
  check<tq::float8_e5m2fnuz>(6);
  check<tq::float6_e2m3fn>(7);
  check<tq::float6_e3m2fn>(8);
  check<tq::float4_e2m1fn>(9);
  check<tq::float8_e8m0fnu>(10);
  check<tq::fixed8>(11);
}

TEST_CASE("code books on batches equal their scalar form", "[codec]") {
  check<tq::nf4>(21);
  check<tq::bnb_fp4>(22);
  check<tq::iq4_nl>(23);
  check<tq::binary>(25);
  check<table<2>>(26);
  check<table<3>>(27);
  check<table<5>>(28);
}

// Tables of more than 16 entries are gathered on AVX2, and qemu 7.2 forgets the index where it is
// in ymm4: not emulated.
TEST_CASE("large code books on batches equal their scalar form", "[codec][slow]") {
  check<tq::dynamic8>(24);
  check<table<20>>(29);
  check<table<100>>(30);
  check<table<256>>(31);
}

#else
TEST_CASE("there are no batches of codes without SIMD", "[codec]") { SUCCEED(); }
#endif
