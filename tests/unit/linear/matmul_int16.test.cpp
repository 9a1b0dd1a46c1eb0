// SPDX-License-Identifier: MIT
#include <tq/linear/matmul_int16.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"
#include "unit/linear/refused_products.hpp"

namespace {

using tq::PackedInt16Weights;
using tq::Shape;
using tq::TensorView;
using Codes = std::vector<std::int16_t>;
using Zeros = std::vector<std::int32_t>;
using Sums = std::vector<std::int64_t>;
using Sizes = std::initializer_list<std::size_t>;
using limits = std::numeric_limits<std::int16_t>;

Codes random_codes(inputs::Random& r, std::size_t n) {
  Codes out(n);
  for (std::int16_t& c : out)
    c = r.chance(25) ? (r.chance(50) ? limits::min() : limits::max())
                     : static_cast<std::int16_t>(r.between(limits::min(), limits::max()));
  return out;
}
// No zero points, one, or n.
Zeros random_zero_points(inputs::Random& r, std::size_t n) {
  const Codes codes = random_codes(r, r.chance(33) ? 0 : r.chance(50) ? 1 : n);
  return {codes.begin(), codes.end()};
}
std::int64_t zero_point_at(const Zeros& z, std::size_t i) {
  return z.empty() ? 0 : z.size() == 1 ? z[0] : z[i];
}

// The product by one sum after the other.
Sums product(const Codes& x, const Zeros& xz, std::size_t rows, const Codes& w, const Zeros& wz,
             std::size_t outputs, std::size_t inputs) {
  Sums out(rows * outputs);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n)
      for (std::size_t k = 0; k < inputs; ++k)
        out[m * outputs + n] +=
            (x[m * inputs + k] - zero_point_at(xz, m)) * (w[n * inputs + k] - zero_point_at(wz, n));
  return out;
}

PackedInt16Weights pack(const Codes& w, std::size_t outputs, std::size_t inputs,
                        const Zeros& zeros = {}) {
  return PackedInt16Weights(TensorView<const std::int16_t>(w.data(), Shape{outputs, inputs}),
                            zeros);
}
template <class Arch = tq::arch::native, class E = tq::Serial>
Sums multiply(const Codes& x, const Zeros& xz, std::size_t rows, const PackedInt16Weights& w,
              const E& executor = tq::serial) {
  Sums out(rows * w.outputs() + 1, 77);
  tq::matmul_integer<Arch>(TensorView<const std::int16_t>(x.data(), Shape{rows, w.inputs()}), xz, w,
                           TensorView<std::int64_t>(out.data(), Shape{rows, w.outputs()}),
                           executor);
  if (out.back() != 77) return {};  // wrote past the end
  out.pop_back();
  return out;
}

template <class Arch>
std::string check(inputs::Random& r, std::size_t rows, std::size_t outputs, std::size_t inputs) {
  const Codes x = random_codes(r, rows * inputs), w = random_codes(r, outputs * inputs);
  const Zeros xz = random_zero_points(r, rows), wz = random_zero_points(r, outputs);
  const PackedInt16Weights packed = pack(w, outputs, inputs, wz);
  const Sums wanted = product(x, xz, rows, w, wz, outputs, inputs);
  const bool equal = multiply<Arch>(x, xz, rows, packed) == wanted &&
                     multiply<Arch>(x, xz, rows, packed, test::Backwards{}) == wanted;
  return equal ? ""
               : std::to_string(rows) + " x " + std::to_string(outputs) + " x " +
                     std::to_string(inputs) + "\n";
}

}  // namespace

TEST_CASE("products of matrices of int16 are exact, for every shape and zero point") {
  inputs::Random r(1);
  std::string failures;
  for (std::size_t rows = 0; rows <= 14; ++rows)
    for (const std::size_t outputs : Sizes{0, 1, 15, 16, 17, 33})
      for (const std::size_t inputs : Sizes{0, 1, 2, 3, 8, 33})
        failures += check<tq::arch::native>(r, rows, outputs, inputs);
  failures += check<tq::arch::native>(r, 197, 20, 67);                         // more than a block
  for (const std::size_t inputs : Sizes{508, 509, 510, 511, 512, 1021, 1300})  // parts of a sum
    failures += check<tq::arch::native>(r, 3, 18, inputs);
  CHECK(failures == "");
}

TEST_CASE("products of int16 without instructions for them are the same") {
  inputs::Random r(2);
  std::string failures;
  for (const std::size_t rows : Sizes{1, 3})
    for (const std::size_t outputs : Sizes{1, 17})
      for (const std::size_t inputs : Sizes{0, 1, 2, 33, 600})
        failures += check<tq::arch::scalar>(r, rows, outputs, inputs);
  CHECK(failures == "");
}

TEST_CASE("every int16 has its product with the largest ones, of every weight") {
  const std::size_t n = 65536;
  Codes all(n);
  for (std::size_t i = 0; i < n; ++i)
    all[i] = static_cast<std::int16_t>(static_cast<std::int32_t>(i) + limits::min());
  const Codes few{limits::min(), limits::max(), -1, 0, 1, 127, 128, -128, -129, 255, 256};
  const Sums by_weights = multiply(few, {}, few.size(), pack(all, n, 1));
  const Sums by_rows = multiply(all, {}, n, pack(few, few.size(), 1));
  bool equal = by_weights == product(few, {}, few.size(), all, {}, n, 1);
  equal = equal && by_rows == product(all, {}, n, few, {}, few.size(), 1);
  CHECK(equal);
}

TEST_CASE("rows of the largest products of int16 are exact") {
  std::string failures;
  for (const std::size_t inputs : Sizes{2, 3, 509, 510, 511, 4001})
    for (const std::int16_t a : {limits::min(), limits::max()})
      for (const std::int16_t b : {limits::min(), limits::max()})
        for (const std::int32_t zero : {-32768, 0, 32767}) {
          const Sums wanted(7 * 17, static_cast<std::int64_t>(inputs) * (a - std::int64_t{zero}) *
                                        (b - std::int64_t{zero}));
          const auto packed = pack(Codes(17 * inputs, b), 17, inputs, {zero});
          if (multiply(Codes(7 * inputs, a), {zero}, 7, packed) != wanted)
            failures += std::to_string(a) + " * " + std::to_string(b) + " less " +
                        std::to_string(zero) + ", " + std::to_string(inputs) + "\n";
        }
  CHECK(failures == "");
}

TEST_CASE("a sum of int16 leaves 32 bits many times over") {
  const std::size_t inputs = std::size_t{1} << 20;
  const PackedInt16Weights packed = pack(Codes(inputs, limits::min()), 1, inputs, {32767});
  const Sums out = multiply(Codes(inputs, limits::min()), {32767}, 1, packed);
  CHECK(out == Sums{std::int64_t{65535} * 65535 * static_cast<std::int64_t>(inputs)});
}

TEST_CASE("sums of int16 are the same from any number of threads") {
  inputs::Random r(4);
  const std::size_t rows = 20, outputs = 333, inputs = 129;
  const Codes x = random_codes(r, rows * inputs);
  const PackedInt16Weights packed = pack(random_codes(r, outputs * inputs), outputs, inputs, {-7});
  const Sums wanted = multiply(x, {3}, rows, packed);
  bool equal = true;
  for (std::size_t threads = 1; threads <= 5; ++threads)
    equal = equal && multiply(x, {3}, rows, packed, test::Threads{threads}) == wanted;
  CHECK(equal);
}

TEST_CASE("turned int16 inputs and outputs are read and written where they are") {
  inputs::Random r(3);
  const std::size_t rows = 13, outputs = 21, inputs = 19;
  const Codes x = random_codes(r, rows * inputs), w = random_codes(r, outputs * inputs);
  Codes xt(rows * inputs);
  for (std::size_t k = 0; k < inputs; ++k)
    for (std::size_t m = 0; m < rows; ++m) xt[k * rows + m] = x[m * inputs + k];
  Sums out(rows * outputs);
  tq::matmul_integer(
      TensorView<const std::int16_t>(xt.data(), Shape{rows, inputs}, tq::Strides{1, 13}), Zeros{-5},
      pack(w, outputs, inputs),
      TensorView<std::int64_t>(out.data(), Shape{rows, outputs}, tq::Strides{1, 13}));
  const Sums wanted = product(x, {-5}, rows, w, {}, outputs, inputs);
  bool equal = true;
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n)
      equal = equal && out[n * rows + m] == wanted[m * outputs + n];
  CHECK(equal);
}

TEST_CASE("products of int16 that do not fit are refused before anything is written") {
  test::check_refused_products<std::int16_t, std::int64_t>(pack(Codes(6), 2, 3), "-32768 to 32767",
                                                           32768);
}
