// SPDX-License-Identifier: MIT
// Turned sources in memory: tiles that are asked for ahead, and results that are written as whole
// lines.
#include <tq/driver/tile_sweep.hpp>

#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/numeric/numerics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"
#include "support/oracle.hpp"
#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;
using namespace tq::kernels;
using tq::driver::kernel;

// A turned span: its rows begin at multiples of `target_stride`, and its columns lie `step` apart
// from element `past` of a line on.
struct Turned {
  std::size_t rows, length, target_stride, step, past, group;
  bool rows_share;

  [[nodiscard]] std::size_t parameter(std::size_t r, std::size_t i) const {
    const std::size_t groups = (length + group - 1) / group;
    return i / group + (rows_share ? 0 : r * groups);
  }
};

// Whether each element becomes value(source, scale, zero point), and nothing else is written.
template <class In, class Out, class Value>
bool is_right(const tq::driver::BoundKernel& by, const Turned& t, bool streams, inputs::Random& r,
              const Value& value) {
  cases::Outputs<In> x(t.past + t.length * t.step);
  for (In& v : x) v = static_cast<In>(r.between(-120, 120));
  std::vector<float> scales(t.parameter(t.rows - 1, t.length - 1) + 1);
  std::vector<std::int32_t> zeros(scales.size());
  for (float& s : scales) s = static_cast<float>(r.between(1, 1000)) / 300.0f;
  for (std::int32_t& z : zeros) z = r.between(-100, 100);
  cases::Outputs<Out> got(t.rows * t.target_stride, static_cast<Out>(77)), wanted = got;
  for (std::size_t row = 0; row < t.rows; ++row)
    for (std::size_t i = 0; i < t.length; ++i) {
      const std::size_t p = t.parameter(row, i);
      wanted[row * t.target_stride + i] = value(x[t.past + row + i * t.step], scales[p], zeros[p]);
    }
  const std::size_t groups = (t.length + t.group - 1) / t.group;
  sweep(by,
        {.source = x.data(),
         .first = static_cast<std::ptrdiff_t>(t.past),
         .target = got.data(),
         .streams = streams},
        {.length = t.length,
         .count = t.rows,
         .source_stride = 1,
         .target_stride = static_cast<std::ptrdiff_t>(t.target_stride),
         .source_step = static_cast<std::ptrdiff_t>(t.step)},
        {.scales = tq::driver::plain<Arch>(scales.data()),
         .origins = tq::driver::plain<Arch>(zeros.data()),
         .row_step = t.rows_share ? 0 : groups,
         .group = t.group});
  return got == wanted;
}

template <class In, class Out, class Value>
void check(const tq::driver::BoundKernel& by, std::uint64_t seed, const Value& value) {
  inputs::Random r(seed);
  std::ostringstream differ;
  for (const std::size_t rows : {1u, 7u, 16u, 97u, 200u})
    for (const std::size_t length : {1u, 15u, 64u, 130u, 192u})
      for (const std::size_t gap : {0u, 1u, 3u})
        for (const std::size_t past : {0u, 4u, 5u})
          for (const std::size_t group : {9u, 32u, 1000u}) {
            const std::size_t stride = gap == 1 ? length + 1 : (length + 63) / 64 * 64;
            const Turned t{rows, length, stride, rows + gap, past, group, r.chance(50)};
            const bool streams = r.chance(80);
            if (is_right<In, Out>(by, t, streams, r, value)) continue;
            differ << rows << " x " << length << ", gap " << gap << ", past " << past << ", group "
                   << group << ", streams " << streams << "\n";
          }
  CHECK(differ.str() == "");
}

}  // namespace

TEST_CASE("turned floats from memory become the codes of rows", "[tiles]") {
  using Stage = Quantize<std::int8_t, tq::Numerics<>>;
  const tq::CodeRange codes{-128, 127};
  const Stage stage{codes, {}};
  check<float, std::int8_t>(
      tq::driver::bind(kernel<Arch, Float32, Stage, to_codes<8>::type>, stage), 61,
      [&](float x, float scale, std::int32_t zero) {
        return static_cast<std::int8_t>(
            oracle::quantize(x, scale, zero, codes.min, codes.max, tq::Numerics<>{}, 0));
      });
}

TEST_CASE("turned codes from memory become the floats of rows", "[tiles]") {
  check<std::int8_t, float>(kernel<Arch, IntegerCodes<std::int8_t>, Dequantize, ToFloats<float>>,
                            62, [](std::int8_t code, float scale, std::int32_t zero) {
                              return oracle::dequantize(code, scale, zero);
                            });
}

TEST_CASE("turned floats from memory are scaled in their tiles", "[tiles]") {
  check<float, float>(
      kernel<Arch, Float32, Scaled, ToFloats<float>>, 63, [](float x, float scale, std::int32_t) {
        return static_cast<float>(static_cast<double>(x) * static_cast<double>(scale));
      });
}
