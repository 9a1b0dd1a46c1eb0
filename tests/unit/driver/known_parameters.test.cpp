// SPDX-License-Identifier: MIT
// Kernels that know something of their parameters: loops that they need not are not there, and what
// they do is right for all parameters that keep to it.
#include <tq/driver/known_parameters.hpp>

#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "support/catch.hpp"
#include "support/share.hpp"
#include "support/span_layouts.hpp"
#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;
using namespace tq::kernels;
using namespace tq::driver;

template <KnownParameters Known, class Source, class Code>
void check(const std::string& name, cases::CodeRange codes, int bits, std::uint64_t seed) {
  const sweep_cases::Decoding<Code, float> d{
      name, kernel<Arch, Source, Dequantize, ToFloats<float>, Known>,
      [](Code code, float scale, std::int32_t zero) {
        return oracle::dequantize(code, scale, zero);
      },
      codes, bits};
  inputs::Random r(seed);
  sweep_cases::Failures failures;
  for (int round = 0; round < test::rounds(400); ++round) {
    layouts::Layout l = layouts::draw(r);
    if (Known.is_one) l.group = whole_row, l.row_step = 0;
    if (Known.group != 0 && r.chance(50)) l.group = Known.group;
    sweep_cases::Way way{.streams = r.chance(50)};
    if (r.chance(50)) way.tuning = layouts::everything_asked;
    if (Known.has_origins) way.has_zeros = true;
    if (Known.lacks_origins) way.has_zeros = false;
    failures.add(sweep_cases::difference(d, l, way, r));
  }
  INFO(name << ": " << failures.count << " layouts differ\n" << failures.text);
  CHECK(failures.count == 0);
}
template <KnownParameters Known>
void check(const std::string& name, std::uint64_t seed) {
  check<Known, IntegerCodes<std::int8_t>, std::int8_t>(name + " of int8", {-128, 127}, 8, seed);
  check<Known, PackedCodes<std::int8_t, 4>, std::int8_t>(name + " of int4", {-8, 7}, 4, seed + 1);
}

template <KnownParameters Known>
constexpr RowLoops<Arch> loops = tq::driver::detail::row_loops<Arch, IntegerCodes<std::int8_t>,
                                                               Dequantize, ToFloats<float>, Known>;
// How many loops there are.
constexpr int count(const RowLoops<Arch>& k) {
  int n = 0;
  for (const LoopsOfForm<Arch>* form :
       {&k.constant, &k.per_lane, &k.per_grain[0], &k.per_grain[1], &k.per_grain[2]})
    for (const auto* some : {&form->stored, &form->streamed})
      n += ((*some)[0] != nullptr) + ((*some)[1] != nullptr);
  return n;
}

}  // namespace

TEST_CASE("a kernel that knows its parameters does what it should with them", "[known]") {
  check<one_scale>("one scale", 1);
  check<KnownParameters{.is_one = true, .has_origins = true}>("one scale and zero point", 3);
  check<KnownParameters{.group = 32, .lacks_origins = true}>("groups of 32", 5);
  check<KnownParameters{.group = 128, .has_origins = true}>("groups of 128 with zero points", 7);
  check<KnownParameters{.group = 7}>("groups of 7", 9);
  check<KnownParameters{.group = 3000}>("groups of 3000", 11);
  check<KnownParameters{.has_origins = true}>("zero points", 13);
}

TEST_CASE("zero points that are known to be there may be left out", "[known]") {
  constexpr KnownParameters known{.is_one = true, .has_origins = true};
  const BoundKernel one =
      kernel<Arch, IntegerCodes<std::int8_t>, Dequantize, ToFloats<float>, known>;
  const std::int8_t codes[] = {-128, -1, 0, 5, 127};
  const float scale = 0.5f;
  float out[5];
  sweep(one, {.source = codes, .target = out}, {.length = 5}, {.scales = plain<Arch>(&scale)});
  for (std::size_t i = 0; i < 5; ++i) CHECK(out[i] == static_cast<float>(codes[i]) * 0.5f);
}

TEST_CASE("loops that are not needed are not compiled", "[known]") {
  constexpr KnownParameters groups{.group = 32, .lacks_origins = true};
  CHECK(count(loops<one_scale>) < count(loops<groups>));
  CHECK(count(loops<groups>) < count(loops<KnownParameters{.lacks_origins = true}>));
  CHECK(count(loops<KnownParameters{.lacks_origins = true}>) < count(loops<KnownParameters{}>));
  CHECK(loops<one_scale>.per_lane.stored[0] == nullptr);
  CHECK(loops<one_scale>.constant.stored[1] == nullptr);
  // Who needs the same loops shares them.
  CHECK(loops<one_scale>.constant.stored[0] == loops<KnownParameters{}>.constant.stored[0]);
  CHECK(loops<groups>.per_lane.stored[0] == loops<KnownParameters{}>.per_lane.stored[0]);
}
