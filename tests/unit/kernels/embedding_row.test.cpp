// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/arch/scalar.hpp>
#include <tq/kernels/embedding_row.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

// Rows of every length around registers and around what is unpacked at once, with a guard behind.
template <class Arch, int Bits>
bool adds_rows(const std::vector<std::size_t>& widths) {
  inputs::Random r(Bits);
  bool same = true;
  for (const std::size_t width : widths) {
    const auto scale = static_cast<float>(r.normal()), bias = static_cast<float>(r.normal());
    std::vector<std::uint8_t> packed((width * Bits + 7) / 8);
    for (auto& v : packed) v = static_cast<std::uint8_t>(r.below(256));
    std::vector<float> sums(width + 1);
    for (float& v : sums) v = static_cast<float>(r.normal());
    std::vector<float> wanted = sums;
    for (std::size_t k = 0; k < width; ++k) {
      unsigned code = 0;  // bit by bit
      for (std::size_t i = 0; i < Bits; ++i)
        code |= (packed[(k * Bits + i) / 8] >> (k * Bits + i) % 8 & 1u) << i;
      volatile float sum = wanted[k] + bias;
      wanted[k] = std::fma(scale, static_cast<float>(code), sum);
    }
    tq::kernels::add_embedding_row<Arch, Bits>(packed.data(), width, scale, bias, sums.data());
    same &= sums == wanted;
  }
  return same;
}

template <class Arch>
void check() {
  std::vector<std::size_t> widths;
  for (std::size_t w = 0; w < 70; ++w) widths.push_back(w);
  for (const std::size_t w : {255u, 256u, 257u, 264u, 512u, 700u}) widths.push_back(w);
  CHECK(adds_rows<Arch, 8>(widths));
  CHECK(adds_rows<Arch, 4>(widths));
  CHECK(adds_rows<Arch, 2>(widths));
}

}  // namespace

TEST_CASE("rows of codes are added as the formula of embeddings says") {
  check<tq::arch::native>();
  check<tq::arch::scalar>();
}
