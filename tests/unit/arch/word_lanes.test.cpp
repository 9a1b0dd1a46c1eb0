// SPDX-License-Identifier: MIT
#include <tq/arch/word_lanes.hpp>

#include <tq/arch/isa.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

// Registers of at most 256 bits.
#if TQ_HAS_SIMD && defined(__AVX512BW__)
using Arch = xsimd::fma3<xsimd::avx2>;
#else
using Arch = tq::arch::native;
#endif
using Words = tq::arch::word_lanes<Arch>;
constexpr std::size_t n = 2 * Words::width;
using Numbers = std::array<std::int16_t, n>;

Numbers read(Words::numbers v) {
  Numbers out{};
  Words::store_numbers(out.data(), v);
  return out;
}
std::int16_t wrapped(std::int64_t v) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(v & 0xffff));
}
std::int64_t without_sign(std::int64_t v) { return v & 0xffff; }

// True if every lane of `got` is the formula of those of a and b.
template <class F>
bool is(Words::numbers got, const Numbers& a, const Numbers& b, F formula) {
  const Numbers lanes = read(got);
  for (std::size_t i = 0; i < n; ++i)
    if (lanes[i] != wrapped(formula(std::int64_t{a[i]}, std::int64_t{b[i]}))) return false;
  return true;
}

}  // namespace

TEST_CASE("lanes of 16 bits calculate what their formulas say, for numbers of any size") {
  inputs::Random r(1);
  using I = std::int64_t;
  bool equal = true;
  for (int round = 0; round < 4000; ++round) {
    const int most = round % 4 == 0 ? 32767 : round % 4 == 1 ? 300 : 20000;
    Numbers a, b;
    for (auto& v : a) v = static_cast<std::int16_t>(r.between(-most, most));
    for (auto& v : b) v = static_cast<std::int16_t>(r.chance(10) ? 32767 : r.between(-most, most));
    const auto p = Words::load_numbers(a.data()), q = Words::load_numbers(b.data());
    const auto check = [&](Words::numbers got, auto formula) {
      equal = equal && is(got, a, b, formula);
    };
    check(Words::high(p, q), [](I x, I y) { return x * y >> 16; });
    check(Words::high_unsigned(p, q),
          [](I x, I y) { return without_sign(x) * without_sign(y) >> 16; });
    check(Words::rounded(p, q), [](I x, I y) { return (x * y + 16384) >> 15; });
    check(Words::low(p, q), [](I x, I y) { return x * y; });
    check(Words::add(p, q), [](I x, I y) { return x + y; });
    check(Words::add_unsigned(p, q),
          [](I x, I y) { return std::min<I>(without_sign(x) + without_sign(y), 65535); });
    check(Words::subtract_unsigned(p, q),
          [](I x, I y) { return std::max<I>(without_sign(x) - without_sign(y), 0); });
    check(Words::right<7>(p), [](I x, I) { return x >> 7; });
    check(Words::right_unsigned<9>(p), [](I x, I) { return without_sign(x) >> 9; });
    check(Words::smaller(p, q), [](I x, I y) { return std::min(x, y); });
    check(Words::larger(p, q), [](I x, I y) { return std::max(x, y); });
    check(Words::where_greater(p, q, Words::fill(-77)), [](I x, I y) { return x > y ? -77 : 0; });
    check(Words::fill(a[0]), [&](I, I) { return I{a[0]}; });
  }
  CHECK(equal);
}

TEST_CASE("the low half of a sum fills both halves of its lane") {
  std::array<std::int32_t, Words::width> sums;
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<std::int32_t>(65535 - 9000 * i);
  const Numbers got = read(Words::twice(Words::read(sums.data())));
  for (std::size_t i = 0; i < n; ++i) CHECK(got[i] == wrapped(sums[i / 2]));
}
