// SPDX-License-Identifier: MIT
#include <tq/core/as_tensor.hpp>
#include <tq/linear/matmul.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"
#include "support/thread_executor.hpp"
#include "unit/linear/refused_products.hpp"

namespace {

using tq::PanelLayout;
using tq::Shape;
using tq::TensorView;
using Sizes = std::initializer_list<std::size_t>;

template <class Code>
std::vector<Code> random_codes(inputs::Random& r, std::size_t n) {
  using limits = std::numeric_limits<Code>;
  std::vector<Code> out(n);
  for (Code& c : out)
    c = r.chance(25) ? (r.chance(50) ? limits::min() : limits::max())
                     : static_cast<Code>(r.between(limits::min(), limits::max()));
  return out;
}
template <class Code>
std::vector<std::int32_t> random_zero_points(inputs::Random& r, std::size_t n) {
  std::vector<std::int32_t> out(n);
  for (std::int32_t& z : out)
    z = r.between(std::numeric_limits<Code>::min(), std::numeric_limits<Code>::max());
  return out;
}
std::int64_t zero_point_at(const std::vector<std::int32_t>& z, std::size_t i) {
  return z.empty() ? 0 : z.size() == 1 ? z[0] : z[i];
}

// The product in 64 bits, one sum after the other.
template <class X, class W>
std::vector<std::int64_t> product(const std::vector<X>& x, const std::vector<std::int32_t>& xz,
                                  std::size_t rows, const std::vector<W>& w,
                                  const std::vector<std::int32_t>& wz, std::size_t outputs,
                                  std::size_t inputs) {
  std::vector<std::int64_t> out(rows * outputs);
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n)
      for (std::size_t k = 0; k < inputs; ++k)
        out[m * outputs + n] +=
            (x[m * inputs + k] - zero_point_at(xz, m)) * (w[n * inputs + k] - zero_point_at(wz, n));
  return out;
}

// Rows of a matrix that begin `apart` codes after each other, at an odd address.
template <class Code>
struct Spread {
  std::vector<Code> codes;
  std::ptrdiff_t apart;
  Spread(const std::vector<Code>& dense, std::size_t rows, std::size_t columns, std::size_t gap)
      : codes(rows * (columns + gap) + 1), apart(static_cast<std::ptrdiff_t>(columns + gap)) {
    for (std::size_t m = 0; m < rows; ++m)
      std::copy_n(dense.data() + m * columns, columns, codes.data() + 1 + m * (columns + gap));
  }
  [[nodiscard]] TensorView<const Code> view(std::size_t rows, std::size_t columns) const {
    return {codes.data() + 1, Shape{rows, columns}, tq::Strides{apart, 1}};
  }
};

constexpr PanelLayout layouts[] = {PanelLayout::pairs_of_16, PanelLayout::fours_of_16,
                                   PanelLayout::fours_of_64, PanelLayout::narrow_fours_of_16,
                                   PanelLayout::eights_of_16};
constexpr PanelLayout native = tq::kernels::layout_of<tq::arch::best_dot<tq::arch::native>>;

// Weights that are narrow more often than not.
template <class Code>
std::vector<Code> random_weights(inputs::Random& r, std::size_t n) {
  auto out = random_codes<Code>(r, n);
  if (r.chance(60))
    for (Code& c : out) c = static_cast<Code>(std::is_signed_v<Code> ? c / 2 : 64 + c / 2);
  return out;
}

template <class Arch, class X, class W>
std::string check(inputs::Random& r, std::size_t rows, std::size_t outputs, std::size_t inputs) {
  const auto x = random_codes<X>(r, rows * inputs);
  const auto w = random_weights<W>(r, outputs * inputs);
  const auto some = [&](std::size_t n) {
    return r.chance(33) ? std::size_t{0} : r.chance(50) ? std::size_t{1} : n;
  };
  const auto xz = random_zero_points<X>(r, some(rows));
  const auto wz = random_zero_points<W>(r, some(outputs));
  const auto wanted = product(x, xz, rows, w, wz, outputs, inputs);
  const PanelLayout layout = r.chance(75) ? native : layouts[r.below(std::size(layouts))];
  const tq::PackedWeights packed(TensorView<const W>(w.data(), Shape{outputs, inputs}), wz, layout);
  const Spread<X> spread(x, rows, inputs, r.below(4));
  const TensorView<const X> view = spread.view(rows, inputs);
  const std::string what = std::to_string(rows) + " x " + std::to_string(outputs) + " x " +
                           std::to_string(inputs) + "\n";

  std::vector<std::int32_t> narrow(rows * outputs + 1, 77);
  tq::matmul_integer<Arch>(view, xz, packed,
                           TensorView<std::int32_t>(narrow.data(), Shape{rows, outputs}));
  if (narrow.back() != 77) return "wrote past the end: " + what;
  narrow.pop_back();
  if (!std::equal(narrow.begin(), narrow.end(), wanted.begin(), wanted.end())) return what;
  std::vector<std::int64_t> wide(rows * outputs);
  tq::matmul_integer<Arch>(view, xz, packed,
                           TensorView<std::int64_t>(wide.data(), Shape{rows, outputs}),
                           test::Backwards{});
  return wide == wanted ? "" : "backwards: " + what;
}

template <class Arch>
std::string check_all(inputs::Random& r, std::size_t rows, std::size_t outputs,
                      std::size_t inputs) {
  return check<Arch, std::uint8_t, std::int8_t>(r, rows, outputs, inputs) +
         check<Arch, std::int8_t, std::int8_t>(r, rows, outputs, inputs) +
         check<Arch, std::uint8_t, std::uint8_t>(r, rows, outputs, inputs) +
         check<Arch, std::int8_t, std::uint8_t>(r, rows, outputs, inputs);
}

template <class X, class W>
std::string check_operands(PanelLayout layout) {
  std::vector<X> x(256);
  std::vector<W> w(256);
  for (int i = 0; i < 256; ++i) {
    x[static_cast<std::size_t>(i)] = static_cast<X>(std::numeric_limits<X>::min() + i);
    w[static_cast<std::size_t>(i)] = static_cast<W>(std::numeric_limits<W>::min() + i);
  }
  const tq::PackedWeights packed(TensorView<const W>(w.data(), Shape{256, 1}), {}, layout);
  std::vector<std::int32_t> out(256 * 256);
  tq::matmul_integer(TensorView<const X>(x.data(), Shape{256, 1}), {}, packed,
                     TensorView<std::int32_t>(out.data(), Shape{256, 256}));
  for (std::size_t m = 0; m < 256; ++m)
    for (std::size_t n = 0; n < 256; ++n)
      if (out[m * 256 + n] != x[m] * w[n])
        return std::to_string(x[m]) + " * " + std::to_string(w[n]) + "\n";
  return "";
}

// Rows and weights of one value each, of which sums of 16 bits have no room for two products.
template <class X, class W>
std::string check_extremes() {
  std::string failures;
  for (const std::size_t inputs : Sizes{2, 3, 4, 64, 1001})
    for (const X a : {std::numeric_limits<X>::min(), std::numeric_limits<X>::max()})
      for (const W b : {std::numeric_limits<W>::min(), std::numeric_limits<W>::max()}) {
        const std::vector<X> x(7 * inputs, a);
        const std::vector<W> w(65 * inputs, b);
        const tq::PackedWeights packed(TensorView<const W>(w.data(), Shape{65, inputs}));
        std::vector<std::int32_t> out(7 * 65);
        tq::matmul_integer(TensorView<const X>(x.data(), Shape{7, inputs}), {}, packed,
                           TensorView<std::int32_t>(out.data(), Shape{7, 65}));
        const std::vector<std::int32_t> wanted(7 * 65, static_cast<std::int32_t>(inputs) * a * b);
        if (out != wanted) failures += std::to_string(a) + " * " + std::to_string(b) + "\n";
      }
  return failures;
}

// Rows that are known less their zero point only, as those of convolutions are.
struct WidenedRows {
  tq::detail::GemmRows<std::int8_t> rows;
  [[nodiscard]] std::size_t size() const noexcept { return rows.size(); }
  std::int64_t widen(std::size_t row, std::int16_t* out) const noexcept {
    return rows.widen(row, out);
  }
};

}  // namespace

TEST_CASE("products of matrices of bytes are exact, for every shape, zero point and layout") {
  inputs::Random r(1);
  std::string failures;
  for (std::size_t rows = 0; rows <= 14; ++rows)
    for (const std::size_t outputs : Sizes{0, 1, 15, 16, 17, 63, 64, 65})
      for (const std::size_t inputs : Sizes{0, 1, 2, 3, 4, 5, 6, 7, 8, 33})
        failures += check_all<tq::arch::native>(r, rows, outputs, inputs);
  failures += check_all<tq::arch::native>(r, 197, 70, 131);  // more than a block
  failures += check_all<tq::arch::native>(r, 1, 300, 1000);
  CHECK(failures == "");
}

TEST_CASE("products without instructions for them are the same") {
  inputs::Random r(2);
  std::string failures;
  for (const std::size_t rows : Sizes{1, 3})
    for (const std::size_t outputs : Sizes{1, 17})
      for (const std::size_t inputs : Sizes{0, 1, 2, 33})
        failures += check_all<tq::arch::scalar>(r, rows, outputs, inputs);
  CHECK(failures == "");
}

TEST_CASE("every pair of bytes has its product") {
  std::string failures;
  for (const PanelLayout layout : {native, PanelLayout::pairs_of_16}) {
    failures += check_operands<std::uint8_t, std::int8_t>(layout);
    failures += check_operands<std::int8_t, std::int8_t>(layout);
    failures += check_operands<std::uint8_t, std::uint8_t>(layout);
    failures += check_operands<std::int8_t, std::uint8_t>(layout);
  }
  CHECK(failures == "");
}

TEST_CASE("weights that are narrow have their sums, in the layout for them") {
  std::vector<std::int8_t> w;
  for (int a = -128; a <= 127; ++a)
    for (int b = -128; b <= 127; ++b)
      if (tq::arch::is_narrow(a, b))
        for (const int weight : {a, b, b, a}) w.push_back(static_cast<std::int8_t>(weight));
  const std::vector<std::uint8_t> x{255, 255, 255, 255, 255, 0,   0, 255,
                                    0,   255, 255, 0,   1,   254, 7, 9};
  const std::size_t rows = x.size() / 4, outputs = w.size() / 4;
  const tq::PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{outputs, 4}), {},
                                 PanelLayout::narrow_fours_of_16);
  REQUIRE(packed.layout() == PanelLayout::narrow_fours_of_16);
  std::vector<std::int64_t> out(rows * outputs);
  tq::matmul_integer(TensorView<const std::uint8_t>(x.data(), Shape{rows, 4}), {}, packed,
                     TensorView<std::int64_t>(out.data(), Shape{rows, outputs}));
  const bool equal = out == product(x, {}, rows, w, {}, outputs, 4);
  CHECK(equal);
}

TEST_CASE("rows of the largest products are exact") {
  CHECK(check_extremes<std::uint8_t, std::int8_t>() == "");
  CHECK(check_extremes<std::int8_t, std::int8_t>() == "");
  CHECK(check_extremes<std::uint8_t, std::uint8_t>() == "");
  CHECK(check_extremes<std::int8_t, std::uint8_t>() == "");
}

TEST_CASE("sums are the same from any number of threads") {
  inputs::Random r(4);
  const std::size_t rows = 20, outputs = 333, inputs = 129;
  const auto x = random_codes<std::int8_t>(r, rows * inputs);
  const auto w = random_codes<std::int8_t>(r, outputs * inputs);
  const tq::PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}));
  const auto multiply = [&](const auto& executor) {
    std::vector<std::int32_t> out(rows * outputs);
    tq::matmul_integer(TensorView<const std::int8_t>(x.data(), Shape{rows, inputs}), std::array{-3},
                       packed, TensorView<std::int32_t>(out.data(), Shape{rows, outputs}),
                       executor);
    return out;
  };
  const auto wanted = multiply(tq::serial);
  bool equal = true;
  for (std::size_t threads = 1; threads <= 5; ++threads)
    equal = equal && multiply(test::Threads{threads}) == wanted;
  CHECK(equal);
}

TEST_CASE("rows that are known widened only are multiplied as others are") {
  inputs::Random r(5);
  bool equal = true;
  for (const std::size_t inputs : Sizes{0, 1, 6, 64})
    for (const std::int32_t zero : {-128, 0, 127}) {
      const std::size_t rows = 8, outputs = 20;
      const auto x = random_codes<std::int8_t>(r, rows * inputs);
      const auto w = random_codes<std::int8_t>(r, outputs * inputs);
      const auto wz = random_zero_points<std::int8_t>(r, outputs);
      const tq::PackedWeights packed(
          TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}), wz);
      std::vector<std::int64_t> out(rows * outputs);
      const std::array zeros{zero};
      const WidenedRows widened{
          {TensorView<const std::int8_t>(x.data(), Shape{rows, inputs}), zeros}};
      tq::detail::multiply<tq::arch::native, std::int32_t>(
          widened, packed,
          [&](std::size_t row, std::size_t column, std::size_t count, const std::int32_t* sums) {
            std::copy_n(sums, count, out.data() + row * outputs + column);
          },
          tq::serial);
      equal = equal && out == product(x, {zero}, rows, w, wz, outputs, inputs);
    }
  CHECK(equal);
}

TEST_CASE("the largest sums are exact in 64 bits, and refused in 32") {
  const std::size_t inputs = 80'001;
  const std::vector<std::uint8_t> x(inputs, 255);
  const std::vector<std::int8_t> w(inputs, -128);
  const tq::PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{1, inputs}),
                                 std::array{127});
  const TensorView<const std::uint8_t> row(x.data(), Shape{1, inputs});
  std::int64_t wide = 0;
  tq::matmul_integer(row, {}, packed, TensorView<std::int64_t>(&wide, Shape{1, 1}));
  CHECK(wide == -255 * 255 * static_cast<std::int64_t>(inputs));
  std::int32_t narrow = 5;
  test::raises(tq::errc::bad_argument, {"64 bits"}, [&] {
    tq::matmul_integer(row, {}, packed, TensorView<std::int32_t>(&narrow, Shape{1, 1}));
  });
  CHECK(narrow == 5);
}

TEST_CASE("sums of 64 bits lie in their places, of many rows and panels too") {
  const std::size_t rows = 3, outputs = 33, inputs = 66'001;
  std::vector<std::uint8_t> x(rows * inputs);
  std::vector<std::int8_t> w(outputs * inputs, -128);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(255 - i % 5);
  for (std::size_t n = 0; n < outputs; ++n) w[n * inputs] = static_cast<std::int8_t>(n);
  const tq::PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{outputs, inputs}));
  REQUIRE_FALSE(tq::detail::fits_32_bits(packed));
  std::vector<std::int64_t> out(rows * outputs + 200, 77);  // room for what would be misplaced
  tq::matmul_integer(TensorView<const std::uint8_t>(x.data(), Shape{rows, inputs}), {}, packed,
                     TensorView<std::int64_t>(out.data(), Shape{rows, outputs}));
  auto wanted = product(x, {}, rows, w, {}, outputs, inputs);
  wanted.resize(out.size(), 77);
  const bool equal = out == wanted;
  CHECK(equal);
}

TEST_CASE("turned inputs and outputs are read and written where they are") {
  inputs::Random r(3);
  const std::size_t rows = 13, outputs = 21, inputs = 19;
  const auto x = random_codes<std::int8_t>(r, rows * inputs);
  const auto w = random_codes<std::int8_t>(r, outputs * inputs);
  std::vector<std::int8_t> xt(rows * inputs), wt(outputs * inputs);
  for (std::size_t k = 0; k < inputs; ++k) {
    for (std::size_t m = 0; m < rows; ++m) xt[k * rows + m] = x[m * inputs + k];
    for (std::size_t n = 0; n < outputs; ++n) wt[k * outputs + n] = w[n * inputs + k];
  }
  const auto turned = [](const auto& data, std::size_t a, std::size_t b) {
    return TensorView<const std::int8_t>(data.data(), Shape{a, b},
                                         tq::Strides{1, static_cast<std::ptrdiff_t>(a)});
  };
  const tq::PackedWeights packed(turned(wt, outputs, inputs));
  std::vector<std::int32_t> out(rows * outputs);
  tq::matmul_integer(
      turned(xt, rows, inputs), {}, packed,
      TensorView<std::int32_t>(out.data(), Shape{rows, outputs}, tq::Strides{1, 13}));
  const auto wanted = product(x, {}, rows, w, {}, outputs, inputs);
  bool equal = true;
  for (std::size_t m = 0; m < rows; ++m)
    for (std::size_t n = 0; n < outputs; ++n)
      equal = equal && out[n * rows + m] == wanted[m * outputs + n];
  CHECK(equal);
}

TEST_CASE("what does not fit is refused before anything is written") {
  const std::vector<std::int8_t> w(6);
  const tq::PackedWeights packed(TensorView<const std::int8_t>(w.data(), Shape{2, 3}));
  test::check_refused_products<std::int8_t, std::int32_t>(packed, "-128 to 127", 128);
  test::raises(tq::errc::shape_mismatch, {"[outputs, inputs]", "[6]"},
               [&] { tq::PackedWeights(TensorView<const std::int8_t>(w.data(), Shape{6})); });
  test::raises(tq::errc::shape_mismatch, {"0, 1 or 2 zero points", "3"}, [&] {
    tq::PackedWeights(TensorView<const std::int8_t>(w.data(), Shape{2, 3}), std::array{0, 0, 0});
  });
  test::raises(tq::errc::bad_zero_point, {"-128 to 127", "-129"}, [&] {
    tq::PackedWeights(TensorView<const std::int8_t>(w.data(), Shape{2, 3}), std::array{-129});
  });
}

TEST_CASE("codes, weights and sums may be tensors of any kind") {
  const std::int8_t x[2][3] = {{1, 2, -3}, {4, -5, 6}}, w[2][3] = {{1, 0, 2}, {-1, 3, 1}};
  const tq::PackedWeights packed(w);
  std::int32_t sums[2][2] = {};
  tq::matmul_integer(x, {}, packed, sums, tq::with(test::Threads{2}));
  CHECK(sums[0][0] == -5);
  CHECK(sums[0][1] == 2);
  CHECK(sums[1][0] == 16);
  CHECK(sums[1][1] == -13);
  std::array<std::int64_t, 4> wide{};
  tq::matmul_integer(x, std::array{1}, packed, tq::as_tensor(wide, {2, 2}));
  CHECK(wide == std::array<std::int64_t, 4>{-8, -1, 13, -16});
}
