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

#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;
using namespace tq::kernels;
using tq::driver::kernel, tq::driver::Parameters, tq::driver::plain, tq::driver::sweep,
    tq::driver::Tuning, tq::driver::whole_row;

constexpr std::size_t block = tq::driver::block<Arch>;

// A span, its parameters, and memory that fits: nothing follows the last element of the source,
// guards surround the target.
struct Layout {
  tq::driver::Span span;
  std::size_t group, first, row_step, step;
  std::ptrdiff_t source_at = 0, target_at = 0;
  std::size_t source_size = 0, target_size = 0;

  [[nodiscard]] std::size_t parameter(std::size_t r, std::size_t i) const {
    return first + r * row_step + (group == whole_row ? 0 : i / group) * step;
  }
  [[nodiscard]] std::ptrdiff_t source(std::size_t r, std::size_t i) const {
    return at(source_at, r, span.source_stride, i, span.source_step);
  }
  [[nodiscard]] std::ptrdiff_t target(std::size_t r, std::size_t i) const {
    return at(target_at, r, span.target_stride, i, span.target_step);
  }
  [[nodiscard]] std::string text() const {
    std::string t;
    for (const auto n :
         {static_cast<std::ptrdiff_t>(span.length), static_cast<std::ptrdiff_t>(span.count),
          span.source_stride, span.source_step, span.target_stride, span.target_step,
          static_cast<std::ptrdiff_t>(group), static_cast<std::ptrdiff_t>(row_step),
          static_cast<std::ptrdiff_t>(step), source_at, target_at})
      t += std::to_string(n) + " ";
    return t;
  }

 private:
  static std::ptrdiff_t at(std::ptrdiff_t origin, std::size_t r, std::ptrdiff_t row, std::size_t i,
                           std::ptrdiff_t column) {
    return origin + static_cast<std::ptrdiff_t>(r) * row + static_cast<std::ptrdiff_t>(i) * column;
  }
};

// Strides of rows and neighbours that do not overlap, in either order and direction; `shares`: or
// rows that are all the same.
void draw_strides(std::size_t length, std::size_t count, bool shares, inputs::Random& r,
                  std::ptrdiff_t& row, std::ptrdiff_t& column) {
  const auto n = static_cast<std::ptrdiff_t>(length), m = static_cast<std::ptrdiff_t>(count);
  const std::ptrdiff_t gap = r.chance(50) ? 0 : r.between(1, 9);
  switch (r.below(4)) {
    case 0: row = 1, column = m + gap; break;      // turned
    case 1: row = 2 * n + gap, column = 2; break;  // every other one
    default: row = n + gap, column = 1; break;
  }
  if (shares && r.chance(10)) (r.chance(50) ? row : column) = 0;
  if (r.chance(15)) row = -row;
  if (r.chance(15)) column = -column;
}

Layout draw(inputs::Random& r) {
  constexpr std::size_t lengths[] = {1,  3,  8,   15,  16,  31,  32,  33,   63,
                                     64, 65, 100, 127, 128, 200, 257, 1000, 1024};
  constexpr std::size_t groups[] = {1,  2,  5,   8,   16,  24,         32,
                                    48, 64, 100, 128, 256, 16 * block, 16 * block + 3};
  Layout l;
  tq::driver::Span& s = l.span;
  s.length = lengths[r.below(std::size(lengths))];
  s.count = r.chance(30) ? 1 : 1 + r.below(s.length > 300 ? 5 : 150);
  if (r.chance(10)) s.length = 5000, s.count = 2;
  draw_strides(s.length, s.count, true, r, s.source_stride, s.source_step);
  draw_strides(s.length, s.count, false, r, s.target_stride, s.target_step);
  if (r.chance(30))
    s.source_step = s.target_step = 1,
    s.source_stride = s.target_stride = static_cast<std::ptrdiff_t>(s.length);
  l.group = r.chance(30) ? whole_row : groups[r.below(std::size(groups))];
  l.step = r.chance(70) ? 1 : r.below(4);
  const std::size_t in_row = l.group == whole_row ? 1 : (s.length + l.group - 1) / l.group;
  l.row_step = r.chance(40) ? in_row * l.step : r.chance(50) ? 0 : r.below(5);
  l.first = r.below(3);
  const auto reach = [&](std::ptrdiff_t row, std::ptrdiff_t column, std::ptrdiff_t& origin) {
    const std::ptrdiff_t a = row * static_cast<std::ptrdiff_t>(s.count - 1),
                         b = column * static_cast<std::ptrdiff_t>(s.length - 1);
    origin -= std::min<std::ptrdiff_t>(a, 0) + std::min<std::ptrdiff_t>(b, 0);
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(a, 0) +
                                    std::max<std::ptrdiff_t>(b, 0) + origin) +
           1;
  };
  l.source_at = static_cast<std::ptrdiff_t>(r.below(9));
  l.target_at = 64 + (r.chance(50) ? 0 : static_cast<std::ptrdiff_t>(r.below(64)));
  l.source_size = reach(s.source_stride, s.source_step, l.source_at);
  l.target_size = reach(s.target_stride, s.target_step, l.target_at) + 64;
  return l;
}

constexpr Tuning everything_asked{
    .stream_from = 0, .lines_ahead = 64, .pages_ahead = 1, .written_pages_ahead = 1};

template <class Code, class Out>
void check(const sweep_cases::Decoding<Code, Out>& d, std::uint64_t seed) {
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  for (int round = 0; round < 600; ++round) {
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
