// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/fake_quantize_offset.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/reals.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"
#include "support/oracle.hpp"

namespace {

using Arch = tq::arch::native;

template <class Code, class N>
std::string check_case(cases::Case c, const cases::CodeRange& codes, const N& n,
                       inputs::Random& r) {
  using Stage = tq::kernels::FakeQuantizeOffset<Code, N>;
  for (std::size_t i = 0; i < c.zeros.size(); ++i) {
    const auto m = static_cast<float>(r.normal() * 100 * static_cast<double>(c.scales[i]));
    c.zeros[i] = std::bit_cast<std::int32_t>(std::isfinite(m) ? m : -0.0f);
  }
  const auto offset = [&](std::size_t p) { return std::bit_cast<float>(c.zero(p)); };
  c.each([&](std::size_t s, std::size_t, std::size_t p) {
    c.source[s] += r.chance(80) ? offset(p) : 0.0f;
  });
  cases::Outputs<float> wanted(c.target_size(), -77.0f), got = wanted;
  c.each([&](std::size_t s, std::size_t t, std::size_t p) {
    const std::uint64_t place = c.index + static_cast<std::uint64_t>(t) - c.target_at;
    const std::int32_t code = oracle::quantize_offset(c.source[s], c.scales[p], offset(p),
                                                      codes.min, codes.max, n, place);
    wanted[t] = oracle::dequantize_offset(code, c.scales[p], offset(p));
  });
  const Stage stage{codes, n};
  tq::driver::sweep(
      tq::driver::bind(
          tq::driver::kernel<Arch, tq::kernels::Float32, Stage, tq::kernels::ToFloats<float>>,
          stage),
      {.source = c.x(),
       .target = got.data() + c.target_at,
       .draw_index = c.index,
       .streams = c.streaming},
      c.driver_span(), c.parameters<Arch>());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!oracle::same(got[i], wanted[i])) {
      std::ostringstream text;
      text << std::hexfloat << c.form.text() << ": expected " << wanted[i] << ", got " << got[i]
           << "\n";
      return text.str();
    }
  return {};
}

template <class Code, class N>
void check(std::uint64_t seed, cases::CodeRange codes, const N& n = {}) {
  inputs::Random r(seed);
  std::string failures;
  for (const cases::Form& form : cases::forms(tq::driver::block<Arch>))
    failures += check_case<Code>(cases::Case(form, codes, r), codes, n, r);
  INFO(N::rounding_type::name << ", " << N::scaling_type::name << ", " << N::nan_type::name << "\n"
                              << failures.substr(0, 600));
  CHECK(failures.empty());
}

}  // namespace

TEST_CASE("fake_quantize around an offset is what quantize and dequantize make, bit for bit",
          "[fake_quantize]") {
  using namespace tq;
  check<std::uint8_t, Numerics<>>(1, {0, 15});
  check<std::int8_t, Numerics<HalfAway, Reciprocal, NanToMin>>(2, {-128, 127});
  check<std::uint16_t, Numerics<Stochastic>>(3, {0, 65535}, Numerics<Stochastic>{Stochastic{5}});
}
