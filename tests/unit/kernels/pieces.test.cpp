// SPDX-License-Identifier: MIT
#include <tq/core/float_elements.hpp>
#include <tq/kernels/encode.hpp>
#include <tq/kernels/fake_quantize.hpp>
#include <tq/kernels/pieces.hpp>
#include <tq/kernels/quantize.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_cases.hpp"

#if TQ_HAS_SIMD

namespace {

using Arch = tq::arch::native;
using F = tq::arch::floats<Arch>;
using I = tq::arch::ints<Arch>;
constexpr std::size_t width = tq::arch::width<Arch>, block = 4 * width;

// Whether a kernel writes the same for a span whose type is known, past the cache where it is `known_streams`, as for any.
template <tq::kernels::Zeros Z, std::size_t Shared, class T, class Kernel>
bool same_if_known(cases::Case& c, bool known_streams, bool any_streams, Kernel&& kernel) {
  c.has_zero = Z == tq::kernels::Zeros::some;
  const cases::Span span = c.span();
  cases::Outputs<T> known(c.target_size(), T{77}), any = known;
  kernel(c, known.data() + c.target_at, tq::kernels::KnownSpan<Z, Shared>(span), known_streams);
  kernel(c, any.data() + c.target_at, span, any_streams);
  return std::memcmp(known.data(), any.data(), known.size() * sizeof(T)) == 0;
}

// Parameters by column from memory, and in the cache.
template <tq::kernels::Zeros Z, class T, class Kernel>
void check_columns(std::uint64_t seed, Kernel&& kernel) {
  inputs::Random r(seed);
  std::size_t failed = 0;
  for (int round = 0; round < 4; ++round)
    for (const std::size_t n : {std::size_t{8}, block, 3 * block - 4, std::size_t{1025}, std::size_t{1088}, std::size_t{1100}})
      for (const std::ptrdiff_t gap : {0, 4, 16}) {
        const auto apart = static_cast<std::ptrdiff_t>(n);
        cases::Case c({n, 3, apart, apart + gap, 0, 1}, {-128, 127}, r);
        failed += !same_if_known<Z, tq::kernels::any_number, T>(c, true, false, kernel);
      }
  CHECK(failed == 0);
}

// One parameter.
template <tq::kernels::Zeros Z, class T, class Kernel>
void check_one(std::uint64_t seed, bool packs, Kernel&& kernel) {
  inputs::Random r(seed);
  std::size_t failed = 0, ran = 0;
  for (const cases::Form& form : cases::forms(block)) {
    if (form.step != 0 || form.param_stride != 0 || (packs && !form.packable())) continue;
    cases::Case c(form, {-128, 127}, r);
    failed += !same_if_known<Z, tq::kernels::one_parameter, T>(c, c.streaming, c.streaming, kernel);
    ++ran;
  }
  CHECK(failed == 0);
  CHECK(ran > 2 * block);
}

}  // namespace

TEST_CASE("parameters by column from memory give what those in the cache give", "[pieces]") {
  using namespace tq::kernels;
  using tq::numerics::onnx, tq::numerics::torch;
  const auto quantized = [](const cases::Case& c, std::int8_t* out, const auto& span, bool streaming) {
    quantize<Arch, std::int8_t, onnx>::run(c.x(), out, span, {-128, 127}, {}, c.index, streaming);
  };
  check_columns<Zeros::none, std::int8_t>(1, quantized);
  check_columns<Zeros::some, std::int8_t>(2, quantized);
  check_columns<Zeros::some, std::int8_t>(3, [](const cases::Case& c, std::int8_t* out, const auto& span, bool streaming) {
    quantize<Arch, std::int8_t, torch>::run(c.x(), out, span, {-128, 127}, {}, c.index, streaming);
  });
  check_columns<Zeros::some, float>(4, [](const cases::Case& c, float* out, const auto& span, bool streaming) {
    fake_quantize<Arch, onnx>::run(c.x(), out, span, {-128, 127}, {}, c.index, streaming);
  });
  check_columns<Zeros::none, std::uint8_t>(6, [](const cases::Case& c, std::uint8_t* out, const auto& span, bool streaming) {
    encode<Arch, tq::float8_e4m3fn::format, onnx>::run(c.x(), out, span, {}, c.index, streaming);
  });
}

TEST_CASE("one parameter of a known type gives what any gives", "[pieces]") {
  using namespace tq::kernels;
  using tq::numerics::onnx, tq::numerics::torch;
  const auto exact = [](const cases::Case& c, std::int8_t* out, const auto& span, bool streaming) {
    quantize<Arch, std::int8_t, onnx>::run(c.x(), out, span, {-128, 127}, {}, c.index, streaming);
  };
  const auto quick = [](const cases::Case& c, std::int8_t* out, const auto& span, bool streaming) {
    quantize<Arch, std::int8_t, torch>::run(c.x(), out, span, {-128, 127}, {}, c.index, streaming);
  };
  const auto packed = [](const cases::Case& c, unsigned char* out, const auto& span, bool streaming) {
    quantize<Arch, std::int8_t, torch>::template pack<4>(c.x(), out, span, {-8, 7}, {}, c.index, streaming);
  };
  check_one<Zeros::none, std::int8_t>(1, false, exact);
  check_one<Zeros::none, std::int8_t>(2, false, quick);
  check_one<Zeros::some, std::int8_t>(3, false, quick);
  check_one<Zeros::none, unsigned char>(4, true, packed);
  check_one<Zeros::some, float>(5, false, [](const cases::Case& c, float* out, const auto& span, bool streaming) {
    fake_quantize<Arch, onnx>::run(c.x(), out, span, {-128, 127}, {}, c.index, streaming);
  });
  check_one<Zeros::none, std::uint8_t>(7, false, [](const cases::Case& c, std::uint8_t* out, const auto& span, bool streaming) {
    encode<Arch, tq::float8_e4m3fn::format, onnx>::run(c.x(), out, span, {}, c.index, streaming);
  });
}

TEST_CASE("columns have the parameters of the caller, and 1 and 0 after them", "[pieces]") {
  for (const std::size_t n : {std::size_t{1}, block - 1, block, block + 1, 3 * block + 7}) {
    std::vector<float> scales(n);  // no longer: reading on would be found out
    std::vector<std::int32_t> zeros(n);
    for (std::size_t i = 0; i < n; ++i) {
      scales[i] = 0.25f + static_cast<float>(i);
      zeros[i] = static_cast<std::int32_t>(i) - 5;
    }
    for (const bool has_zeros : {false, true}) {
      tq::kernels::Span span;
      span.length = n;
      span.count = 2;
      span.source_stride = span.target_stride = static_cast<std::ptrdiff_t>(n);
      span.scale = scales.data();
      span.zero_point = has_zeros ? zeros.data() : nullptr;
      std::size_t failed = 0, calls = 0;
      tq::kernels::detail::column_pieces<Arch>(span, true, [&](const auto& at, const auto& params, bool ok) {
        ++calls;
        failed += at.length != n || at.count != 2 || !ok;
        for (std::size_t i = 0; i < n; i += block)
          for (std::size_t k = 0; k < 4; ++k) {
            alignas(64) float scale[width], inverse[width];
            alignas(64) std::int32_t zero[width];
            F(params.scale(i, k)).store_aligned(scale);
            F(params.inverse(i, k)).store_aligned(inverse);
            I(params.zero(i, k)).store_aligned(zero);
            for (std::size_t lane = 0; lane < width; ++lane) {
              const std::size_t e = i + k * width + lane;
              const float expected = e < n ? scales[e] : 1.0f;
              failed += scale[lane] != expected || inverse[lane] != 1.0f / expected;
              failed += zero[lane] != (has_zeros && e < n ? zeros[e] : 0);
            }
          }
      });
      CHECK(calls == 1);
      CHECK(failed == 0);
    }
  }
}

TEST_CASE("no scale hides one that is not correctable", "[pieces]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  using tq::kernels::detail::all_correctable;
  std::vector<float> scales(3 * width + 1, 0.5f);
  CHECK(all_correctable<Arch>(scales.data(), scales.size(), 1));
  for (const float bad : {0.0f, 0x1p-65f, 0x1p65f})
    for (std::size_t at = 0; at < scales.size(); ++at)
      for (std::size_t later = at; later < scales.size(); ++later) {
        std::vector<float> s = scales;
        s[later] = nan;
        s[at] = bad;
        CHECK_FALSE(all_correctable<Arch>(s.data(), s.size(), 1));
      }
}

TEST_CASE("parameters of short rows are repeated for each element", "[pieces]") {
  using Stage = tq::kernels::Staged<Arch>;
  inputs::Random r(1);
  constexpr std::size_t strides = 3;
  std::vector<float> scales(strides * Stage::most_rows);
  std::vector<std::int32_t> zeros(scales.size());
  for (float& s : scales) s = 0.001f * static_cast<float>(1 + r.below(100000));
  for (std::int32_t& z : zeros) z = static_cast<std::int32_t>(r.below(256)) - 128;
  std::size_t failed = 0, ran = 0;
  Stage stage(nullptr);
  for (std::size_t length = 1; length < 2 * block; ++length)
    for (const std::size_t stride : {std::size_t{1}, strides})
      for (const std::size_t fewer : {0u, 1u, 7u}) {
        const std::size_t most = std::min(Stage::most_rows, Stage::capacity / length), rows = most > fewer ? most - fewer : 1;
        failed += !stage.repeat<true, true, true>(scales.data(), zeros.data(), stride, rows, length);
        const std::size_t n = rows * length, padded = (n + Stage::padding - 1) / Stage::padding * Stage::padding;
        for (std::size_t i = 0; i < padded; ++i) {
          const bool inside = i < n;
          const float scale = inside ? scales[i / length * stride] : 1.0f, inverse = 1.0f / scale;
          const double rest = 1.0 / static_cast<double>(scale) - static_cast<double>(inverse);
          failed += stage.scales[i] != scale || stage.inverses[i] != inverse;
          failed += stage.zeros[i] != (inside ? zeros[i / length * stride] : 0);
          failed += tq::arch::lanes<Arch>::has_fma && std::abs(static_cast<double>(stage.rests[i]) - rest) >
                                                          1e-7 * std::abs(rest) + 1e-15 * static_cast<double>(inverse);
        }
        ++ran;
      }
  CHECK(failed == 0);
  CHECK(ran == 6 * (2 * block - 1));
  for (const float bad : {0.0f, std::numeric_limits<float>::quiet_NaN(), 0x1p65f})
    for (std::size_t at = 0; at < 20; ++at) {
      std::vector<float> s = scales;
      s[at] = bad;
      CHECK_FALSE(stage.repeat<true, true, true>(s.data(), nullptr, 1, 20, 9));
      CHECK(stage.repeat<true, true, true>(s.data(), nullptr, 1, at, 9));
    }
}

TEST_CASE("without reciprocals at hand quotients are those of division", "[pieces]") {
  using tq::kernels::Quotient, tq::kernels::quotient_with;
  using Lanes = tq::kernels::PerLane<Arch>;
  using Columns = tq::kernels::PerColumn<Arch>;
  for (const Quotient q : {Quotient::multiply, Quotient::corrected, Quotient::split, Quotient::divide}) {
    CHECK(quotient_with<Lanes>(q) == q);
    CHECK(quotient_with<Columns>(q) == (q == Quotient::multiply ? q : Quotient::divide));
  }
}

#else
TEST_CASE("there are no forms of parameters without SIMD", "[pieces]") { SUCCEED(); }
#endif
