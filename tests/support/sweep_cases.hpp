// SPDX-License-Identifier: MIT
#pragma once
// One test for every kernel that makes real numbers of codes: all forms of spans against one value
// after the other, with guard bytes. Kernels are plain values, so what surrounds them is compiled
// once for each type of codes and of numbers.

#include <tq/driver/make_kernel.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"
#include "support/oracle.hpp"
#include "support/span_layouts.hpp"

namespace sweep_cases {

using Arch = tq::arch::native;

/// How codes lie in memory, and what is made of one.
template <class Code, class Out>
struct Decoding {
  std::string name;
  tq::driver::BoundKernel kernel;
  Out (*value)(Code code, float scale, std::int32_t zero_point);
  cases::CodeRange codes;  ///< that are drawn
  int bits = 8 * sizeof(Code);
  bool low_first = true;
};

inline bool same(float a, float b) { return oracle::same(a, b); }
inline bool same(double a, double b) {
  return oracle::same(static_cast<float>(a), static_cast<float>(b)) && !(a < b) && !(b < a);
}
inline bool same(std::uint16_t a, std::uint16_t b) { return a == b; }

/// The codes in `bits` bits each, in either order, with nothing after them.
template <class Code>
std::vector<unsigned char> packed(const std::vector<Code>& codes, int bits, bool low_first) {
  if (bits == 8 * static_cast<int>(sizeof(Code))) {
    std::vector<unsigned char> bytes(codes.size() * sizeof(Code));
    if (!bytes.empty()) std::memcpy(bytes.data(), codes.data(), bytes.size());
    return bytes;
  }
  std::vector<unsigned char> bytes((codes.size() * static_cast<std::size_t>(bits) + 7) / 8);
  for (std::size_t i = 0; i < codes.size(); ++i)
    for (int b = 0; b < bits; ++b) {
      const int bit = low_first ? b : bits - 1 - b;  // of the code
      const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
      const unsigned place = low_first ? at % 8 : 7 - at % 8;
      bytes[at / 8] = static_cast<unsigned char>(
          bytes[at / 8] | (static_cast<unsigned>(codes[i]) >> bit & 1u) << place);
    }
  return bytes;
}

/// The first difference between expected and written outputs of a sweep; empty if they are alike.
template <class Out>
std::string difference(const cases::Outputs<Out>& wanted, const cases::Outputs<Out>& got,
                       std::size_t target_at) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (same(got[i], wanted[i])) continue;
    std::ostringstream text;
    text << std::hexfloat << "at "
         << static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(target_at) << " expected "
         << wanted[i] << ", got " << got[i];
    return text.str();
  }
  return {};
}

template <class Out>
Out guard() {
  Out v;
  std::memset(&v, 0xa5, sizeof v);
  return v;
}

template <class Code, class Out>
std::string check_span(const Decoding<Code, Out>& d, const cases::Case& c, inputs::Random& r) {
  std::vector<Code> q(c.source.size());
  for (Code& v : q) v = static_cast<Code>(r.between(d.codes.min, d.codes.max));
  cases::Outputs<Out> wanted(c.target_size(), guard<Out>()), got = wanted;
  c.each([&](std::size_t s, std::size_t t, std::size_t p) {
    wanted[t] = d.value(q[s], c.scales[p], c.zero(p));
  });
  const std::vector<unsigned char> bytes = packed(q, d.bits, d.low_first);
  tq::driver::sweep(d.kernel,
                    {.source = bytes.data(),
                     .first = static_cast<std::ptrdiff_t>(c.source_at),
                     .target = got.data() + c.target_at,
                     .streams = c.streaming},
                    c.driver_span(), c.parameters<Arch>());
  const std::string text = difference(wanted, got, c.target_at);
  return text.empty() ? text : c.form.text() + (c.streaming ? ", streaming: " : ": ") + text + "\n";
}

/// All forms of spans.
template <class Code, class Out>
void check(const Decoding<Code, Out>& d, std::uint64_t seed, int rounds = 1) {
  inputs::Random r(seed);
  std::string failures;
  int failed = 0, ran = 0;
  for (int round = 0; round < rounds; ++round)
    for (const cases::Form& form : cases::forms(tq::driver::block<Arch>)) {
      const std::string text = check_span(d, cases::Case(form, d.codes, r), r);
      ++ran;
      if (!text.empty() && ++failed <= 5) failures += text;
    }
  INFO(d.name << ": " << failed << " of " << ran << " spans differ\n" << failures);
  CHECK(failed == 0);
}

/// Whether a layout is swept past the cache, with which numbers, into its own source, and with
/// zero points: drawn where it is not said.
struct Way {
  bool streams = false, in_place = false;
  tq::driver::Tuning tuning{};
  std::optional<bool> has_zeros{};
};

/// The first difference for random codes and parameters in a layout; empty if all are alike.
template <class Code, class Out>
std::string difference(const Decoding<Code, Out>& d, const layouts::Layout& l, const Way& way,
                       inputs::Random& r) {
  std::vector<Code> q(l.source_size);
  for (Code& v : q) v = static_cast<Code>(r.between(d.codes.min, d.codes.max));
  std::vector<float> scales(l.parameter(l.span.count - 1, l.span.length - 1) + 1);
  std::vector<std::int32_t> zeros(scales.size());
  for (float& s : scales) s = inputs::ordinary_scale(r);
  for (std::int32_t& z : zeros) z = r.between(d.codes.min, d.codes.max);
  const bool has_zeros = way.has_zeros ? *way.has_zeros : r.chance(50);
  cases::Outputs<Out> wanted(l.target_size, guard<Out>()), got = wanted;
  for (std::size_t k = 0; k < l.span.count; ++k)
    for (std::size_t i = 0; i < l.span.length; ++i) {
      const std::size_t p = l.parameter(k, i), t = static_cast<std::size_t>(l.target(k, i));
      const Code code = q[static_cast<std::size_t>(l.source(k, i))];
      wanted[t] = d.value(code, scales[p], has_zeros ? zeros[p] : 0);
      if (way.in_place) std::memcpy(&got[t], &code, sizeof(code));
    }
  tq::driver::Parameters p{.scales = tq::driver::plain<Arch>(scales.data()),
                           .first = l.first,
                           .row_step = l.row_step,
                           .group = l.group,
                           .step = l.step};
  if (has_zeros) p.origins = tq::driver::plain<Arch>(zeros.data());
  const std::vector<unsigned char> bytes = packed(q, d.bits, d.low_first);
  Out* const target = got.data() + l.target_at;
  tq::driver::sweep(d.kernel,
                    {.source = way.in_place ? static_cast<const void*>(target) : bytes.data(),
                     .first = l.source_at,
                     .target = target,
                     .streams = way.streams},
                    l.span, p, way.tuning);
  const std::string text = difference(wanted, got, static_cast<std::size_t>(l.target_at));
  return text.empty() ? text : l.text() + (way.streams ? "streaming " : "") + text + "\n";
}

/// The first of the texts that are not empty, and how many there were.
struct Failures {
  std::string text;
  int count = 0;
  void add(const std::string& t) {
    if (!t.empty() && ++count <= 5) text += t;
  }
};

}  // namespace sweep_cases
