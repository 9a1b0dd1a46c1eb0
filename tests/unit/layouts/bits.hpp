// SPDX-License-Identifier: MIT
#pragma once
// Words bit by bit: what the layouts are checked against.

#include <tq/core/element.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/inputs.hpp"

namespace bits {

/// Sets `n` bits of a line to those of `value`, lowest first. Bit b of the line is bit b % W of the
/// word `first + b / W * stride`, W the width of a word.
template <class Word>
void put(std::vector<Word>& words, std::size_t first, std::size_t stride, std::size_t begin, int n,
         int value) {
  using U = std::make_unsigned_t<Word>;
  constexpr std::size_t width = 8 * sizeof(Word);
  for (int k = 0; k < n; ++k) {
    const std::size_t b = begin + static_cast<std::size_t>(k);
    Word& w = words[first + b / width * stride];
    const U one = static_cast<U>(U{1} << (b % width));
    const bool set = ((value >> k) & 1) != 0;
    w = static_cast<Word>(static_cast<U>(set ? static_cast<U>(w) | one : static_cast<U>(w) & ~one));
  }
}

/// Every code of T with equal chance.
template <class T, class Code = typename T::code_type>
std::vector<Code> codes(inputs::Random& r, std::size_t n, int lowest = T::qmin) {
  std::vector<Code> out(n);
  for (Code& c : out) c = static_cast<Code>(r.between(lowest, T::qmax));
  return out;
}

/// Positive scales.
inline std::vector<float> scales(inputs::Random& r, std::size_t n) {
  std::vector<float> out(n);
  for (float& s : out) s = static_cast<float>(0.001 + r.unit());
  return out;
}

/// Words of n units of which no bit is what a store writes by chance.
template <class Word>
std::vector<Word> noise(inputs::Random& r, std::size_t n) {
  std::vector<Word> out(n);
  for (Word& w : out) w = static_cast<Word>(r.bits());
  return out;
}

}  // namespace bits
