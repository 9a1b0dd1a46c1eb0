// SPDX-License-Identifier: MIT
#pragma once
// Bit fields in words: the one reader and writer behind the word layouts of checkpoint formats.

#include <tq/core/detail/expectations.hpp>
#include <tq/core/detail/sizes.hpp>
#include <tq/core/element.hpp>
#include <tq/core/shape.hpp>
#include <tq/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tq {

/// How the codes of a matrix lie in words. The codes of a line (a row, or for axis 0 a column) are
/// fields of `T::bits` bits that follow one another from the lowest bit of the line's first word
/// on, across words; the last word is filled up with zeros. Words are row-major:
///
///     axis 1   codes [R, C] in words [R, ceil(C * bits / word bits)]
///     axis 0   codes [R, C] in words [ceil(R * bits / word bits), C]
/// Smallest model:
///
///     struct Rows {
///       using word_type = std::int32_t;  // or std::uint8_t; a word's bits count, not its sign
///       static constexpr int axis = 1;
///       // Code i of a line is in bits [slot(i) * bits, (slot(i) + 1) * bits).
///       static constexpr std::size_t slot(std::size_t i) noexcept { return i; }
///       // field = (code + bias) mod 2^bits
///       template <tq::IntegerElement T>
///       static constexpr std::int32_t bias = 0;
///     };
template <class L>
concept FieldLayout = requires(std::size_t i) {
  requires std::same_as<typename L::word_type, std::int32_t> ||
               std::same_as<typename L::word_type, std::uint8_t>;
  requires L::axis == 0 || L::axis == 1;
  { L::slot(i) } -> std::same_as<std::size_t>;
  { L::template bias<uint4> } -> std::convertible_to<std::int32_t>;
};

/// The common part of word layouts whose fields lie in the order of the codes.
template <class Word, int Axis>
struct DenseFields {
  using word_type = Word;
  static constexpr int axis = Axis;
  static constexpr std::size_t slot(std::size_t i) noexcept { return i; }
  template <IntegerElement>
  static constexpr std::int32_t bias = 0;
};

namespace detail {

/// Codes of element T in the words of layout L. Nothing here checks sizes or codes.
template <FieldLayout L, IntegerElement T>
struct bit_fields {
  static_assert(T::bits >= 1 && T::bits <= 8, "a field lies in at most two words");
  using word_type = typename L::word_type;
  static constexpr auto width = static_cast<std::size_t>(T::bits);
  static constexpr std::size_t word_bits = 8 * sizeof(word_type);

  /// Words of a line of n codes; of more lines than a size can count, the largest size.
  [[nodiscard]] static constexpr std::size_t line_words(std::size_t n) noexcept {
    return n / word_bits * width + (n % word_bits * width + word_bits - 1) / word_bits;
  }
  [[nodiscard]] static constexpr std::size_t words(std::size_t rows, std::size_t columns) noexcept {
    return L::axis == 0 ? product_or_most(line_words(rows), columns)
                        : product_or_most(rows, line_words(columns));
  }

  /// Code: the element's code_type, or std::int32_t.
  template <class Code>
  static void load(const word_type* words, std::size_t rows, std::size_t columns,
                   Code* codes) noexcept {
    if (columns == 0) return;  // of any number of rows
    const std::size_t stride = L::axis == 0 ? columns : 1;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c)
        codes[r * columns + c] =
            static_cast<Code>(L::axis == 0 ? read(words + c, stride, r)
                                           : read(words + r * line_words(columns), stride, c));
  }

  template <class Code>
  static void store(const Code* codes, std::size_t rows, std::size_t columns,
                    word_type* words) noexcept {
    if (columns == 0) return;
    const std::size_t stride = L::axis == 0 ? columns : 1;
    std::fill_n(words, bit_fields::words(rows, columns), word_type{0});
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c) {
        const auto code = static_cast<std::int32_t>(codes[r * columns + c]);
        if constexpr (L::axis == 0) add(words + c, stride, r, code);
        else add(words + r * line_words(columns), stride, c, code);
      }
  }

 private:
  using unsigned_word = std::make_unsigned_t<word_type>;
  static constexpr std::uint32_t mask = (1u << width) - 1u;
  static constexpr std::uint32_t sign = T::qmin < 0 ? 1u << (width - 1) : 0u;
  static constexpr auto bias = static_cast<std::uint32_t>(std::int32_t{L::template bias<T>});

  static constexpr std::uint32_t bits_of(word_type w) noexcept {
    return static_cast<unsigned_word>(w);
  }
  static constexpr void add_bits(word_type& w, std::uint32_t bits) noexcept {
    w = static_cast<word_type>(static_cast<unsigned_word>(bits_of(w) | bits));
  }

  static std::int32_t read(const word_type* line, std::size_t stride, std::size_t i) noexcept {
    const std::size_t bit = L::slot(i) * width, shift = bit % word_bits;
    const word_type* word = line + bit / word_bits * stride;
    std::uint32_t field = bits_of(*word) >> shift;
    if (shift + width > word_bits) field |= bits_of(word[stride]) << (word_bits - shift);
    const std::uint32_t code = (field - bias) & mask;
    return static_cast<std::int32_t>((code ^ sign) - sign);
  }

  static void add(word_type* line, std::size_t stride, std::size_t i, std::int32_t code) noexcept {
    const std::size_t bit = L::slot(i) * width, shift = bit % word_bits;
    word_type* word = line + bit / word_bits * stride;
    const std::uint32_t field = (static_cast<std::uint32_t>(code) + bias) & mask;
    add_bits(*word, field << shift);
    if (shift + width > word_bits) add_bits(word[stride], field >> (word_bits - shift));
  }
};

template <class Code>
void require_codes(errc code, const char* function, const char* what, std::span<const Code> codes,
                   std::int32_t min, std::int32_t max) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto c = static_cast<std::int32_t>(codes[i]);
    if (c < min || c > max)
      raise_expected(code, function, {what, " in [", min, ", ", max, "]"}, {c, " at element ", i});
  }
}

}  // namespace detail

}  // namespace tq
