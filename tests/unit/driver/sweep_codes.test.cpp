// SPDX-License-Identifier: MIT
// Sweeps that make codes, in any layout: blocks that a stage refuses, scales of which not all are
// correctable, places that draws depend on, and targets whose elements are packed.
#include <tq/driver/make_kernel.hpp>
#include <tq/kernels/quantize.hpp>
#include <tq/kernels/reals.hpp>
#include <tq/kernels/to_codes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/share.hpp"
#include "support/span_layouts.hpp"
#include "support/sweep_cases.hpp"

namespace {

using sweep_cases::Arch;
using namespace tq::kernels;
using layouts::Layout;
using tq::driver::kernel, tq::driver::Parameters, tq::driver::plain, tq::driver::sweep,
    tq::driver::Tuning;

// Values and scales that belong to a layout, and what each element is to become.
struct Data {
  std::vector<float> x, scales;
  std::vector<std::int32_t> zeros;
  bool has_zeros;

  Data(const Layout& l, tq::CodeRange codes, inputs::Random& r)
      : x(l.source_size), has_zeros(r.chance(50)) {
    const bool tame = r.chance(60);
    scales.resize(l.parameter(l.span.count - 1, l.span.length - 1) + 1);
    zeros.resize(scales.size());
    for (float& s : scales) s = tame || r.chance(95) ? inputs::ordinary_scale(r) : inputs::scale(r);
    for (std::int32_t& z : zeros) z = r.between(codes.min, codes.max);
    for (float& v : x)
      v = tame || r.chance(99) ? inputs::ordinary_value(r, 0.1f) : inputs::value(r, 0.1f);
  }
  [[nodiscard]] Parameters parameters(const Layout& l) const {
    Parameters p{.scales = plain<Arch>(scales.data()),
                 .first = l.first,
                 .row_step = l.row_step,
                 .group = l.group,
                 .step = l.step};
    if (has_zeros) p.origins = plain<Arch>(zeros.data());
    return p;
  }
  template <class N>
  [[nodiscard]] std::int32_t code(const Layout& l, std::size_t r, std::size_t i,
                                  tq::CodeRange codes, const N& n, std::uint64_t place) const {
    const std::size_t p = l.parameter(r, i);
    return oracle::quantize(x[static_cast<std::size_t>(l.source(r, i))], scales[p],
                            has_zeros ? zeros[p] : 0, codes.min, codes.max, n, place);
  }
};

// A stage that makes codes of values, with the kernel that it belongs to.
template <class Code, class N>
struct Making {
  tq::CodeRange codes;
  N numerics{};
  Quantize<Code, N> stage{codes, numerics};
  tq::driver::KernelFor<Quantize<Code, N>> by =
      kernel<Arch, Float32, Quantize<Code, N>, typename to_codes<8 * sizeof(Code)>::type>;

  // Whether a layout of values and parameters that are drawn becomes the codes that it should.
  [[nodiscard]] bool is_right(const Layout& l, bool streams, const Tuning& tuning,
                              inputs::Random& r) const {
    const Data d(l, codes, r);
    cases::Outputs<Code> wanted(l.target_size, sweep_cases::guard<Code>()), got = wanted;
    const std::uint64_t place = r.below(1000);
    for (std::size_t row = 0; row < l.span.count; ++row)
      for (std::size_t i = 0; i < l.span.length; ++i) {
        const std::ptrdiff_t t = l.target(row, i);
        wanted[static_cast<std::size_t>(t)] = static_cast<Code>(d.code(
            l, row, i, codes, numerics, place + static_cast<std::uint64_t>(t - l.target_at)));
      }
    sweep(tq::driver::bind(by, stage),
          {.source = d.x.data(),
           .first = l.source_at,
           .target = got.data() + l.target_at,
           .draw_index = place,
           .streams = streams},
          l.span, d.parameters(l), tuning);
    return got == wanted;
  }
};

template <class Code, class N>
void check(const char* name, const N& n, tq::CodeRange codes, std::uint64_t seed) {
  const Making<Code, N> making{codes, n};
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  for (int round = 0; round < test::rounds(400); ++round) {
    const Layout l = layouts::draw(r);
    const bool streams = r.chance(50);
    const Tuning tuning = r.chance(50) ? layouts::everything_asked : Tuning{};
    if (!making.is_right(l, streams, tuning, r) && ++failed <= 5)
      failures += l.text() + (streams ? "streaming\n" : "\n");
  }
  INFO(name << ": " << failed << " layouts differ\n" << failures);
  CHECK(failed == 0);
}

template <class Code, class N>
void check_rows(const char* name, const N& n, tq::CodeRange codes, std::uint64_t seed) {
  const Making<Code, N> making{codes, n};
  inputs::Random r(seed);
  test::Share share;
  std::string failures;
  int failed = 0;
  for (std::size_t length = 1; length <= layouts::longest_row; ++length)
    for (int form = 0; form < layouts::forms_of_rows; ++form)
      for (const bool streams : {false, true}) {
        if (!share.takes()) continue;
        const Layout l = layouts::rows_of(length, form);
        if (!making.is_right(l, streams, layouts::everything_asked, r) && ++failed <= 5)
          failures += l.text() + (streams ? "streaming\n" : "\n");
      }
  INFO(name << ": " << failed << " layouts differ\n" << failures);
  CHECK(failed == 0);
}

// Rows past the cache that are longer than a table.
template <class Code, class N>
void check_long_rows(const char* name, const N& n, tq::CodeRange codes, std::uint64_t seed) {
  const Making<Code, N> making{codes, n};
  inputs::Random r(seed);
  test::Share share;
  std::string failures;
  int failed = 0;
  for (const std::size_t length : layouts::long_rows)
    for (const std::size_t place : {0u, 3u})
      for (int round = 0; round < 3; ++round) {
        if (!share.takes()) continue;
        const Layout l = layouts::long_rows_of(length, place);
        if (!making.is_right(l, true, layouts::everything_asked, r) && ++failed <= 5)
          failures += l.text() + "\n";
      }
  INFO(name << ": " << failed << " layouts differ\n" << failures);
  CHECK(failed == 0);
}

// Packed targets have neighbours, rows and groups that begin on bytes, and nothing between the
// rows.
template <int Bits, bool LowFirst>
void check_packed(tq::CodeRange codes, std::uint64_t seed) {
  using N = tq::Numerics<>;
  const Quantize<std::int8_t, N> stage{codes, {}};
  constexpr auto k = kernel<Arch, Float32, Quantize<std::int8_t, N>, ToPacked<Bits, LowFirst>>;
  inputs::Random r(seed);
  std::string failures;
  int failed = 0;
  for (int round = 0; round < test::rounds(400); ++round) {
    Layout l = layouts::draw(r);
    l.span.target_step = 1;
    l.target_at = 0;
    const bool is_row = l.span.count == 1 && l.span.source_step == 1;
    if (!is_row) {
      if (l.span.length % 8 != 0 || (l.group != layouts::whole_row && l.group % 8 != 0)) continue;
    }
    l.span.target_stride = static_cast<std::ptrdiff_t>(l.span.length);
    const Data d(l, codes, r);
    std::vector<std::int8_t> wanted(l.span.length * l.span.count);
    for (std::size_t row = 0; row < l.span.count; ++row)
      for (std::size_t i = 0; i < l.span.length; ++i)
        wanted[row * l.span.length + i] =
            static_cast<std::int8_t>(d.code(l, row, i, codes, N{}, 0));
    std::vector<unsigned char> bytes = sweep_cases::packed(wanted, Bits, LowFirst);
    const std::size_t size = bytes.size();
    bytes.resize(size + 64, 0xa5);
    cases::Outputs<unsigned char> got(bytes.size(), 0xa5);
    const bool streams = r.chance(50);
    sweep(tq::driver::bind(k, stage),
          {.source = d.x.data(), .first = l.source_at, .target = got.data(), .streams = streams},
          l.span, d.parameters(l), r.chance(50) ? layouts::everything_asked : Tuning{});
    if (!std::equal(got.begin(), got.end(), bytes.begin()) && ++failed <= 5)
      failures += l.text() + (streams ? "streaming\n" : "\n");
  }
  INFO(Bits << " bits, " << (LowFirst ? "low" : "high") << " first: " << failed
            << " layouts differ\n"
            << failures);
  CHECK(failed == 0);
}

}  // namespace

TEST_CASE("a sweep makes the code of every element, in any layout", "[sweep]") {
  check<std::int8_t>("int8", tq::Numerics<>{}, {-128, 127}, 11);
  check<std::uint8_t>("uint8 by reciprocals", tq::Numerics<tq::NearestEven, tq::Reciprocal>{},
                      {0, 250}, 12);
  check<std::int16_t>("int16", tq::Numerics<tq::HalfAway>{}, {-32768, 32767}, 13);
}

TEST_CASE("a sweep draws by the place in the target, in any layout", "[sweep]") {
  check<std::int8_t>("int8", tq::Numerics<tq::Stochastic>{tq::Stochastic{77}}, {-128, 127}, 21);
}

TEST_CASE("a sweep packs codes of rows that begin on bytes, also of turned ones", "[sweep]") {
  check_packed<4, true>({-8, 7}, 31);
  check_packed<2, true>({-2, 1}, 32);
  check_packed<3, true>({-4, 3}, 33);
  check_packed<4, false>({-8, 7}, 34);
}

TEST_CASE("codes of rows of every length, in every form", "[sweep]") {
  check_rows<std::int8_t>("int8", tq::Numerics<>{}, {-128, 127}, 41);
  check_rows<std::uint8_t>("uint8, drawn", tq::Numerics<tq::Stochastic>{tq::Stochastic{78}},
                           {0, 250}, 42);
}

TEST_CASE("codes of rows from memory that are longer than a table of their columns", "[sweep]") {
  check_long_rows<std::int8_t>("int8", tq::Numerics<>{}, {-128, 127}, 51);
  check_long_rows<std::uint8_t>("uint8 by reciprocals",
                                tq::Numerics<tq::NearestEven, tq::Reciprocal>{}, {0, 250}, 52);
}
