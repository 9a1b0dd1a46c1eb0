// SPDX-License-Identifier: MIT
#pragma once
// One test for every kernel of quantize: all forms of spans against the oracle, with guard bytes.

#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/to_codes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"
#include "support/oracle.hpp"

namespace quantize_cases {

using Arch = tq::arch::native;
inline constexpr std::size_t block = tq::driver::block<Arch>;

// float32 -> codes of Bits bits.
template <class Code, int Bits, class N>
void quantize(const float* x, void* out, const tq::driver::Span& span,
              const tq::driver::Parameters& params, const cases::CodeRange& codes, const N& n,
              std::uint64_t place, bool streams) {
  using namespace tq::kernels;
  using Sink = typename to_codes<Bits>::type;
  const Quantize<Code, N> stage{codes, n};
  tq::driver::sweep(
      tq::driver::bind(tq::driver::kernel<Arch, Float32, Quantize<Code, N>, Sink>, stage),
      {.source = x, .target = out, .draw_index = place, .streams = streams}, span, params);
}

// The text of a mismatch.
template <class Value>
std::string report(const cases::Case& c, const cases::CodeRange& codes, float x, std::size_t p,
                   Value expected, Value got) {
  std::ostringstream text;
  text << std::hexfloat << c.form.text() << (c.streaming ? ", streaming" : "") << ", codes "
       << codes.min << " to " << codes.max << ": x " << x << ", scale " << c.scales[p]
       << ", zero point " << c.zero(p) << ", expected " << expected << ", got " << got;
  return text.str();
}

/// Bits is 8 * sizeof(Code) for one code per element, else 4 or 2.
template <class Code, int Bits, class N>
std::string run_case(const cases::Case& c, const cases::CodeRange& codes, const N& n) {
  constexpr bool packs = Bits < 8;
  constexpr unsigned char guard = 0xa5;
  cases::Outputs<unsigned char> memory;
  if constexpr (packs) {
    const std::size_t at = 64 + c.target_at % 64, total = c.form.length * c.form.count;
    const std::size_t bytes = (total * Bits + 7) / 8;
    cases::Outputs<unsigned char> wanted(at + bytes + 64, guard);
    memory = wanted;
    std::memset(wanted.data() + at, 0, bytes);
    std::size_t k = 0;
    c.each([&](std::size_t s, std::size_t, std::size_t p) {
      const int code = oracle::quantize(c.source[s], c.scales[p], c.zero(p), codes.min, codes.max,
                                        n, c.index + k);
      const unsigned field = static_cast<unsigned>(code) & ((1u << Bits) - 1u);
      const std::size_t bit = k * Bits;
      wanted[at + bit / 8] = static_cast<unsigned char>(wanted[at + bit / 8] | (field << bit % 8));
      ++k;
    });
    quantize<Code, Bits>(c.x(), memory.data() + at, c.driver_span(), c.parameters<Arch>(), codes, n,
                         c.index, c.streaming);
    if (memory == wanted) return {};
    for (std::size_t i = 0; i < memory.size(); ++i)
      if (memory[i] != wanted[i])
        return report(c, codes, 0, 0, int{wanted[i]}, int{memory[i]}) + " in byte " +
               std::to_string(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(at)) +
               " of " + std::to_string(bytes);
    return {};
  } else {
    const std::size_t size = c.target_size();
    Code fill;
    std::memset(&fill, guard, sizeof fill);
    cases::Outputs<Code> wanted(size, fill), got(size, fill);
    c.each([&](std::size_t s, std::size_t t, std::size_t p) {
      wanted[t] = static_cast<Code>(
          oracle::quantize(c.source[s], c.scales[p], c.zero(p), codes.min, codes.max, n,
                           c.index + static_cast<std::uint64_t>(t) - c.target_at));
    });
    quantize<Code, Bits>(c.x(), got.data() + c.target_at, c.driver_span(), c.parameters<Arch>(),
                         codes, n, c.index, c.streaming);
    if (got == wanted) return {};
    std::string text;
    c.each([&](std::size_t s, std::size_t t, std::size_t p) {
      if (text.empty() && got[t] != wanted[t])
        text = report(c, codes, c.source[s], p, int{wanted[t]}, int{got[t]});
    });
    return text.empty() ? report(c, codes, 0, 0, 0, 0) + ": guards overwritten" : text;
  }
}

/// Every form, each with ranges, scales, values, alignment and index drawn anew.
template <class Code, int Bits, class N>
void run_all(const N& n, std::uint64_t seed) {
  inputs::Random r(seed);
  std::vector<cases::CodeRange> ranges = cases::ranges<Code>();
  if (Bits == 4)
    ranges = Code(-1) < 0 ? std::vector<cases::CodeRange>{{-8, 7}, {-7, 7}}
                          : std::vector<cases::CodeRange>{{0, 15}};
  if (Bits == 2)
    ranges = Code(-1) < 0 ? std::vector<cases::CodeRange>{{-2, 1}, {-1, 1}}
                          : std::vector<cases::CodeRange>{{0, 3}};
  std::string failures;
  int failed = 0, ran = 0;
  for (int round = 0; round < 2; ++round)
    for (const cases::Form& form : cases::forms(block)) {
      if (Bits < 8 && !form.packable()) continue;
      const cases::CodeRange codes = ranges[r.below(ranges.size())];
      const cases::Case c(form, codes, r);
      const std::string text = run_case<Code, Bits>(c, codes, n);
      ++ran;
      if (!text.empty() && ++failed <= 5) failures += text + "\n";
    }
  INFO("rounding " << N::rounding_type::name << ", " << N::scaling_type::name << ", "
                   << N::nan_type::name << ", " << Bits << " bits: " << failed << " of " << ran
                   << " spans differ\n"
                   << failures);
  CHECK(failed == 0);
}

/// One value that needs care, at every place among values that do not.
template <class Code, int Bits, class N>
void run_one_rare(const N& n, cases::CodeRange codes) {
  constexpr std::size_t count = 4 * block + 3, per_byte = 8 / Bits,
                        bytes = (count + per_byte - 1) / per_byte;
  const float scale = 0.3f;
  const auto field = [&](float x, std::size_t i) {
    const int code = oracle::quantize(x, scale, 0, codes.min, codes.max, n, i);
    return (static_cast<unsigned>(code) & ((1u << Bits) - 1u)) << i % per_byte * Bits;
  };
  inputs::Random r(count);
  std::vector<float> x(count);
  std::vector<unsigned char> usual(bytes, 0), got(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(r.between(codes.min, codes.max)) * scale;
    usual[i / per_byte] = static_cast<unsigned char>(usual[i / per_byte] | field(x[i], i));
  }
  int failed = 0;
  for (const float rare : {std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::infinity(), 3e38f, -3e38f})
    for (std::size_t i = 0; i < count; ++i) {
      const float before = std::exchange(x[i], rare);
      unsigned char& at = usual[i / per_byte];
      const unsigned char byte =
          std::exchange(at, static_cast<unsigned char>((at ^ field(before, i)) | field(rare, i)));
      quantize<Code, Bits>(x.data(), got.data(), {.length = count},
                           {.scales = tq::driver::plain<Arch>(&scale)}, codes, n, 0, false);
      failed += got != usual;
      at = byte;
      x[i] = before;
    }
  INFO("codes " << codes.min << " to " << codes.max << ", " << Bits << " bits");
  CHECK(failed == 0);
}

// A rounding with every scaling and NaN policy.
template <class Code, int Bits, class R>
void run_rounding(const R& rounding, std::uint64_t seed) {
  using namespace tq;
  run_all<Code, Bits>(Numerics<R, Divide, NanToZero>{rounding}, seed);
  run_all<Code, Bits>(Numerics<R, Divide, NanToMin>{rounding}, seed + 1);
  run_all<Code, Bits>(Numerics<R, Reciprocal, NanToZero>{rounding}, seed + 2);
  run_all<Code, Bits>(Numerics<R, Reciprocal, NanToMin>{rounding}, seed + 3);
}

// Kernels take long to compile: every rounding with int8, once with each scaling and each NaN
// policy, and every type and width of codes with some of them, since a sink gets registers of codes
// whatever made them.
template <class Code, int Bits, class R>
void run_pair(const R& rounding, std::uint64_t seed) {
  using namespace tq;
  run_all<Code, Bits>(Numerics<R, Divide, NanToZero>{rounding}, seed);
  run_all<Code, Bits>(Numerics<R, Reciprocal, NanToMin>{rounding}, seed + 1);
}

}  // namespace quantize_cases
