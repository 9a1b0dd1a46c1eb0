// SPDX-License-Identifier: MIT
#include <tq/arch/isa.hpp>
#include <tq/kernels/product_sums.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using native = tq::arch::native;
constexpr std::size_t rows = tq::kernels::product_rows;

double number(inputs::Random& r) { return static_cast<float>(r.between(-1 << 20, 1 << 20)) / 3.0f; }

template <tq::kernels::Product P>
bool adds_in_order(std::size_t columns, std::size_t count, bool floats) {
  inputs::Random r(static_cast<unsigned>(17 * columns + count));
  const std::size_t stride = columns + 3;
  std::vector<double> a(count * rows), b(count * stride), sums(rows * stride);
  for (double& v : a) v = floats ? number(r) : number(r) / 7.0;
  for (double& v : b) v = floats ? number(r) : number(r) / 11.0;
  for (double& v : sums) v = number(r) / 13.0;
  std::vector<double> expected = sums;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t k = 0; k < count; ++k) {
        const volatile double product = a[k * rows + i] * b[k * stride + c];
        expected[i * stride + c] += product;
      }
  tq::kernels::SumRows to;
  for (std::size_t i = 0; i < rows; ++i) to[i] = sums.data() + i * stride;
  tq::kernels::add_products<native, P>(a.data(), b.data(), stride, count, to, columns);
  return sums == expected;
}

}  // namespace

TEST_CASE("sums of products take them in ascending order, rounded as float64 on every machine") {
  for (const std::size_t columns : {0u, 1u, 7u, 8u, 16u, 17u, 40u})
    for (const std::size_t count : {0u, 1u, 9u, 130u}) {
      CHECK(adds_in_order<tq::kernels::Product::rounded>(columns, count, false));
      CHECK(adds_in_order<tq::kernels::Product::exact>(columns, count, true));
    }
}
