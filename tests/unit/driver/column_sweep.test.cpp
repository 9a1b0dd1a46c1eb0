// SPDX-License-Identifier: MIT
// Columns of every kind of map, in any layout, by a stage whose results tell every number apart.
#include <tq/driver/column_sweep.hpp>

#include <tq/driver/make_kernel.hpp>
#include <tq/driver/planes.hpp>
#include <tq/kernels/codes.hpp>
#include <tq/kernels/to_codes.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/share.hpp"
#include "support/span_layouts.hpp"

namespace {

using Arch = tq::arch::native;
using tq::driver::Column, tq::driver::Columns;

// v + 3 a + 5 b + 7 c + 11 d of four columns, the first one of floats, modulo 2^32.
struct Mixed {
  static constexpr std::size_t columns = 4;
  static constexpr bool takes_scales = false, takes_origins = false, draws = false;
  template <class A>
  static constexpr tq::driver::Divides divides = tq::driver::Divides::no;

  static std::uint32_t of(std::uint32_t v, std::array<std::uint32_t, columns> n) {
    return v + 3 * n[0] + 5 * n[1] + 7 * n[2] + 11 * n[3];
  }
  template <class A, class P>
  static std::int32_t one(std::int32_t v, const P& p, std::size_t i, std::uint64_t) noexcept {
    const auto number = [&](std::size_t c) {
      return static_cast<std::uint32_t>(p.template number<std::int32_t>(c, i));
    };
    return static_cast<std::int32_t>(
        of(static_cast<std::uint32_t>(v),
           {std::bit_cast<std::uint32_t>(p.template number<float>(0, i)), number(1), number(2),
            number(3)}));
  }
#if TQ_HAS_SIMD
  template <class A>
  using made = tq::arch::ints<A>[4];
  template <class A, bool, std::size_t N, class P>
  static bool blocks(const tq::arch::ints<A> (&v)[N][4], const P& p, std::size_t i, std::uint64_t,
                     const tq::driver::NothingKept&, made<A> (&out)[N]) noexcept {
    using I = tq::arch::ints<A>;
    for (std::size_t k = 0; k < 4; ++k)
      out[0][k] = v[0][k] +
                  I(3) * tq::arch::bit_cast<std::int32_t>(p.template numbers<float>(0, i, k)) +
                  I(5) * p.template numbers<std::int32_t>(1, i, k) +
                  I(7) * p.template numbers<std::int32_t>(2, i, k) +
                  I(11) * p.template numbers<std::int32_t>(3, i, k);
    return true;
  }
#endif
};

// A column with its numbers, each of which is in use somewhere; `count` rows of `length`.
struct Drawn {
  Column column;
  std::vector<std::int32_t> numbers;
  bool exists = true;

  Drawn(const layouts::Layout& l, std::size_t row, std::size_t element, inputs::Random& r) {
    constexpr std::size_t groups[] = {1, 1, 1, 2, 7, 32, 100, 4000, tq::driver::whole_row};
    column.group = groups[r.below(std::size(groups))];
    column.step = r.chance(60) ? 1 : r.below(4);
    column.row_step = r.chance(40) ? 0 : r.below(2000);
    column.first = r.below(3);
    const std::size_t last = at(row + l.span.count - 1, element + l.span.length - 1);
    numbers.resize(last + 1 + Column::padding);
    for (std::int32_t& n : numbers) n = static_cast<std::int32_t>(r.bits() & 0x7f7fffff);  // no NaN
    exists = r.chance(90);
    if (exists) column.numbers = tq::driver::plain<Arch>(numbers.data());
    column.lie_ready = r.chance(50);
  }
  [[nodiscard]] std::size_t at(std::size_t row, std::size_t element) const {
    return column.first + row * column.row_step + element / column.group * column.step;
  }
  [[nodiscard]] std::uint32_t number(std::size_t row, std::size_t element) const {
    return exists ? static_cast<std::uint32_t>(numbers[at(row, element)]) : 0;
  }
};

std::string difference(const layouts::Layout& l, inputs::Random& r) {
  const std::size_t row = r.below(9), element = r.chance(30) ? 0 : r.below(300);
  const std::array<Drawn, 4> drawn{Drawn(l, row, element, r), Drawn(l, row, element, r),
                                   Drawn(l, row, element, r), Drawn(l, row, element, r)};
  std::vector<std::int32_t> in(l.source_size);
  for (std::int32_t& v : in) v = static_cast<std::int32_t>(r.bits());
  constexpr std::int32_t guard = 0x5a5a5a5a;
  std::vector<std::int32_t> wanted(l.target_size, guard), got = wanted;
  for (std::size_t k = 0; k < l.span.count; ++k)
    for (std::size_t i = 0; i < l.span.length; ++i) {
      std::array<std::uint32_t, 4> n{};
      for (std::size_t c = 0; c < 4; ++c) n[c] = drawn[c].number(row + k, element + i);
      wanted[static_cast<std::size_t>(l.target(k, i))] = static_cast<std::int32_t>(
          Mixed::of(static_cast<std::uint32_t>(in[static_cast<std::size_t>(l.source(k, i))]), n));
    }
  const std::array<Column, 4> all{drawn[0].column, drawn[1].column, drawn[2].column,
                                  drawn[3].column};
  const Columns columns{all.data(), row, element};
  tq::driver::sweep(
      tq::driver::kernel<Arch, tq::kernels::IntegerCodes<std::int32_t>, Mixed, tq::kernels::ToInts>,
      {.source = in.data(),
       .first = l.source_at,
       .target = got.data() + l.target_at,
       .streams = r.chance(50)},
      l.span, {.columns = &columns},
      r.chance(50) ? layouts::everything_asked : tq::driver::Tuning{});
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != wanted[i]) return l.text() + "at " + std::to_string(i) + "\n";
  return {};
}

}  // namespace

TEST_CASE("every element meets its number of each column, whatever the maps and the layout",
          "[columns]") {
  inputs::Random r(1);
  std::string failures;
  for (int round = 0; round < test::rounds(1000); ++round)
    failures += difference(layouts::draw(r), r);
  INFO(failures.substr(0, 1000));
  CHECK(failures.empty());
}
