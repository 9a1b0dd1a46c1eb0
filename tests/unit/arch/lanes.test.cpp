// SPDX-License-Identifier: MIT
// Every member of lanes<native> against plain loops.
#include <tq/arch/lanes.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "support/catch.hpp"
#include "support/inputs.hpp"

#if TQ_HAS_SIMD

namespace {

using Arch = tq::arch::native;
using L = tq::arch::lanes<Arch>;
using F = tq::arch::floats<Arch>;
using I = tq::arch::ints<Arch>;
constexpr std::size_t width = tq::arch::width<Arch>, block = 4 * width;

std::int32_t clamp(std::int32_t v, std::int32_t lo, std::int32_t hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

std::int32_t interesting(inputs::Random& r) {
  const std::int32_t ends[] = {
      0,   -1,    1,     127,    128,    -128,  -129,       255,
      256, 32767, 32768, -32768, -32769, 65535, 2147483647, -2147483647 - 1};
  return r.chance(50) ? ends[r.below(16)] : r.between(-300, 300);
}

template <bool Signed>
void check_narrow() {
  inputs::Random r(1);
  int failed = 0;
  for (int round = 0; round < 500; ++round) {
    alignas(64) std::int32_t v[block];
    for (std::int32_t& x : v) x = interesting(r);
    const std::int32_t zero = r.between(-255, 255);
    const std::int32_t lo = Signed ? r.between(-128, 0) : r.between(0, 100),
                       hi = r.between(100, Signed ? 127 : 255);
    typename L::words a = L::pack16(I::load_aligned(v), I::load_aligned(v + width));
    typename L::words b = L::pack16(I::load_aligned(v + 2 * width), I::load_aligned(v + 3 * width));
    const bool lowest = L::lowest16(a, b, L::splat16(-32768));
    a = L::add16(a, L::splat16(zero));
    b = L::add16(b, L::splat16(zero));
    std::uint8_t got[block];
    L::store8(got, L::template clamp8<Signed>(L::template pack8<Signed>(a, b), L::splat8(lo),
                                              L::splat8(hi)));
    bool any = false;
    for (std::size_t i = 0; i < block; ++i) {
      any = any || v[i] <= -32768;
      const std::int32_t w = clamp(clamp(v[i], -32768, 32767) + zero, -32768, 32767);
      const std::int32_t wanted = clamp(clamp(w, Signed ? -128 : 0, Signed ? 127 : 255), lo, hi);
      failed += got[i] != static_cast<std::uint8_t>(wanted);
    }
    failed += !L::conversion_saturates && lowest != any;
  }
  CHECK(failed == 0);
}

template <bool Signed>
void check_widen() {
  inputs::Random r(2);
  int failed = 0;
  for (int round = 0; round < 200; ++round) {
    std::uint8_t bytes[block + 3];
    std::uint16_t words[block + 3];
    for (auto& b : bytes) b = static_cast<std::uint8_t>(r.bits());
    for (auto& w : words) w = static_cast<std::uint16_t>(r.bits());
    I out[4];
    std::int32_t got[width];
    L::template widen8<Signed>(bytes + 1, out);
    for (std::size_t k = 0; k < 4; ++k) {
      out[k].store_unaligned(got);
      for (std::size_t i = 0; i < width; ++i) {
        const std::uint8_t b = bytes[1 + k * width + i];
        failed += got[i] != (Signed ? std::int32_t{static_cast<std::int8_t>(b)} : std::int32_t{b});
      }
    }
    L::template widen16<Signed>(words + 1, out);
    for (std::size_t k = 0; k < 4; ++k) {
      out[k].store_unaligned(got);
      for (std::size_t i = 0; i < width; ++i) {
        const std::uint16_t w = words[1 + k * width + i];
        failed += got[i] != (Signed ? std::int32_t{static_cast<std::int16_t>(w)} : std::int32_t{w});
      }
    }
    std::uint16_t back[block + 2];
    typename L::bytes narrow[2];
    L::template narrow16<Signed>(out, narrow);
    L::store8(back + 1, narrow[0]);
    L::store8(back + 1 + block / 2, narrow[1]);
    failed += std::memcmp(back + 1, words + 1, block * 2) != 0;
  }
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("32-bit lanes narrow with saturation", "[lanes]") {
  SECTION("signed") { check_narrow<true>(); }
  SECTION("unsigned") { check_narrow<false>(); }
}

TEST_CASE("codes widen to 32 bits and back", "[lanes]") {
  SECTION("signed") { check_widen<true>(); }
  SECTION("unsigned") { check_widen<false>(); }
}

TEST_CASE("nibbles and pairs of bits are packed and unpacked", "[lanes]") {
  inputs::Random r(3);
  int failed = 0;
  for (int round = 0; round < 200; ++round) {
    std::uint8_t codes[block], packed[block], back[block];
    for (auto& c : codes) c = static_cast<std::uint8_t>(r.bits());
    std::memset(packed, 0xa5, sizeof packed);
    L::store4(packed, L::load8(codes));
    for (std::size_t i = 0; i < block / 2; ++i)
      failed += packed[i] != ((codes[2 * i] & 15) | (codes[2 * i + 1] & 15) << 4);
    for (std::size_t i = block / 2; i < block; ++i) failed += packed[i] != 0xa5;
    L::store8(back, L::load4(packed));
    for (std::size_t i = 0; i < block; ++i) failed += back[i] != (codes[i] & 15);
    std::memset(packed, 0xa5, sizeof packed);
    L::store2(packed, L::load8(codes));
    for (std::size_t i = 0; i < block / 4; ++i) {
      int wanted = 0;
      for (std::size_t k = 0; k < 4; ++k) wanted |= (codes[4 * i + k] & 3) << 2 * k;
      failed += packed[i] != wanted;
    }
    for (std::size_t i = block / 4; i < block; ++i) failed += packed[i] != 0xa5;
    L::store8(back, L::load2(packed));
    for (std::size_t i = 0; i < block; ++i) failed += back[i] != (codes[i] & 3);
  }
  CHECK(failed == 0);
}

template <int Bits, bool Signed, bool Clean = true, class Lanes = L>
void check_widen_packed() {
  if constexpr (Lanes::has_widen_packed) {
    inputs::Random r(5);
    int failed = 0;
    for (int round = 0; round < 200; ++round) {
      std::uint8_t bytes[block * Bits / 8 + 1];
      for (auto& b : bytes) b = static_cast<std::uint8_t>(r.bits());
      I out[4];
      Lanes::template widen_packed<Bits, Signed, Clean>(bytes + 1, out);
      std::int32_t got[block];
      for (std::size_t k = 0; k < 4; ++k) out[k].store_unaligned(got + k * width);
      for (std::size_t i = 0; i < block; ++i) {
        const int code = bytes[1 + i * Bits / 8] >> i * Bits % 8 & ((1 << Bits) - 1);
        if constexpr (!Clean) got[i] &= (1 << Bits) - 1;
        failed += got[i] != (Signed && code >> (Bits - 1) != 0 ? code - (1 << Bits) : code);
      }
    }
    CHECK(failed == 0);
  } else {
    SUCCEED("not used");
  }
}

TEST_CASE("packed codes widen to 32 bits", "[lanes]") {
  SECTION("4 bits, signed") { check_widen_packed<4, true>(); }
  SECTION("4 bits, unsigned") { check_widen_packed<4, false>(); }
  SECTION("4 bits and others above") { check_widen_packed<4, false, false>(); }
  SECTION("2 bits and others above") { check_widen_packed<2, false, false>(); }
  SECTION("2 bits, signed") { check_widen_packed<2, true>(); }
  SECTION("2 bits, unsigned") { check_widen_packed<2, false>(); }
}

TEST_CASE("two narrowed blocks are packed to nibbles in one go", "[lanes]") {
  inputs::Random r(4);
  int failed = 0;
  for (int round = 0; round < 200; ++round) {
    alignas(64) std::int32_t codes[2 * block];
    for (auto& c : codes) c = r.between(-128, 127);
    const auto narrowed = [&](std::size_t at) {
      I v[4];
      for (std::size_t k = 0; k < 4; ++k) v[k] = I::load_aligned(codes + at + k * width);
      return L::template narrow8<true>(L::pack16(v[0], v[1]), L::pack16(v[2], v[3]));
    };
    std::uint8_t packed[block];
    L::store8(packed, L::pack4x2(narrowed(0), narrowed(block)));
    for (std::size_t i = 0; i < block; ++i)
      failed += packed[i] != ((codes[2 * i] & 15) | (codes[2 * i + 1] & 15) << 4);
  }
  CHECK(failed == 0);
}

TEST_CASE("the smaller bytes are taken", "[lanes]") {
  const auto check = []<class Lanes>(std::type_identity<Lanes>) {
    if constexpr (requires(typename Lanes::bytes b) { Lanes::min8(b, b); }) {
      std::int8_t p[block], q[block], got[block];
      for (std::size_t i = 0; i < block; ++i) {
        p[i] = static_cast<std::int8_t>(37 * i);
        q[i] = static_cast<std::int8_t>(101 * i + 5);
      }
      Lanes::store8(got, Lanes::min8(Lanes::load8(p), Lanes::load8(q)));
      int failed = 0;
      for (std::size_t i = 0; i < block; ++i) failed += got[i] != std::min(p[i], q[i]);
      CHECK(failed == 0);
    }
  };
  check(std::type_identity<L>{});
}

TEST_CASE("the smaller words are taken", "[lanes]") {
  if constexpr (!L::conversion_saturates) {
    alignas(64) std::int32_t v[2 * width] = {};
    const L::words zero = L::splat16(0), low = L::splat16(-32768);
    CHECK_FALSE(L::lowest16(L::min16(zero, zero), zero, low));
    const L::bytes least = L::narrow8<true>(L::splat16(-127), L::splat16(127));
    CHECK_FALSE(L::lowest8(least, least, L::splat8(-128)));
    for (std::size_t i = 0; i < 2 * width; ++i) {
      v[i] = -40000;
      const L::words w = L::pack16(I::load_aligned(v), I::load_aligned(v + width));
      CHECK(L::lowest16(L::min16(w, zero), zero, low));
      CHECK(L::lowest16(zero, L::min16(zero, w), low));
      CHECK(L::lowest8(L::narrow8<true>(w, zero), L::narrow8<true>(zero, zero), L::splat8(-128)));
      CHECK(L::lowest8(L::narrow8<true>(zero, zero), L::narrow8<true>(zero, w), L::splat8(-128)));
      v[i] = 0;
    }
  }
}

TEST_CASE("a NaN is found in any lane of four batches", "[lanes]") {
  alignas(64) float v[block] = {};
  const auto any = [&] {
    return L::any_nan(F::load_aligned(v), F::load_aligned(v + width),
                      F::load_aligned(v + 2 * width), F::load_aligned(v + 3 * width));
  };
  CHECK_FALSE(any());
  for (std::size_t i = 0; i < block; ++i) {
    v[i] = std::numeric_limits<float>::infinity();
    CHECK_FALSE(any());
    v[i] = std::numeric_limits<float>::quiet_NaN();
    CHECK(any());
    v[i] = 0;
  }
}

TEST_CASE("magnitudes up to a limit", "[lanes]") {
  const float inf = std::numeric_limits<float>::infinity(),
              tiny = std::numeric_limits<float>::denorm_min();
  for (const float v : {0.0f, tiny, 1.0f, 447.9f, 448.0f, 449.0f, inf})
    for (const float signed_v : {v, -v}) {
      alignas(64) float got[width];
      F(L::magnitude(F(signed_v), F(448.0f))).store_aligned(got);
      for (const float g : got) {
        CHECK(g == std::min(v, 448.0f));
        CHECK_FALSE(std::signbit(g));
      }
    }
}

TEST_CASE("bits of two integers are merged", "[lanes]") {
  inputs::Random r(3);
  for (int round = 0; round < 100; ++round) {
    alignas(64) std::int32_t mask[width], p[width], q[width], got[width];
    for (std::size_t i = 0; i < width; ++i) {
      mask[i] = static_cast<std::int32_t>(r.bits());
      p[i] = static_cast<std::int32_t>(r.bits());
      q[i] = static_cast<std::int32_t>(r.bits());
    }
    I(L::merge(I::load_aligned(mask), I::load_aligned(p), I::load_aligned(q))).store_aligned(got);
    for (std::size_t i = 0; i < width; ++i) CHECK(got[i] == ((mask[i] & p[i]) | (~mask[i] & q[i])));
  }
}

TEST_CASE("the lowest and the highest lane of one batch and of four", "[lanes]") {
  inputs::Random r(4);
  for (int round = 0; round < 200; ++round) {
    alignas(64) float v[4][width];
    float low[4], high[4];
    for (auto& batch : v)
      for (float& f : batch) f = static_cast<float>(r.normal());
    const auto batch = [&](int k) { return F::load_aligned(v[k]); };
    L::lowest4(low, batch(0), batch(1), batch(2), batch(3));
    L::highest4(high, batch(0), batch(1), batch(2), batch(3));
    for (int k = 0; k < 4; ++k) {
      const auto [least, most] = std::minmax_element(v[k], v[k] + width);
      CHECK(low[k] == *least);
      CHECK(high[k] == *most);
      CHECK(L::lowest(batch(k)) == *least);
      CHECK(L::highest(batch(k)) == *most);
    }
  }
}

TEST_CASE("streaming stores store, wherever 16 bytes are aligned", "[lanes]") {
  alignas(64) std::uint8_t in[block];
  for (std::size_t i = 0; i < block; ++i) in[i] = static_cast<std::uint8_t>(i + 1);
  float values[width];
  for (std::size_t i = 0; i < width; ++i) values[i] = static_cast<float>(i) + 0.5f;
  for (std::size_t at = 0; at < 64; at += 16) {
    alignas(64) std::uint8_t bytes[block + 80] = {};
    alignas(64) float out[width + 20] = {};
    L::stream8(bytes + at, L::load8(in));
    L::stream(out + at / sizeof(float), F::load_unaligned(values));
    L::fence();
    CHECK(std::memcmp(bytes + at, in, block) == 0);
    CHECK(std::memcmp(out + at / sizeof(float), values, sizeof(values)) == 0);
    CHECK(std::all_of(bytes, bytes + at, [](std::uint8_t b) { return b == 0; }));
    CHECK(std::all_of(bytes + at + block, std::end(bytes), [](std::uint8_t b) { return b == 0; }));
    CHECK(out[at / sizeof(float) + width] == 0.0f);
  }
}

TEST_CASE("an address is aligned to the powers of two that divide it", "[batch]") {
  alignas(64) const char bytes[128] = {};
  for (std::size_t at = 0; at < 64; ++at)
    for (const std::size_t size : {1u, 2u, 16u, 32u, 64u})
      CHECK(tq::arch::is_aligned(bytes + at, size) == (at % size == 0));
}

#else
TEST_CASE("there are no lanes without SIMD", "[lanes]") { SUCCEED(); }
#endif
