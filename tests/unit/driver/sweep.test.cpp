// SPDX-License-Identifier: MIT
#include <tq/driver/sweep.hpp>

#include <tq/core/float_elements.hpp>
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/share.hpp"
#include "support/span_layouts.hpp"
#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;
using namespace tq::kernels;
using tq::driver::kernel, tq::driver::Tuning;

using layouts::draw, layouts::everything_asked, layouts::Layout;
using sweep_cases::Failures, sweep_cases::Way;

template <class Code, class Out>
void check(const sweep_cases::Decoding<Code, Out>& d, std::uint64_t seed) {
  inputs::Random r(seed);
  Failures failures;
  for (int round = 0; round < test::rounds(600); ++round) {
    const Layout l = draw(r);
    const bool streams = r.chance(50);
    failures.add(sweep_cases::difference(
        d, l, {.streams = streams, .tuning = r.chance(50) ? everything_asked : Tuning{}}, r));
  }
  INFO(d.name << ": " << failures.count << " layouts differ\n" << failures.text);
  CHECK(failures.count == 0);
}

// Long rows from every place of a line on, past the cache: each ends in the line where the next one
// begins, and tables end where a line does.
template <class Code, class Out>
void check_places(const sweep_cases::Decoding<Code, Out>& d, std::uint64_t seed) {
  inputs::Random r(seed);
  test::Share share;
  Failures failures;
  constexpr std::size_t lengths[] = {241, 960, 1000, 1024, 2100}, groups[] = {0, 1, 3, 9, 300};
  for (const std::size_t length : lengths)
    for (const std::size_t group : groups)
      for (std::size_t place = 0; place < 64 / sizeof(Out); ++place)
        for (const bool shares : {false, true}) {
          if (!share.takes()) continue;
          Layout l = layouts::rows_of(length, shares ? 1 : 0);
          if (group != 0) l.group = group;
          if (!shares && group != 0) l.row_step = 7;
          l.target_at += static_cast<std::ptrdiff_t>(place);
          failures.add(
              sweep_cases::difference(d, l, {.streams = true, .tuning = everything_asked}, r));
          l.span.target_stride = static_cast<std::ptrdiff_t>(length);  // side by side
          failures.add(
              sweep_cases::difference(d, l, {.streams = true, .tuning = everything_asked}, r));
        }
  INFO(d.name << ": " << failures.count << " layouts differ\n" << failures.text);
  CHECK(failures.count == 0);
}

// Rows past the cache that are longer than a table, with and without zero points.
template <class Code, class Out>
void check_long_rows(const sweep_cases::Decoding<Code, Out>& d, std::uint64_t seed) {
  inputs::Random r(seed);
  test::Share share;
  Failures failures;
  for (const std::size_t length : layouts::long_rows)
    for (const std::size_t place : {0u, 3u})
      for (const bool has_zeros : {false, true}) {
        if (!share.takes()) continue;
        const Way way{.streams = true, .tuning = everything_asked, .has_zeros = has_zeros};
        failures.add(sweep_cases::difference(d, layouts::long_rows_of(length, place), way, r));
      }
  INFO(d.name << ": " << failures.count << " layouts differ\n" << failures.text);
  CHECK(failures.count == 0);
}

template <class Code, class Out>
void check_rows(const sweep_cases::Decoding<Code, Out>& d, bool in_place, std::uint64_t seed) {
  inputs::Random r(seed);
  test::Share share;
  Failures failures;
  for (std::size_t length = 1; length <= layouts::longest_row; ++length)
    for (int form = 0; form < layouts::forms_of_rows; ++form)
      for (const bool streams : {false, true}) {
        if (!share.takes()) continue;
        const Way way{.streams = streams, .in_place = in_place, .tuning = everything_asked};
        failures.add(sweep_cases::difference(d, layouts::rows_of(length, form), way, r));
      }
  INFO(d.name << ": " << failures.count << " layouts differ\n" << failures.text);
  CHECK(failures.count == 0);
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

TEST_CASE("rows of every length, in every form", "[sweep]") {
  check_rows<std::int8_t, float>(
      {"int8",
       kernel<Arch, IntegerCodes<std::int8_t>, Dequantize, ToFloats<float>>,
       [](std::int8_t code, float scale, std::int32_t zero) {
         return oracle::dequantize(code, scale, zero);
       },
       {-128, 127}},
      false, 7);
  const sweep_cases::Decoding<float, float> scaled{
      "float32",
      kernel<Arch, Float32, Scaled, ToFloats<float>>,
      [](float value, float scale, std::int32_t) { return value * scale; },
      {-1000, 1000}};
  check_rows<float, float>(scaled, false, 8);
  check_rows<float, float>(scaled, true, 9);
}

TEST_CASE("long rows from memory, from every place of a line on", "[sweep]") {
  const auto dequantized = [](auto code, float scale, std::int32_t zero) {
    return oracle::dequantize(code, scale, zero);
  };
  check_places<std::int8_t, float>(
      {"int8",
       kernel<Arch, IntegerCodes<std::int8_t>, Dequantize, ToFloats<float>>,
       dequantized,
       {-128, 127}},
      10);
  check_places<std::int8_t, float>(
      {"int4",
       kernel<Arch, PackedCodes<std::int8_t, 4>, Dequantize, ToFloats<float>>,
       dequantized,
       {-8, 7},
       4},
      11);
}

TEST_CASE("rows from memory that are longer than a table of their columns", "[sweep]") {
  check_long_rows<std::int8_t, float>(
      {"int8",
       kernel<Arch, IntegerCodes<std::int8_t>, Dequantize, ToFloats<float>>,
       [](std::int8_t code, float scale, std::int32_t zero) {
         return oracle::dequantize(code, scale, zero);
       },
       {-128, 127}},
      12);
}
