// SPDX-License-Identifier: MIT
// All 2^32 floats, by the kernels of this build. Codes change at few points, so the codes expected
// of a stretch of floats are filled in between them: the oracle is asked at the points only. One
// instruction set does: on all of them codec.test.cpp compares the kernels with the same scalar
// form.
#include <tq/core/float_elements.hpp>
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/encode.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/reference.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/format_oracle.hpp"
#include "support/share.hpp"

#if defined(__AVX2__) && !defined(__AVX512F__)

namespace {

using Arch = tq::arch::native;
constexpr std::uint32_t chunk = 1u << 14;  // floats that stay in the first level of the cache

// The codes of all floats of a sign, by their bits: code[i] from bits begin[i] on.
struct Steps {
  std::vector<std::uint32_t> begin, code;
};

template <class T>
Steps steps(bool negative, bool saturate) {
  const oracle::Format& f = oracle::cached_format<T>();
  const std::uint32_t sign = negative ? 0x80000000u : 0;
  const auto code = [&](std::uint32_t magnitude) {
    return oracle::encode(f, static_cast<double>(std::bit_cast<float>(magnitude | sign)),
                          tq::NearestEven{}, saturate);
  };
  // Between neighbouring marks the code is one of two, and changes once at most: where, a bisection
  // tells.
  std::vector<std::uint32_t> ends{0, 0x7f800000u, 0x7f800001u};
  for (const double m : oracle::marks(f))
    if (m > 0 && m < 0x1p128) ends.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(m)));
  std::sort(ends.begin(), ends.end());
  Steps s{{0}, {code(0)}};
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    std::uint32_t lo = ends[i], hi = ends[i + 1];
    if (code(lo) == code(hi)) continue;
    while (hi - lo > 1) {
      const std::uint32_t mid = lo + (hi - lo) / 2;
      (code(mid) == code(ends[i]) ? lo : hi) = mid;
    }
    s.begin.push_back(hi);
    s.code.push_back(code(hi));
  }
  return s;
}

// Checks one chunk of floats at a time against the steps, which it walks along with them.
template <class T, class O>
class Walk {
 public:
  explicit Walk(bool negative) : steps_(steps<T>(negative, std::same_as<O, tq::Saturate>)) {}

  void check(const float* x, std::uint32_t first) {
    using N = tq::Numerics<tq::NearestEven, tq::PowerOfTwo, tq::NanToZero, tq::ScaleOne, O>;
    using Encoding = tq::kernels::encoding<Format, N>;
    const typename Encoding::stage stage{};
    tq::driver::sweep(
        tq::driver::bind(tq::driver::kernel<Arch, tq::kernels::Float32, typename Encoding::stage,
                                            typename Encoding::sink>,
                         stage),
        {.source = x, .target = got_.data()}, {.length = chunk},
        {.scales = tq::driver::ones<Arch>()});
    for (std::uint32_t i = 0; i < chunk;) {
      while (at_ + 1 < steps_.begin.size() && steps_.begin[at_ + 1] <= first + i) ++at_;
      const bool last = at_ + 1 == steps_.begin.size();
      const std::uint32_t end = last ? chunk : std::min(chunk, steps_.begin[at_ + 1] - first);
      std::fill(wanted_.begin() + i, wanted_.begin() + end, static_cast<Code>(steps_.code[at_]));
      i = end;
    }
    if (std::memcmp(got_.data(), wanted_.data(), chunk * sizeof(Code)) != 0)
      for (std::uint32_t i = 0; i < chunk; ++i)
        if (got_[i] != wanted_[i] && ++failed_ == 1) first_ = text(x[i], wanted_[i], got_[i]);
    // The scalar form, here and there.
    const std::uint32_t i = first / chunk * 2654435761u % chunk;
    const std::uint32_t scalar = tq::reference::encode<Format>(x[i], 1.0f, N{}, 0);
    if (scalar != wanted_[i] && ++failed_ == 1) first_ = text(x[i], wanted_[i], scalar);
  }
  void finish() const {
    INFO(T::name << ' ' << O::name << ": " << failed_ << " differ; the first: " << first_);
    CHECK(failed_ == 0);
  }

 private:
  using Format = typename T::format;
  using Code = typename T::code_type;
  static std::string text(float x, std::uint32_t wanted, std::uint32_t got) {
    std::ostringstream s;
    s << std::hexfloat << x << std::hex << ": expected " << wanted << ", got " << got;
    return s.str();
  }
  Steps steps_;
  std::size_t at_ = 0;
  std::uint64_t failed_ = 0;
  std::string first_;
  std::vector<Code> got_ = std::vector<Code>(chunk), wanted_ = got_;
};

// Chunks of magnitudes first, first + step, ... of a sign.
void check_floats(bool negative, std::uint32_t step) {
  Walk<tq::float8_e4m3fn, tq::Saturate> a(negative);
  Walk<tq::float8_e4m3fn, tq::NonSaturate> b(negative);
  Walk<tq::float8_e5m2, tq::Saturate> c(negative);
  Walk<tq::float8_e5m2, tq::NonSaturate> d(negative);
  Walk<tq::float4_e2m1fn, tq::Saturate> e(negative);
  Walk<tq::float4_e2m1fn, tq::NonSaturate> f(negative);
  Walk<tq::bfloat16, tq::Saturate> g(negative);
  Walk<tq::bfloat16, tq::NonSaturate> h(negative);
  std::vector<float> x(chunk);
  std::uint64_t checked = 0;
  for (std::uint64_t first = 0; first < 0x80000000u; first += step, ++checked) {
    const auto bits = static_cast<std::uint32_t>(first);
    const std::uint32_t sign = negative ? 0x80000000u : 0;
    for (std::uint32_t i = 0; i < chunk; ++i) x[i] = std::bit_cast<float>((bits + i) | sign);
    a.check(x.data(), bits);
    b.check(x.data(), bits);
    c.check(x.data(), bits);
    d.check(x.data(), bits);
    e.check(x.data(), bits);
    f.check(x.data(), bits);
    g.check(x.data(), bits);
    h.check(x.data(), bits);
  }
  CHECK(checked == (0x80000000u + std::uint64_t{step} - 1) / step);
  a.finish();
  b.finish();
  c.finish();
  d.finish();
  e.finish();
  f.finish();
  g.finish();
  h.finish();
}

}  // namespace

TEST_CASE("one float in 8192 of all encodes as defined", "[encode][slow]") {
  check_floats(false, 8192 * chunk + chunk);
  check_floats(true, 8192 * chunk + chunk);
}

// Some 3.4e10 codes, or the share of them that is asked for.
TEST_CASE("every float encodes as defined", "[.long][every_float]") {
  check_floats(false, test::one_in() * chunk);
  check_floats(true, test::one_in() * chunk);
}

#endif
