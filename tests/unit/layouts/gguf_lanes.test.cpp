// SPDX-License-Identifier: MIT
// The bytes of the quantizer `best` on several instruction sets.
#include <tq/layouts/gguf.hpp>
#include <tq/layouts/gguf/best.hpp>

#include "support/catch.hpp"
#include "support/distributions.hpp"
#include "support/inputs.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

using namespace tq::layouts::gguf;

namespace {

template <class B, class Arch>
std::vector<std::uint8_t> bytes_of(std::span<const float> x, Effort effort,
                                   std::span<const float> importance) {
  std::vector<std::uint8_t> blocks(x.size() / B::elements * B::bytes);
  quantize<B, best, Arch>(x, blocks, best{effort}, importance);
  return blocks;
}

// Without functions of the C library, which differ in their last bits.
double bell(inputs::Random& r) {
  const double sum = r.unit() + r.unit() + r.unit() - 1.5;
  return sum * sum * sum;
}

std::vector<std::vector<float>> kinds(std::size_t n) {
  using distributions::draw;
  using inputs::Random;
  return {draw(n, 60, bell),
          draw(n, 61, [](Random& r) { return 30 + bell(r); }),
          draw(n, 62, [](Random& r) { return r.unit() - 1; }),
          draw(n, 63, [](Random& r) { return r.chance(90) ? 0.0 : 1e4 * bell(r); }),
          draw(n, 64, [](Random& r) { return r.chance(50) ? 1e-6 : -1e-6; }),
          std::vector<float>(n)};
}

}  // namespace

TEST_CASE("the bytes of the search are those of every other instruction set") {
  // Groups of eight blocks of 32, and a rest.
  constexpr std::size_t n = 256 * 3, columns = n / 3;
  std::vector<float> importance(columns);
  inputs::Random r(8);
  for (float& w : importance) w = static_cast<float>(r.chance(5) ? 0.0 : r.unit());
  std::uint64_t hash = 14695981039346656037u;
  const auto check = [&]<class B>(std::type_identity<B>) {
    INFO(info_of(B::type).name);
    for (std::vector<float> x : kinds(n))
      for (const bool weighted : {false, true}) {
        if (!weighted && B::elements == 32) x.resize(n - 96);
        const auto weights =
            weighted ? std::span<const float>(importance) : std::span<const float>();
        if (weighted) x.resize(n);
        for (const Effort effort : {Effort::fast, Effort::slow}) {
          const auto native = bytes_of<B, tq::arch::native>(x, effort, weights);
          CHECK(native == bytes_of<B, tq::arch::scalar>(x, effort, weights));
          for (const std::uint8_t b : native) hash = (hash ^ b) * 1099511628211u;
        }
      }
  };
  // One format for each way of searching.
  check(std::type_identity<Q4_K>{});
  check(std::type_identity<Q3_K>{});
  check(std::type_identity<IQ4_XS>{});
  check(std::type_identity<Q4_0>{});
  check(std::type_identity<Q5_1>{});
  CHECK(hash == 0x4c679a5f13187b13u);  // of x86-64 without and with AVX2, and of AArch64
}
