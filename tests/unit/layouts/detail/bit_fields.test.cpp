// SPDX-License-Identifier: MIT
#include <tq/layouts/detail/bit_fields.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/layouts/bits.hpp"

namespace {

// A user's layout: every four codes of a line from back to front, one added.
struct Backwards {
  using word_type = std::int32_t;
  static constexpr int axis = 0;
  static constexpr std::size_t slot(std::size_t i) noexcept { return i / 4 * 4 + 3 - i % 4; }
  template <tq::IntegerElement T>
  static constexpr std::int32_t bias = 1;
};
struct NoBias {
  using word_type = std::int32_t;
  static constexpr int axis = 0;
  static constexpr std::size_t slot(std::size_t i) noexcept { return i; }
};
struct WideWords : tq::DenseFields<std::int64_t, 1> {};
struct ThirdAxis : tq::DenseFields<std::int32_t, 2> {};

static_assert(tq::FieldLayout<Backwards>);
static_assert(tq::FieldLayout<tq::DenseFields<std::int32_t, 0>>);
static_assert(tq::FieldLayout<tq::DenseFields<std::uint8_t, 1>>);
static_assert(!tq::FieldLayout<NoBias>);
static_assert(!tq::FieldLayout<WideWords>);
static_assert(!tq::FieldLayout<ThirdAxis>);

template <class L, class T>
void round_trip(std::size_t rows, std::size_t columns) {
  using Word = typename L::word_type;
  using fields = tq::detail::bit_fields<L, T>;
  constexpr std::size_t width = 8 * sizeof(Word);
  inputs::Random r(rows * 1000 + columns);
  const std::vector<typename T::code_type> codes = bits::codes<T>(r, rows * columns);
  const std::size_t length = L::axis == 0 ? rows : columns;
  const std::size_t line = (length * std::size_t{T::bits} + width - 1) / width;
  const std::size_t words = line * (L::axis == 0 ? columns : rows);
  INFO(T::name << " [" << rows << ", " << columns << "] axis " << L::axis);
  REQUIRE(fields::words(rows, columns) == words);

  std::vector<Word> expected(words, Word{0});
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    const std::size_t at = L::slot(L::axis == 0 ? row : column) * std::size_t{T::bits};
    bits::put(expected, L::axis == 0 ? column : row * line, L::axis == 0 ? columns : 1, at, T::bits,
              int{codes[i]} + L::template bias<T>);
  }
  std::vector<Word> stored = bits::noise<Word>(r, words + 1);
  const Word guard = stored.back();
  fields::store(codes.data(), rows, columns, stored.data());
  CHECK(stored.back() == guard);
  stored.pop_back();
  CHECK(stored == expected);

  std::vector<typename T::code_type> back(codes.size());
  fields::load(expected.data(), rows, columns, back.data());
  CHECK(back == codes);
  std::vector<std::int32_t> wide(codes.size());
  fields::load(expected.data(), rows, columns, wide.data());
  CHECK(wide == std::vector<std::int32_t>(codes.begin(), codes.end()));
}

template <class T>
void round_trips() {
  for (std::size_t n = 0; n < 70; n += n < 10 ? 1 : 13) {
    round_trip<tq::DenseFields<std::int32_t, 0>, T>(n, 3);
    round_trip<tq::DenseFields<std::int32_t, 1>, T>(3, n);
    round_trip<tq::DenseFields<std::uint8_t, 0>, T>(n, 3);
    round_trip<tq::DenseFields<std::uint8_t, 1>, T>(3, n);
    round_trip<Backwards, T>(n / 4 * 4, 5);
  }
  round_trip<tq::DenseFields<std::int32_t, 0>, T>(5, 0);
  round_trip<tq::DenseFields<std::int32_t, 1>, T>(0, 5);
}

}  // namespace

TEST_CASE("fields of every width survive, and the words are the layout's", "[bit_fields]") {
  round_trips<tq::int2>();
  round_trips<tq::uint3>();
  round_trips<tq::int4>();
  round_trips<tq::uint4>();
  round_trips<tq::int5>();
  round_trips<tq::uint6>();
  round_trips<tq::int7>();
  round_trips<tq::int8>();
  round_trips<tq::uint8>();
}

TEST_CASE("bits after the last code of a line are ignored", "[bit_fields]") {
  using fields = tq::detail::bit_fields<tq::DenseFields<std::int32_t, 1>, tq::uint3>;
  const std::vector<std::int32_t> words{-1, -1};  // two rows of two codes, all ones
  std::vector<std::uint8_t> codes(4);
  fields::load(words.data(), 2, 2, codes.data());
  CHECK(codes == std::vector<std::uint8_t>(4, 7));
}

TEST_CASE("checks name the function, what was expected and what came", "[bit_fields]") {
  using namespace tq::detail;
  test::raises(tq::errc::shape_mismatch, {"f: expected 4 words of w, got 3"},
               [] { require_count("f", "words of w", 4, 3); });
  require_count("f", "words of w", 4, 4);

  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  test::raises(tq::errc::bad_argument, {"f: expected sizes", "2 x"},
               [] { require_product("f", "sizes", 2, most / 2 + 1); });
  CHECK(require_product("f", "sizes", 1u << 23, 1u << 23) == std::size_t{1} << 46);
  CHECK(require_product("f", "sizes", most, 0) == 0);

  const std::vector<std::int8_t> codes{-8, 7, 8};
  const std::span<const std::int8_t> all(codes);
  require_codes(tq::errc::bad_argument, "f", "codes", all.first(2), -8, 7);
  test::raises(tq::errc::bad_argument, {"f: expected codes in [-8, 7], got 8 at element 2"},
               [&] { require_codes(tq::errc::bad_argument, "f", "codes", all, -8, 7); });
  test::raises(tq::errc::bad_zero_point, {"got -8 at element 0"},
               [&] { require_codes(tq::errc::bad_zero_point, "f", "codes", all, -7, 8); });
}

TEST_CASE("rows without columns take no time, however many there are", "[bit_fields]") {
  constexpr std::size_t rows = std::numeric_limits<std::size_t>::max() / 64;
  std::int32_t word = 7, code = 7;
  tq::detail::bit_fields<tq::DenseFields<std::int32_t, 1>, tq::uint4>::load(&word, rows, 0, &code);
  tq::detail::bit_fields<Backwards, tq::uint4>::load(&word, rows, 0, &code);
  tq::detail::bit_fields<Backwards, tq::uint4>::store(&code, rows, 0, &word);
  CHECK(word == 7);
  CHECK(code == 7);
}
