// SPDX-License-Identifier: MIT
// Tensors and codes whose axes lie in another order: the codes are those of a row-major copy.
#include <tq/core/float_elements.hpp>
#include <tq/ops/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/random_params.hpp"
#include "support/thread_executor.hpp"

namespace {

template <class Params, class N = tq::numerics::onnx>
std::string differences(std::size_t rows, std::size_t cols, typename Params::granularity_type g = {}, const N& n = {}) {
  using code_type = typename Params::code_type;
  const tq::Shape shape{rows, cols};
  inputs::Random r(rows * 1000 + cols);
  std::vector<float> x(rows * cols), turned(x.size());
  for (float& v : x) v = r.chance(2) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(r.normal() * 4);
  for (std::size_t i = 0; i < x.size(); ++i) turned[i % cols * rows + i / cols] = x[i];
  const auto p = test::random_params<Params>(shape, g, r);

  std::vector<code_type> wanted(x.size());
  const tq::ConstTensorView rows_first(x.data(), shape);
  tq::quantize(rows_first, p, wanted, n);
  const auto packed = tq::quantize(rows_first, p, n);

  const tq::Strides by_columns{1, static_cast<std::ptrdiff_t>(rows)};
  const tq::ConstTensorView columns_first(turned.data(), shape, by_columns);
  std::string text;
  const auto name = [&](const char* what) { text += what + to_string(shape) + " " + std::string(decltype(g)::name) + "\n"; };
  std::vector<code_type> got(x.size());
  tq::quantize(columns_first, p, got, n);
  if (got != wanted) name("columns to rows ");
  tq::quantize(columns_first, p, got, n, test::Threads{});
  if (got != wanted) name("on threads ");
  if (!(tq::quantize(columns_first, p, n) == packed)) name("packed ");
  // From rows to columns, with a code between neighbours that must stay.
  std::vector<code_type> apart(2 * x.size(), code_type{77});
  const tq::Strides gaps{2, 2 * static_cast<std::ptrdiff_t>(rows)};
  tq::quantize(rows_first, p, tq::TensorView<code_type>(apart.data(), shape, gaps), n);
  tq::quantize(rows_first, p, tq::TensorView<code_type>(got.data(), shape, by_columns), n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at = i % cols * rows + i / cols;
    if (got[at] != wanted[i]) return text += "rows to columns " + to_string(shape);
    if (apart[2 * at] != wanted[i] || apart[2 * at + 1] != code_type{77}) return text += "rows to gaps " + to_string(shape);
  }
  return text;
}

template <class T, class S, class N = tq::numerics::onnx>
void check(const N& n = {}) {
  for (const std::size_t rows : {1u, 15u, 16u, 37u, 300u, 600u})
    for (const std::size_t cols : {1u, 15u, 16u, 17u, 70u}) {
      CHECK(differences<tq::QuantParams<T, tq::PerTensor, S>>(rows, cols, {}, n) == "");
      CHECK(differences<tq::QuantParams<T, tq::PerChannel<0>, S>>(rows, cols, {}, n) == "");
      CHECK(differences<tq::QuantParams<T, tq::PerChannel<-1>, S>>(rows, cols, {}, n) == "");
      CHECK(differences<tq::QuantParams<T, tq::PerGroup<8>, S>>(rows, cols, {}, n) == "");
    }
}

}  // namespace

TEST_CASE("axes in another order: integers", "[code_writer]") {
  check<tq::int8, tq::Symmetric>();
  check<tq::uint4, tq::Asymmetric>();
  check<tq::int16, tq::Asymmetric>(tq::numerics::torch{});
}
TEST_CASE("axes in another order: floats", "[code_writer]") { check<tq::float8_e4m3fn, tq::Symmetric>(); }
TEST_CASE("axes in another order: on threads", "[code_writer]") {
  CHECK(differences<tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>>(700, 500) == "");
  CHECK(differences<tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>>(700, 500) == "");
}
TEST_CASE("stochastic codes go by their place, whatever the order", "[code_writer]") {
  using P = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  std::vector<float> x(300 * 40, 0.5f);
  std::vector<std::int8_t> rows(x.size()), columns(x.size());
  const tq::Numerics<tq::Stochastic> draws{tq::Stochastic{5}};
  tq::quantize(tq::ConstTensorView(x.data(), {300, 40}), P(1.0f), rows, draws);
  tq::quantize(tq::ConstTensorView(x.data(), {300, 40}, {1, 300}), P(1.0f), columns, draws);
  CHECK(rows == columns);
}
