// SPDX-License-Identifier: MIT
// Values and copies whose axes lie in another order than those of what they are made of.
#include <tq/core/float_elements.hpp>
#include <tq/ops/copy.hpp>
#include <tq/ops/dequantize.hpp>
#include <tq/ops/quantize.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"
#include "support/random_params.hpp"
#include "support/thread_executor.hpp"

namespace {

constexpr float guard = 77.0f;

// Whether element i of a row-major tensor is at `at(i)` of `got`, and the guards after it are whole.
template <class At>
bool same(const std::vector<float>& wanted, const std::vector<float>& got, At&& at) {
  std::vector<bool> written(got.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::memcmp(&wanted[i], &got[at(i)], sizeof(float)) != 0) return false;
    written[at(i)] = true;
  }
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!written[i] && got[i] != guard) return false;
  return true;
}

template <class Params>
std::string differences(const tq::Shape& shape, typename Params::granularity_type g = {}) {
  using code_type = typename Params::code_type;
  const std::size_t n = shape.size(), rows = shape[0], cols = n / rows;
  inputs::Random r(n);
  const std::vector<float> x = inputs::normals(n, n, 4);
  const auto p = test::random_params<Params>(shape, g, r);
  const tq::QuantizedTensor<Params> q = tq::quantize(tq::ConstTensorView(x.data(), shape), p);
  std::vector<code_type> codes(n);
  tq::quantize(tq::ConstTensorView(x.data(), shape), p, codes);
  const std::vector<float> wanted = tq::dequantize(q);

  // Rank 2: by columns; rank 3: the middle axis first.
  const auto c = static_cast<std::ptrdiff_t>(shape.rank() == 3 ? shape[2] : 1);
  const auto m = static_cast<std::ptrdiff_t>(shape[1]), a = static_cast<std::ptrdiff_t>(rows);
  tq::Strides turned{1, a};
  if (shape.rank() == 3) turned = tq::Strides{m, 1, m * a};
  const auto at = [&](std::size_t i) {
    if (shape.rank() == 2) return i % cols * rows + i / cols;
    const auto depth = static_cast<std::size_t>(c), middle = static_cast<std::size_t>(m);
    return i / cols * middle + i % cols / depth + i % depth * middle * rows;
  };
  std::string text;
  const auto check = [&](const char* what, auto&& write) {
    std::vector<float> got(n + 64, guard);
    write(tq::TensorView<float>(got.data(), shape, turned));
    if (!same(wanted, got, at)) text += std::string(what) + to_string(shape) + " " + std::string(decltype(g)::name) + "\n";
  };
  check("codes ", [&](const auto& out) { tq::dequantize(codes, p, out); });
  check("codes on threads ", [&](const auto& out) { tq::dequantize(codes, p, out, test::Threads{}); });
  check("packed ", [&](const auto& out) { tq::dequantize(q, out); });
  check("packed on threads ", [&](const auto& out) { tq::dequantize(q, out, test::Threads{}); });
  check("copy ", [&](const auto& out) { tq::copy(tq::ConstTensorView(wanted.data(), shape), out); });
  // And back: rows from columns.
  std::vector<float> columns(n), back(n);
  tq::copy(tq::ConstTensorView(wanted.data(), shape), tq::TensorView<float>(columns.data(), shape, turned));
  tq::copy(tq::ConstTensorView(columns.data(), shape, turned), back);
  if (std::memcmp(back.data(), wanted.data(), n * sizeof(float)) != 0) text += "back " + to_string(shape) + "\n";
  return text;
}

template <class T, class S, class... Granularities>
void check() {
  for (const std::size_t rows : {1u, 15u, 16u, 37u, 300u, 600u})
    for (const std::size_t cols : {1u, 15u, 16u, 17u, 70u})
      ([&] { CHECK(differences<tq::QuantParams<T, Granularities, S>>(tq::Shape{rows, cols}) == ""); }(), ...);
}

}  // namespace

TEST_CASE("values in another order: integers", "[columns]") {
  check<tq::int8, tq::Symmetric, tq::PerTensor, tq::PerChannel<0>, tq::PerChannel<-1>, tq::PerGroup<8>, tq::PerGroup<8, 0>>();
  check<tq::uint4, tq::Asymmetric, tq::PerChannel<0>, tq::PerGroup<8>>();
  check<tq::int16, tq::Asymmetric, tq::PerChannel<-1>>();
  CHECK(differences<tq::QuantParams<tq::int8, tq::PerChannel<1>, tq::Asymmetric>>({5, 33, 20}) == "");
}
TEST_CASE("values in another order: floats", "[columns]") { check<tq::float8_e4m3fn, tq::Symmetric, tq::PerGroup<8>>(); }
TEST_CASE("values in another order: large", "[columns]") {
  CHECK(differences<tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>>({700, 500}) == "");
  CHECK(differences<tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>>({700, 500}) == "");
}
TEST_CASE("values between gaps stay apart, and a repeated row is read again", "[columns]") {
  const tq::Shape shape{40, 50};
  const std::vector<float> x = inputs::normals(2 * shape.size(), 3, 1);
  std::vector<float> got(shape.size());
  tq::copy(tq::ConstTensorView(x.data(), shape, {100, 2}), got);  // every second element
  bool right = true;
  for (std::size_t i = 0; i < got.size(); ++i) right = right && got[i] == x[2 * i];
  CHECK(right);
  tq::copy(tq::ConstTensorView(x.data(), shape, {1, 0}), got);  // a column, repeated
  for (std::size_t i = 0; i < got.size(); ++i) right = right && got[i] == x[i / 50];
  CHECK(right);
  std::vector<float> apart(2 * shape.size(), guard);
  tq::copy(tq::ConstTensorView(x.data(), shape, {1, 40}), tq::TensorView<float>(apart.data(), shape, {100, 2}));
  for (std::size_t i = 0; i < shape.size(); ++i) right = right && apart[2 * i] == x[i % 50 * 40 + i / 50] && apart[2 * i + 1] == guard;
  CHECK(right);
}
