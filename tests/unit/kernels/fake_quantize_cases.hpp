// SPDX-License-Identifier: MIT
#pragma once
// One test for every kernel of fake_quantize: all forms of spans against the oracle, in place too.

#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/fake_quantize.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"
#include "support/oracle.hpp"

namespace fake_quantize_cases {

using Arch = tq::arch::native;
inline constexpr std::size_t block = tq::driver::block<Arch>;

template <class Code, class N>
void fake_quantize(const float* x, float* out, const cases::Case& c, const cases::CodeRange& codes,
                   const N& n) {
  using namespace tq::kernels;
  const FakeQuantize<Code, N> stage{codes, n};
  tq::driver::sweep(
      tq::driver::bind(tq::driver::kernel<Arch, Float32, FakeQuantize<Code, N>, ToFloats<float>>,
                       stage),
      {.source = x, .target = out, .draw_index = c.index, .streams = c.streaming}, c.driver_span(),
      c.parameters<Arch>());
}

template <class N>
void run_all(const N& n, std::uint64_t seed) {
  const std::vector<cases::CodeRange> ranges{{-128, 127},     {0, 255},  {-8, 7}, {0, 15},
                                             {-127, 127},     {-2, 1},   {0, 3},  {-1, 1},
                                             {-32768, 32767}, {0, 65535}};
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  for (int round = 0; round < 3; ++round)
    for (const cases::Form& form : cases::forms(block)) {
      const cases::CodeRange codes = ranges[r.below(ranges.size())];
      const cases::Case c(form, codes, r);
      // In place only where source and target lie alike and stretches do not overlap.
      const bool in_place = form.source_stride == form.target_stride && r.chance(50);
      const float guard = std::bit_cast<float>(0xa5a5a5a5u);
      cases::Outputs<float> wanted(c.target_size(), guard), got = wanted;
      if (in_place)
        c.each([&](std::size_t s, std::size_t t, std::size_t) { got[t] = c.source[s]; });
      c.each([&](std::size_t s, std::size_t t, std::size_t p) {
        const std::int32_t code =
            oracle::quantize(c.source[s], c.scales[p], c.zero(p), codes.min, codes.max, n,
                             c.index + static_cast<std::uint64_t>(t) - c.target_at);
        wanted[t] = oracle::dequantize(code, c.scales[p], c.zero(p));
      });
      float* out = got.data() + c.target_at;
      const float* x = in_place ? out : c.x();
      if (codes.max - codes.min > 255) fake_quantize<std::int16_t>(x, out, c, codes, n);
      else fake_quantize<std::int8_t>(x, out, c, codes, n);
      std::size_t bad = 0;
      while (bad < got.size() && oracle::same(got[bad], wanted[bad])) ++bad;
      if (bad == got.size() || ++failed > 5) continue;
      std::ostringstream text;
      text << std::hexfloat << form.text() << (c.streaming ? ", streaming" : "")
           << (in_place ? ", in place" : "") << ", codes " << codes.min << " to " << codes.max
           << ": at " << static_cast<std::ptrdiff_t>(bad) - static_cast<std::ptrdiff_t>(c.target_at)
           << " expected " << wanted[bad] << ", got " << got[bad];
      c.each([&](std::size_t s, std::size_t t, std::size_t p) {
        if (t == bad)
          text << ", x " << c.source[s] << ", scale " << c.scales[p] << ", zero point "
               << c.zero(p);
      });
      failures += text.str() + "\n";
    }
  INFO("rounding " << N::rounding_type::name << ", " << N::scaling_type::name << ", "
                   << N::nan_type::name << ": " << failed << " spans differ\n"
                   << failures);
  CHECK(failed == 0);
}

template <class R>
void run_rounding(const R& rounding, std::uint64_t seed) {
  using namespace tq;
  run_all(Numerics<R, Divide, NanToZero>{rounding}, seed);
  run_all(Numerics<R, Divide, NanToMin>{rounding}, seed + 1);
  run_all(Numerics<R, Reciprocal, NanToZero>{rounding}, seed + 2);
  run_all(Numerics<R, Reciprocal, NanToMin>{rounding}, seed + 3);
}

// Two of the four: the kernels take long to compile.
template <class R>
void run_pair(const R& rounding, std::uint64_t seed) {
  using namespace tq;
  run_all(Numerics<R, Divide, NanToMin>{rounding}, seed);
  run_all(Numerics<R, Reciprocal, NanToZero>{rounding}, seed + 1);
}

}  // namespace fake_quantize_cases
