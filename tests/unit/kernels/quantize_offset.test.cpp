// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/quantize_offset.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/to_codes.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"
#include "support/oracle.hpp"

namespace {

using Arch = tq::arch::native;

float offset_of(const cases::Case& c, std::size_t p) { return std::bit_cast<float>(c.zero(p)); }

// Offsets of up to a hundred steps, or as large as values may be, and values that lie around them.
void draw_offsets(cases::Case& c, inputs::Random& r) {
  for (std::size_t i = 0; i < c.zeros.size(); ++i) {
    auto m = static_cast<float>(r.normal() * 100 * static_cast<double>(c.scales[i]));
    if (r.chance(10)) m = inputs::value(r, c.scales[i]);
    if (!std::isfinite(m)) m = 0;
    c.zeros[i] = std::bit_cast<std::int32_t>(m);
  }
  c.each([&](std::size_t s, std::size_t, std::size_t p) {
    if (r.chance(80)) c.source[s] += offset_of(c, p);
    else if (r.chance(20)) c.source[s] = offset_of(c, p);
  });
}

template <class Code, class N>
std::string check_case(const cases::Case& c, const cases::CodeRange& codes, const N& n) {
  using Stage = tq::kernels::QuantizeOffset<Code, N>;
  using Sink = typename tq::kernels::to_codes<8 * sizeof(Code)>::type;
  const Stage stage{codes, n};
  Code guard;
  std::memset(&guard, 0xa5, sizeof guard);
  cases::Outputs<Code> wanted(c.target_size(), guard), got = wanted;
  c.each([&](std::size_t s, std::size_t t, std::size_t p) {
    wanted[t] = static_cast<Code>(
        oracle::quantize_offset(c.source[s], c.scales[p], offset_of(c, p), codes.min, codes.max, n,
                                c.index + static_cast<std::uint64_t>(t) - c.target_at));
  });
  tq::driver::sweep(
      tq::driver::bind(tq::driver::kernel<Arch, tq::kernels::Float32, Stage, Sink>, stage),
      {.source = c.x(),
       .target = got.data() + c.target_at,
       .draw_index = c.index,
       .streams = c.streaming},
      c.driver_span(), c.parameters<Arch>());
  if (got == wanted) return {};
  std::ostringstream text;
  text << std::hexfloat << c.form.text() << (c.streaming ? ", streaming" : "");
  c.each([&](std::size_t s, std::size_t t, std::size_t p) {
    if (got[t] != wanted[t])
      text << ": x " << c.source[s] << ", scale " << c.scales[p] << ", offset " << offset_of(c, p)
           << ", expected " << int{wanted[t]} << ", got " << int{got[t]};
  });
  return text.str() + "\n";
}

template <class Code, class N>
void check(std::uint64_t seed, cases::CodeRange codes, const N& n = {}) {
  inputs::Random r(seed);
  std::string failures;
  for (const cases::Form& form : cases::forms(tq::driver::block<Arch>)) {
    cases::Case c(form, codes, r);
    draw_offsets(c, r);
    failures += check_case<Code>(c, codes, n);
  }
  INFO(N::rounding_type::name << ", " << N::scaling_type::name << ", " << N::nan_type::name << "\n"
                              << failures.substr(0, 800));
  CHECK(failures.empty());
}

}  // namespace

TEST_CASE("codes of values around an offset equal clamp(round((x - offset) / scale)) bit for bit",
          "[quantize]") {
  using namespace tq;
  check<std::int8_t, Numerics<>>(1, {-128, 127});
  check<std::uint8_t, Numerics<>>(2, {0, 15});
  check<std::uint8_t, Numerics<NearestEven, Reciprocal, NanToMin>>(3, {0, 255});
  check<std::int8_t, Numerics<HalfAway, Divide, NanToMin>>(4, {-8, 7});
  check<std::uint16_t, Numerics<>>(5, {0, 65535});
  check<std::int16_t, Numerics<Stochastic>>(6, {-32768, 32767},
                                            Numerics<Stochastic>{Stochastic{9}});
}
