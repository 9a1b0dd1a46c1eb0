// SPDX-License-Identifier: MIT
#pragma once
// One test for every kernel of encode and decode: all forms of spans against the scalar reference,
// with guard bytes. Kernels take long to compile, so what surrounds them is compiled once per type
// of codes, not per kernel.

#include <tq/core/codebook.hpp>
#include <tq/core/float_elements.hpp>
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/encode.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/format_oracle.hpp"
#include "support/kernel_cases.hpp"

namespace format_cases {

using Arch = tq::arch::native;
inline constexpr std::size_t block = tq::driver::block<Arch>;

/// Powers of two, of which the reciprocal is exact, or any.
enum class Scale { any, power_of_two };

/// Scales that no corrected quotient serves, zero and NaN among them; or only ordinary ones.
inline float draw_scale(Scale kind, bool ordinary, inputs::Random& r) {
  if (kind == Scale::power_of_two) {
    if (ordinary) return std::ldexp(1.0f, r.between(-10, 4));
    return r.chance(10) ? std::numeric_limits<float>::quiet_NaN()
                        : std::ldexp(1.0f, r.between(-127, 127));
  }
  if (ordinary || r.chance(40)) return inputs::ordinary_scale(r);
  switch (r.below(4)) {
    case 0: return 0.0f;
    case 1: return std::numeric_limits<float>::quiet_NaN();
    default: return inputs::scale(r);
  }
}

inline cases::Case draw_case(const cases::Form& form, Scale kind, const std::vector<double>& marks,
                             inputs::Random& r) {
  cases::Case c(form, {0, 0}, r);
  const bool same = r.chance(20), tame = r.chance(40);
  const int rare = tame || r.chance(50) ? 0 : r.chance(50) ? 3 : 50;  // percent of unusual scales
  for (float& s : c.scales) s = draw_scale(kind, !r.chance(rare), r);
  if (same) std::fill(c.scales.begin(), c.scales.end(), c.scales[0]);
  c.each([&](std::size_t s, std::size_t, std::size_t p) {
    c.source[s] = tame ? oracle::ordinary_value_near(marks, c.scales[p], r)
                       : oracle::value_near(marks, c.scales[p], r);
  });
  return c;
}

inline std::string report(const cases::Case& c, float x, std::size_t p, std::uint32_t expected,
                          std::uint32_t got) {
  std::ostringstream text;
  text << std::hexfloat << c.form.text() << (c.streaming ? ", streaming" : "") << ": x " << x
       << ", scale " << c.scales[p] << std::hex << ", expected " << expected << ", got " << got
       << "\n";
  return text.str();
}

template <class Format, class N, int Bits>
inline constexpr auto kernel_of =
    tq::driver::kernel<Arch, tq::kernels::Float32,
                       typename tq::kernels::encoding<Format, N, Bits>::stage,
                       typename tq::kernels::encoding<Format, N, Bits>::sink>;

/// Kernels that encode, with numerics that have no numbers of their own.
template <class Code>
struct Encoder {
  tq::driver::BoundKernel run;
  std::optional<tq::driver::BoundKernel> pack4;
  std::uint32_t (*code)(float, float, std::uint64_t) noexcept;
  std::uint32_t sign;  // bit of a code, or 0

  /// Bits of the code that the contract fixes: all but the sign of what a NaN scale makes, which
  /// follows the order of operands that the compiler chose.
  [[nodiscard]] std::uint32_t fixed_bits(float scale) const {
    return std::isnan(scale) ? ~sign : ~0u;
  }
};

template <class Format, class N, bool Packs = Format::bits == 4>
Encoder<tq::kernels::format_code<Format>> encoder() {
  using Code = tq::kernels::format_code<Format>;
  static constexpr typename tq::kernels::encoding<Format, N, 8 * sizeof(Code)>::stage stage{};
  Encoder<Code> e{tq::driver::bind(kernel_of<Format, N, 8 * sizeof(Code)>, stage), {}, nullptr, 0};
  if constexpr (Packs) e.pack4 = tq::driver::bind(kernel_of<Format, N, 4>, stage);
  e.code = [](float x, float scale, std::uint64_t index) noexcept {
    return tq::reference::encode<Format>(x, scale, N{}, index);
  };
  if constexpr (requires { requires Format::has_negative_zero; }) e.sign = 1u << (Format::bits - 1);
  return e;
}

template <class Code>
std::string run_codes(const cases::Case& c, const Encoder<Code>& kernel) {
  Code guard;
  std::memset(&guard, 0xa5, sizeof guard);
  cases::Outputs<Code> wanted(c.target_size(), guard), got = wanted;
  c.each([&](std::size_t s, std::size_t t, std::size_t p) {
    wanted[t] = static_cast<Code>(kernel.code(
        c.source[s], c.scales[p], c.index + static_cast<std::uint64_t>(t) - c.target_at));
  });
  tq::driver::sweep(kernel.run,
                    {.source = c.x(),
                     .target = got.data() + c.target_at,
                     .draw_index = c.index,
                     .streams = c.streaming},
                    c.driver_span(), c.parameters<Arch>());
  c.each([&](std::size_t, std::size_t t, std::size_t p) {
    const std::uint32_t fixed = kernel.fixed_bits(c.scales[p]);
    got[t] = static_cast<Code>((got[t] & fixed) | (wanted[t] & ~fixed));
  });
  if (got == wanted) return {};
  std::string text;
  c.each([&](std::size_t s, std::size_t t, std::size_t p) {
    if (text.empty() && got[t] != wanted[t]) text = report(c, c.source[s], p, wanted[t], got[t]);
  });
  return text.empty() ? report(c, 0, 0, 0, 0) + "guards overwritten\n" : text;
}

template <class Code>
std::string run_packed(const cases::Case& c, const Encoder<Code>& kernel) {
  const std::size_t at = 64 + c.target_at % 64, bytes = (c.form.length * c.form.count + 1) / 2;
  std::vector<unsigned char> wanted(at + bytes + 64, 0xa5), got = wanted;
  std::memset(wanted.data() + at, 0, bytes);
  std::size_t k = 0;
  c.each([&](std::size_t s, std::size_t, std::size_t p) {
    const std::uint32_t code = kernel.code(c.source[s], c.scales[p], c.index + k);
    wanted[at + k / 2] =
        static_cast<unsigned char>(wanted[at + k / 2] | code << (k % 2 == 0 ? 0 : 4));
    ++k;
  });
  tq::driver::sweep(
      *kernel.pack4,
      {.source = c.x(), .target = got.data() + at, .draw_index = c.index, .streams = c.streaming},
      c.driver_span(), c.parameters<Arch>());
  k = 0;
  c.each([&](std::size_t, std::size_t, std::size_t p) {
    const std::uint32_t open = (~kernel.fixed_bits(c.scales[p]) & 15u) << (k % 2 == 0 ? 0 : 4);
    unsigned char& byte = got[at + k++ / 2];
    byte = static_cast<unsigned char>((byte & ~open) | (wanted[at + (k - 1) / 2] & open));
  });
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != wanted[i])
      return report(c, 0, 0, wanted[i], got[i]) + "in byte " +
             std::to_string(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(at)) +
             "\n";
  return {};
}

template <class Code>
void check_encoder(const std::string& name, const Encoder<Code>& kernel, Scale kind,
                   const std::vector<double>& marks, std::uint64_t seed) {
  inputs::Random r(seed);
  std::string failures;
  int failed = 0, ran = 0;
  const auto count = [&](const std::string& text) {
    ++ran;
    if (!text.empty() && ++failed <= 5) failures += text;
  };
  for (const cases::Form& form : cases::forms(block)) {
    count(run_codes(draw_case(form, kind, marks, r), kernel));
    const bool dense = form.target_stride == static_cast<std::ptrdiff_t>(form.length);
    if (kernel.pack4 && (form.count <= 1 || (dense && form.length % 2 == 0)))
      count(run_packed(draw_case(form, kind, marks, r), kernel));
  }
  INFO(name << ": " << failed << " of " << ran << " spans differ\n" << failures);
  CHECK(failed == 0);
}

/// All forms of spans for elements of type T, one code per byte or more and, if it `Packs`, two.
template <class T, class S, class O, class R = tq::NearestEven, bool Packs = T::bits == 4>
void check_encode(std::uint64_t seed) {
  using N = tq::Numerics<R, S, tq::NanToZero, tq::ScaleOne, O>;
  std::string name(T::name);
  for (const std::string_view part : {R::name, S::name, O::name}) name += ", " + std::string(part);
  check_encoder(name, encoder<typename T::format, N, Packs>(),
                std::same_as<S, tq::PowerOfTwo> ? Scale::power_of_two : Scale::any,
                oracle::marks(oracle::format<T>()), seed);
}

}  // namespace format_cases
