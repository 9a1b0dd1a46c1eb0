// SPDX-License-Identifier: MIT
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize_offset.hpp>
#include <tq/kernels/floats.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;

// Offsets that the rounding of the product shows in, -0 among them.
std::int32_t offset(inputs::Random& r, float scale) {
  const double size = static_cast<double>(scale) * (r.chance(50) ? 1.0 : 200.0);
  auto m = static_cast<float>(r.normal() * size);
  if (!std::isfinite(m) || r.chance(10)) m = -0.0f;
  return std::bit_cast<std::int32_t>(m);
}

template <class Source, class Code>
void check(std::uint64_t seed, int bits = 8 * sizeof(Code), bool low_first = true) {
  constexpr bool is_signed = std::numeric_limits<Code>::is_signed;
  const int top = 1 << (is_signed ? bits - 1 : bits);
  const cases::CodeRange codes{is_signed ? -top : 0, top - 1};
  const sweep_cases::Decoding<Code, float> d{
      std::to_string(bits) + " bits",
      tq::driver::kernel<Arch, Source, tq::kernels::DequantizeOffset, tq::kernels::ToFloats<float>>,
      [](Code code, float scale, std::int32_t m) {
        return oracle::dequantize_offset(code, scale, std::bit_cast<float>(m));
      },
      codes,
      bits,
      low_first};
  inputs::Random r(seed);
  std::string failures;
  for (const cases::Form& form : cases::forms(tq::driver::block<Arch>)) {
    cases::Case c(form, codes, r);
    for (std::size_t i = 0; i < c.zeros.size(); ++i) c.zeros[i] = offset(r, c.scales[i]);
    failures += sweep_cases::check_span(d, c, r);
  }
  INFO(d.name << "\n" << failures.substr(0, 600));
  CHECK(failures.empty());
}

}  // namespace

TEST_CASE("codes with offsets equal code * scale + offset, rounded twice, bit for bit",
          "[dequantize]") {
  check<tq::kernels::IntegerCodes<std::int8_t>, std::int8_t>(1);
  check<tq::kernels::IntegerCodes<std::uint8_t>, std::uint8_t>(2);
  check<tq::kernels::IntegerCodes<std::uint16_t>, std::uint16_t>(3);
  check<tq::kernels::PackedCodes<std::uint8_t, 4, true>, std::uint8_t>(4, 4);
  check<tq::kernels::PackedCodes<std::int8_t, 3, false>, std::int8_t>(5, 3, false);
}
