// SPDX-License-Identifier: MIT
// Against what ggml made of recorded blocks, and the formula of the format in double, which is
// exact before the difference is rounded.
#include <tq/kernels/q4_k.hpp>

#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/floats.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/directories.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"
#include "support/span_layouts.hpp"

namespace {

using Arch = tq::arch::native;
using tq::kernels::Q4K;
using Floats = tq::kernels::ToFloats<float>;
constexpr auto same = tq::driver::kernel<Arch, Q4K, tq::kernels::Same, Floats>;
constexpr auto scaled = tq::driver::kernel<Arch, Q4K, tq::kernels::Scaled, Floats>;

// The bytes of an npy file behind its header.
std::vector<unsigned char> data_of(const char* name) {
  std::ifstream in(std::string(test::golden_dir) + "/gguf/" + name + ".npy", std::ios::binary);
  const std::vector<char> all{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(all.size() > 10);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(all[i]); };
  const std::size_t begin = 10u + byte(8) + 256u * byte(9);
  REQUIRE(all.size() > begin);
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.end()};
}

float half(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = bits & 1023, v = exponent == 0
                                               ? std::ldexp(fraction, -24)
                                               : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>(bits >> 15 != 0 ? -v : v);
}

// Element i, bit by bit: numbers of 6 bits begin at the low ends of bytes 4 to 11, those of the
// upper four sub-blocks are put together.
float value(const std::vector<unsigned char>& blocks, std::size_t i) {
  const unsigned char* b = blocks.data() + i / 256 * 144;
  const std::size_t j = i % 256 / 32, l = i % 32;
  const auto six = [&](bool minimum) -> unsigned {
    const unsigned char* s = b + 4;
    if (j < 4) return s[j + (minimum ? 4 : 0)] % 64u;
    const unsigned low = minimum ? s[j + 4] / 16u : s[j + 4] % 16u;
    return low + 16u * (s[minimum ? j : j - 4] / 64u);
  };
  const unsigned byte = b[16 + 32 * (j / 2) + l], code = j % 2 == 0 ? byte % 16 : byte / 16;
  const double d = half(b[0] + 256u * b[1]), least = half(b[2] + 256u * b[3]);
  return static_cast<float>(d * six(false) * code - least * six(true));
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("Q4_K blocks become what ggml makes of them, bit for bit", "[q4_k]") {
  const std::vector<unsigned char> blocks = data_of("q4_K_random_blocks"),
                                   recorded = data_of("q4_K_random_values");
  REQUIRE(blocks.size() == 36 * 144);
  std::vector<float> wanted(36 * 256), got(wanted.size(), 77.0f), formula;
  REQUIRE(recorded.size() == wanted.size() * sizeof(float));
  std::memcpy(wanted.data(), recorded.data(), recorded.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) formula.push_back(value(blocks, i));
  CHECK(same_bits(formula, wanted));
  for (const bool streams : {false, true}) {
    std::fill(got.begin(), got.end(), 77.0f);
    tq::driver::sweep(same, {.source = blocks.data(), .target = got.data(), .streams = streams},
                      {.length = got.size()}, {.scales = tq::driver::ones<Arch>()});
    CHECK(same_bits(got, wanted));
  }
}

TEST_CASE("Q4_K elements are read wherever rows begin, however they lie, and by their scales",
          "[q4_k]") {
  inputs::Random r(1);
  std::string failures;
  for (int round = 0; round < test::rounds(800); ++round) {
    layouts::Layout l = layouts::draw(r);
    if (r.chance(50)) {  // rows that begin with blocks, of any length
      l.span.source_step = 1;
      l.source_at = static_cast<std::ptrdiff_t>(16 * r.below(20));
      l.span.source_stride =
          static_cast<std::ptrdiff_t>(16 * (l.span.length / 16 + 1 + r.below(3)));
      l.source_size = static_cast<std::size_t>(l.source(l.span.count - 1, l.span.length));
    }
    std::vector<unsigned char> blocks((l.source_size + 255) / 256 * 144);
    for (unsigned char& b : blocks) b = static_cast<unsigned char>(r.below(256));
    for (std::size_t i = 0; i < blocks.size(); i += 144)
      for (const std::size_t half : {1u, 3u}) blocks[i + half] &= 0xbb;  // finite
    std::vector<float> scales(l.parameter(l.span.count - 1, l.span.length - 1) + 1);
    for (float& s : scales) s = inputs::ordinary_scale(r);
    const bool by_scales = r.chance(50);
    constexpr float guard = 12345.0f;
    std::vector<float> wanted(l.target_size, guard), got = wanted;
    for (std::size_t k = 0; k < l.span.count; ++k)
      for (std::size_t i = 0; i < l.span.length; ++i) {
        const float v = value(blocks, static_cast<std::size_t>(l.source(k, i)));
        wanted[static_cast<std::size_t>(l.target(k, i))] =
            by_scales ? v * scales[l.parameter(k, i)] : v;
      }
    tq::driver::sweep(by_scales ? tq::driver::BoundKernel(scaled) : tq::driver::BoundKernel(same),
                      {.source = blocks.data(),
                       .first = l.source_at,
                       .target = got.data() + l.target_at,
                       .streams = r.chance(50)},
                      l.span,
                      {.scales = tq::driver::plain<Arch>(scales.data()),
                       .first = l.first,
                       .row_step = l.row_step,
                       .group = l.group,
                       .step = l.step},
                      r.chance(50) ? layouts::everything_asked : tq::driver::Tuning{});
    if (!same_bits(got, wanted)) failures += l.text() + "\n";
  }
  INFO(failures.substr(0, 1000));
  CHECK(failures.empty());
}
