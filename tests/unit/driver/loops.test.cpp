// SPDX-License-Identifier: MIT
// Lanes of no element: whatever is computed in them raises no exception of floating point, as a
// program with traps would end there.
#include <tq/driver/loops.hpp>

#include <tq/core/float_elements.hpp>
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/dequantize.hpp>
#include <tq/kernels/encode.hpp>
#include <tq/kernels/fake_quantize.hpp>
#include <tq/kernels/floats.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/to_codes.hpp>
#include <tq/kernels/values.hpp>

#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"
#include "support/span_layouts.hpp"

namespace {

using tq::arch::native;
using namespace tq::kernels;
using tq::driver::bind, tq::driver::BoundKernel, tq::driver::kernel, tq::driver::Parameters,
    tq::driver::plain;

constexpr int loud = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;

// Exceptions end the program where the C library can ask for it, and are remembered elsewhere.
class Traps {
 public:
  Traps() {
    std::feclearexcept(FE_ALL_EXCEPT);
#if defined(__GLIBC__)
    feenableexcept(loud);
#endif
  }
  ~Traps() {
#if defined(__GLIBC__)
    fedisableexcept(loud);
#endif
  }
  Traps(const Traps&) = delete;
  Traps& operator=(const Traps&) = delete;
};

// Fills the stack that comes next with numbers that raise an exception when they are used.
TQ_NO_INLINE void leave_signals() {
  volatile std::uint32_t numbers[std::size_t{56} << 10];
  for (volatile std::uint32_t& n : numbers) n = 0x7fa00001;  // signalling NaN
}

// All rows, with parameters of their own kind and nothing behind any of them. `in` has numbers that
// are quotients of moderate size, or codes.
template <class In, class Out, class Draw>
void check(const std::string& name, const BoundKernel& by, bool has_offsets, Draw&& value) {
  inputs::Random r(1);
  test::Share share;
  std::string failures;
  for (std::size_t length = 1; length <= layouts::longest_row; ++length)
    for (int form = 0; form < layouts::forms_of_rows; ++form)
      for (const bool streams : {false, true}) {
        if (!share.takes()) continue;
        const layouts::Layout l = layouts::rows_of(length, form);
        std::vector<In> in(l.source_size);
        for (In& v : in) v = value(r);
        std::vector<Out> out(l.target_size);
        std::vector<float> scales(l.parameter(l.span.count - 1, l.span.length - 1) + 1);
        std::vector<std::int32_t> offsets(scales.size());
        for (float& s : scales) s = inputs::ordinary_scale(r);
        for (std::int32_t& z : offsets) z = r.between(-100, 100);
        Parameters p{.scales = plain<native>(scales.data()),
                     .first = l.first,
                     .row_step = l.row_step,
                     .group = l.group,
                     .step = l.step};
        if (has_offsets) p.origins = plain<native>(offsets.data());
        leave_signals();
        {
          const Traps traps;
          tq::driver::sweep(
              by, {.source = in.data(), .target = out.data() + l.target_at, .streams = streams},
              l.span, p, layouts::everything_asked);
        }
        if (std::fetestexcept(loud) != 0) failures += l.text() + "\n";
      }
  INFO(name << ":\n" << failures.substr(0, 1000));
  CHECK(failures.empty());
}

float moderate(inputs::Random& r) { return static_cast<float>(r.normal() * 0.01); }
template <class Code>
Code any_code(inputs::Random& r) {
  return static_cast<Code>(r.between(0, 255));
}

template <class Code, class N>
void check_quantize(const std::string& name, tq::CodeRange codes) {
  const Quantize<Code, N> stage{codes, {}};
  for (const bool has_offsets : {false, true})
    check<float, Code>(
        name,
        bind(kernel<native, Float32, Quantize<Code, N>, typename to_codes<8 * sizeof(Code)>::type>,
             stage),
        has_offsets, moderate);
}

}  // namespace

TEST_CASE("quantize raises no exception in lanes of no element", "[loops]") {
  check_quantize<std::int8_t, tq::Numerics<>>("int8", {-128, 127});
  check_quantize<std::uint8_t, tq::Numerics<tq::NearestEven, tq::Reciprocal>>("uint8", {0, 255});
  check_quantize<std::int16_t, tq::Numerics<tq::HalfAway>>("int16", {-32768, 32767});
}

TEST_CASE("fake quantize and encode raise no exception in lanes of no element", "[loops]") {
  using N = tq::Numerics<>;
  const FakeQuantize<std::int8_t, N> fake{{-128, 127}, {}};
  for (const bool has_offsets : {false, true})
    check<float, float>(
        "fake quantize",
        bind(kernel<native, Float32, FakeQuantize<std::int8_t, N>, ToFloats<float>>, fake),
        has_offsets, moderate);
  using Coding = encoding<tq::float8_e4m3fn::format, N>;
  const typename Coding::stage stage{{}};
  check<float, std::uint8_t>(
      "encode", bind(kernel<native, Float32, typename Coding::stage, typename Coding::sink>, stage),
      false, moderate);
}

TEST_CASE("dequantize raises no exception in lanes of no element", "[loops]") {
  for (const bool has_offsets : {false, true}) {
    check<std::int8_t, float>(
        "int8", kernel<native, IntegerCodes<std::int8_t>, Dequantize, ToFloats<float>>, has_offsets,
        any_code<std::int8_t>);
    check<std::uint8_t, float>(
        "int4", kernel<native, PackedCodes<std::int8_t, 4>, Dequantize, ToFloats<float>>,
        has_offsets, any_code<std::uint8_t>);
  }
  check<std::uint8_t, float>(
      "float4", kernel<native, Values<tq::float4_e2m1fn::format>, Scaled, ToFloats<float>>, false,
      [](inputs::Random& r) { return static_cast<std::uint8_t>(r.below(16)); });
}
