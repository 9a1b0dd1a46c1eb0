// SPDX-License-Identifier: MIT
#include <tq/driver/sweep.hpp>

#include <tq/core/float_elements.hpp>
#include <tq/driver/loops.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/share.hpp"
#include "support/span_layouts.hpp"
#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;
using namespace tq::kernels;
using tq::driver::kernel, tq::driver::Parameters, tq::driver::plain, tq::driver::sweep,
    tq::driver::Tuning;

using layouts::draw, layouts::everything_asked, layouts::Layout;

template <class Code, class Out>
void check(const sweep_cases::Decoding<Code, Out>& d, std::uint64_t seed) {
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  for (int round = 0; round < test::rounds(600); ++round) {
    const Layout l = draw(r);
    std::vector<Code> q(l.source_size);
    for (Code& v : q) v = static_cast<Code>(r.between(d.codes.min, d.codes.max));
    std::vector<float> scales(l.parameter(l.span.count - 1, l.span.length - 1) + 1);
    std::vector<std::int32_t> zeros(scales.size());
    for (float& s : scales) s = inputs::ordinary_scale(r);
    for (std::int32_t& z : zeros) z = r.between(d.codes.min, d.codes.max);
    const bool has_zeros = r.chance(50), streams = r.chance(50);
    cases::Outputs<Out> wanted(l.target_size, sweep_cases::guard<Out>()), got = wanted;
    for (std::size_t k = 0; k < l.span.count; ++k)
      for (std::size_t i = 0; i < l.span.length; ++i) {
        const std::size_t p = l.parameter(k, i);
        wanted[static_cast<std::size_t>(l.target(k, i))] =
            d.value(q[static_cast<std::size_t>(l.source(k, i))], scales[p],
                    has_zeros && d.kernel.takes_offsets ? zeros[p] : 0);
      }
    Parameters p{.scales = plain<Arch>(scales.data()),
                 .first = l.first,
                 .row_step = l.row_step,
                 .group = l.group,
                 .step = l.step};
    if (has_zeros) p.offsets = plain<Arch>(zeros.data());
    const std::vector<unsigned char> bytes = sweep_cases::packed(q, d.bits, d.low_first);
    sweep(d.kernel,
          {.source = bytes.data(),
           .first = l.source_at,
           .target = got.data() + l.target_at,
           .streams = streams},
          l.span, p, r.chance(50) ? everything_asked : Tuning{});
    const std::string text =
        sweep_cases::difference(wanted, got, static_cast<std::size_t>(l.target_at));
    if (!text.empty() && ++failed <= 5)
      failures += l.text() + (streams ? "streaming " : "") + text + "\n";
  }
  INFO(d.name << ": " << failed << " layouts differ\n" << failures);
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("a sweep gives every element its code and its parameter, in any layout", "[sweep]") {
  const auto dequantized = [](auto code, float scale, std::int32_t zero) {
    return oracle::dequantize(code, scale, zero);
  };
  check<std::int8_t, float>({"int8",
                             kernel<Arch, IntegerCodes<std::int8_t>, Dequantize, ToFloats<float>>,
                             dequantized,
                             {-128, 127}},
                            1);
  check<std::int8_t, float>({"int4",
                             kernel<Arch, PackedCodes<std::int8_t, 4>, Dequantize, ToFloats<float>>,
                             dequantized,
                             {-8, 7},
                             4},
                            2);
  check<std::uint8_t, float>(
      {"uint3",
       kernel<Arch, PackedCodes<std::uint8_t, 3>, Dequantize, ToFloats<float>>,
       dequantized,
       {0, 7},
       3},
      3);
  check<std::int32_t, float>(
      {"int32",
       kernel<Arch, IntegerCodes<std::int32_t>, DequantizeWide, ToFloats<float>>,
       dequantized,
       {-1 << 30, 1 << 30}},
      4);
}

TEST_CASE("a sweep reads and writes elements of 16 and 64 bits in any layout", "[sweep]") {
  using half = tq::float16::format;
  check<std::uint16_t, std::uint16_t>(
      {"float16 to float16",
       kernel<Arch, Values<half>, Scaled, ToHalves<half>>,
       [](std::uint16_t code, float scale, std::int32_t) {
         return static_cast<std::uint16_t>(
             half::encode<tq::Saturate>(half::decode(code) * scale, tq::NearestEven{}, 0));
       },
       {0, 0x7bff}},
      5);
  check<std::int16_t, double>(
      {"int16 to float64",
       kernel<Arch, IntegerCodes<std::int16_t>, Dequantize, ToFloats<double>>,
       [](std::int16_t code, float scale, std::int32_t zero) {
         return double(oracle::dequantize(code, scale, zero));
       },
       {-32768, 32767}},
      6);
}
