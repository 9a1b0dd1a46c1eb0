// SPDX-License-Identifier: MIT
#include <tq/interop/eigen.hpp>
#include <tq/tq.hpp>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace {

using Eigen::Dynamic;
using RowMajor = Eigen::Matrix<float, Dynamic, Dynamic, Eigen::RowMajor>;
using ColMajor = Eigen::Matrix<float, Dynamic, Dynamic, Eigen::ColMajor>;

template <class G, class T = tq::int8, class S = tq::Symmetric>
using Params = tq::QuantParams<T, G, S>;

// Values without pattern along either axis, the same for every storage order.
template <class M>
M sample(Eigen::Index rows, Eigen::Index cols) {
  M m;
  m.resize(rows, cols);
  for (Eigen::Index r = 0; r < rows; ++r)
    for (Eigen::Index c = 0; c < cols; ++c)
      m(r, c) =
          static_cast<float>(std::sin(1.7 * static_cast<double>(r * cols + c) + 0.3) *
                             (1.0 + 0.1 * static_cast<double>(r) + 0.03 * static_cast<double>(c)));
  return m;
}

// The parameter that element (r, c) of a matrix uses, by the definition of each granularity.
struct Slot {
  std::size_t rows, cols;
  std::size_t operator()(tq::PerTensor, std::size_t, std::size_t) const { return 0; }
  std::size_t operator()(tq::PerToken, std::size_t r, std::size_t) const { return r; }
  template <int Axis>
  std::size_t operator()(tq::PerChannel<Axis>, std::size_t r, std::size_t c) const {
    return Axis == 0 || Axis == -2 ? r : c;
  }
  template <int Size, int Axis>
  std::size_t operator()(tq::PerGroup<Size, Axis>, std::size_t r, std::size_t c) const {
    constexpr std::size_t size = Size;
    return Axis == 0 || Axis == -2 ? r / size * cols + c
                                   : r * ((cols + size - 1) / size) + c / size;
  }
};

// Symmetric int8 by the formula: scale = max|x| / 127 over each slot, q = round(x / scale). True
// when everything that the operations made of `m` agrees with it.
template <class G>
bool follows_formula(const RowMajor& m, const Params<G>& params, const Eigen::MatrixXi& codes,
                     const tq::QuantizedTensor<Params<G>>& q, const RowMajor& fake,
                     const RowMajor& back) {
  const auto rows = static_cast<std::size_t>(m.rows()), cols = static_cast<std::size_t>(m.cols());
  const Slot slot{rows, cols};
  std::vector<float> top(params.scales().size(), 0.0f);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) {
      float& t = top.at(slot(G{}, r, c));
      t = std::max(t, std::abs(m(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c))));
    }
  bool good = q.shape() == tq::Shape{rows, cols};
  for (std::size_t i = 0; i < top.size(); ++i)
    good = good && params.scales()[i] == static_cast<float>(static_cast<double>(top[i]) / 127);
  for (std::size_t r = 0; r < rows && good; ++r)
    for (std::size_t c = 0; c < cols && good; ++c) {
      const auto i = static_cast<Eigen::Index>(r), j = static_cast<Eigen::Index>(c);
      const float scale = params.scales()[slot(G{}, r, c)];
      const int code = static_cast<int>(std::nearbyint(m(i, j) / scale));
      good = codes(i, j) == code && int{q.codes()[r * cols + c]} == code &&
             fake(i, j) == static_cast<float>(code) * scale && back(i, j) == fake(i, j);
    }
  return good;
}

template <class... G, class M>
void check_each(const M& m) {
  const auto one = [&]<class Gran>(Gran) {
    const Params<Gran> params = tq::calibrate<Params<Gran>>(m);
    const auto codes = tq::quantize_codes(m, params);
    CHECK(follows_formula<Gran>(RowMajor(m), params, Eigen::MatrixXi(codes.template cast<int>()),
                                tq::quantize(m, params), RowMajor(tq::fake_quantize(m, params)),
                                RowMajor(tq::dequantize(codes, params))));
  };
  (one(G{}), ...);
}

template <class M>
void check_all_granularities(const M& m) {
  check_each<tq::PerTensor, tq::PerToken, tq::PerChannel<0>, tq::PerChannel<1>, tq::PerChannel<-1>,
             tq::PerChannel<-2>, tq::PerGroup<4>, tq::PerGroup<4, 0>, tq::PerGroup<32, 1>>(m);
}

template <class M>
void check_both_axes(const M& m) {
  check_each<tq::PerChannel<0>, tq::PerChannel<1>, tq::PerGroup<4>, tq::PerGroup<4, 0>>(m);
}

template <class P, class M>
concept Calibratable = requires(const M& m) { tq::calibrate<P>(m); };

}  // namespace

TEST_CASE("a view has the rows and columns of the matrix in either storage order", "[eigen]") {
  RowMajor r = sample<RowMajor>(3, 5);
  ColMajor c = r;
  CHECK(tq::view(r).shape() == tq::Shape{3, 5});
  CHECK(tq::view(c).shape() == tq::Shape{3, 5});
  CHECK(tq::view(r).is_contiguous());
  CHECK_FALSE(tq::view(c).is_contiguous());
  CHECK(tq::view(r).stride(0) == 5);
  CHECK(tq::view(c).stride(1) == 3);
  for (std::ptrdiff_t i = 0; i < 3; ++i)
    for (std::ptrdiff_t j = 0; j < 5; ++j) {
      const auto v = tq::view(c);
      CHECK(v.data()[i * v.stride(0) + j * v.stride(1)] == r(i, j));
    }
  tq::view(c).data()[1] = 42;
  CHECK(c(1, 0) == 42);
}

TEST_CASE("a view of what is const is const", "[eigen]") {
  ColMajor m = sample<ColMajor>(2, 2);
  const ColMajor& fixed = m;
  const Eigen::Map<const ColMajor> map(m.data(), 2, 2);
  static_assert(std::is_same_v<decltype(tq::view(m)), tq::TensorView<float>>);
  static_assert(std::is_same_v<decltype(tq::view(fixed)), tq::ConstTensorView>);
  static_assert(std::is_same_v<decltype(tq::view(map)), tq::ConstTensorView>);
  static_assert(std::is_same_v<decltype(tq::view(m.row(0))), tq::TensorView<float>>);
  static_assert(std::is_same_v<decltype(tq::view(fixed.row(0))), tq::ConstTensorView>);
  CHECK(tq::view(map).data() == m.data());
}

TEST_CASE("vectors are of rank 1, with their stride", "[eigen]") {
  ColMajor m = sample<ColMajor>(4, 6);
  Eigen::VectorXf v = m.col(2);
  Eigen::RowVectorXf r = m.row(1);
  CHECK(tq::view(v).shape() == tq::Shape{4});
  CHECK(tq::view(r).shape() == tq::Shape{6});
  CHECK(tq::view(m.col(2)).stride(0) == 1);
  CHECK(tq::view(m.row(1)).stride(0) == 4);
  CHECK(tq::view(m.row(1)).shape() == tq::Shape{6});
  CHECK(tq::view(m.diagonal()).shape() == tq::Shape{4});
  CHECK(tq::view(m.diagonal()).stride(0) == 5);

  const auto params = tq::calibrate<Params<tq::PerGroup<4>>>(m.row(1));
  CHECK(params.scales().size() == 2);
  CHECK(tq::fake_quantize(m.row(1), params) == tq::fake_quantize(r, params));
  static_assert(std::is_same_v<decltype(tq::fake_quantize(r, params)), Eigen::RowVectorXf>);
  const Eigen::Array<std::int8_t, Dynamic, 1> codes =
      tq::quantize_codes(v.array(), Params<tq::PerTensor>(0.1f));
  for (Eigen::Index i = 0; i < v.size(); ++i) CHECK(int{codes(i)} == std::lround(v(i) / 0.1f));
}

TEST_CASE("all operations follow the formula in both storage orders", "[eigen]") {
  for (const auto& [rows, cols] : {std::pair<Eigen::Index, Eigen::Index>{1, 1},
                                   {1, 7},
                                   {7, 1},
                                   {4, 8},
                                   {17, 33},
                                   {33, 70},
                                   {64, 9}}) {
    check_all_granularities(sample<RowMajor>(rows, cols));
    check_all_granularities(sample<ColMajor>(rows, cols));
  }
}

TEST_CASE("Maps with strides, Refs, Blocks and transposes are read in place", "[eigen]") {
  ColMajor big = sample<ColMajor>(40, 90);
  using Stride = Eigen::Stride<Dynamic, Dynamic>;
  check_both_axes(Eigen::Map<ColMajor, 0, Stride>(big.data(), 17, 20, Stride(80, 2)));
  check_both_axes(Eigen::Map<const RowMajor, 0, Stride>(big.data(), 17, 20, Stride(80, 3)));
  check_both_axes(
      Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>(big.data(), 17, 20, Eigen::OuterStride<>(23)));
  const Eigen::Ref<ColMajor> ref = big.middleCols(3, 40);
  check_both_axes(ref);
  const Eigen::Ref<const ColMajor> const_ref = big.topRows(11);
  check_both_axes(const_ref);
  check_both_axes(big.block(3, 5, 21, 34));
  check_both_axes(big.block<8, 8>(1, 2));
  check_both_axes(big.transpose());
  check_both_axes(big.block(3, 5, 21, 34).transpose());
  CHECK(tq::view(big.block(3, 5, 21, 34)).data() == &big(3, 5));
  CHECK(tq::view(big.block(3, 5, 21, 34)).stride(1) == 40);
  CHECK(tq::view(big.transpose()).shape() == tq::Shape{90, 40});
}

TEST_CASE("fixed sizes and arrays keep their type", "[eigen]") {
  const Eigen::Matrix<float, 3, 4> m = sample<Eigen::Matrix<float, 3, 4>>(3, 4);
  const Eigen::Array<float, 3, 4, Eigen::RowMajor> a = m.array();
  check_both_axes(m);
  check_both_axes(a);
  const auto params = tq::calibrate<Params<tq::PerChannel<0>>>(m);
  static_assert(std::is_same_v<decltype(tq::fake_quantize(m, params)), Eigen::Matrix<float, 3, 4>>);
  static_assert(std::is_same_v<decltype(tq::fake_quantize(a, params)),
                               Eigen::Array<float, 3, 4, Eigen::RowMajor>>);
  static_assert(std::is_same_v<decltype(tq::quantize_codes(a, params)),
                               Eigen::Array<std::int8_t, 3, 4, Eigen::RowMajor>>);
}

TEST_CASE("the storage order changes no code", "[eigen]") {
  const ColMajor c = sample<ColMajor>(37, 70);
  const RowMajor r = c;
  const auto same = [&]<class P>(const P& params) {
    REQUIRE(tq::calibrate<P>(r) == params);
    const tq::QuantizedTensor<P> of_c = tq::quantize(c, params), of_r = tq::quantize(r, params);
    REQUIRE(std::ranges::equal(of_c.bytes(), of_r.bytes()));
    REQUIRE((tq::quantize_codes(c, params).array() == tq::quantize_codes(r, params).array()).all());
    REQUIRE(tq::fake_quantize(c, params) == tq::fake_quantize(r, params));
    REQUIRE(tq::dequantize(of_c) == tq::dequantize(of_r));
    const tq::QuantizedTensor<P> dynamic = tq::quantize_dynamic<P>(c);
    REQUIRE(dynamic.params() == params);
    REQUIRE(std::ranges::equal(dynamic.bytes(), of_r.bytes()));
  };
  same(tq::calibrate<Params<tq::PerChannel<0>>>(c));
  same(tq::calibrate<Params<tq::PerChannel<1>, tq::uint8, tq::Asymmetric>>(c));
  same(tq::calibrate<Params<tq::PerGroup<32>, tq::int4>>(c));
  same(tq::calibrate<Params<tq::PerGroup<32>, tq::uint4, tq::Asymmetric>>(c));
  same(tq::calibrate<Params<tq::PerGroup<16, 0>, tq::int2, tq::SymmetricNarrow>>(c));
  same(tq::calibrate<Params<tq::PerToken, tq::int8, tq::Asymmetric>>(c));
}

TEST_CASE("the six lines", "[eigen]") {
  using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  const ColMajor weights = sample<ColMajor>(16, 48);
  const W8 params = tq::calibrate<W8>(weights);
  const tq::QuantizedTensor<W8> q = tq::quantize(weights, params);
  const std::vector<float> back = tq::dequantize(q);
  const tq::ErrorMetrics e = tq::compare(weights, back);
  CHECK(e.count == 768);
  CHECK(e.sqnr_db > 40);
  CHECK(e.max_abs <=
        0.5 * static_cast<double>(*std::ranges::max_element(params.scales())) * (1 + 1e-6));

  const tq::ErrorMetrics same = tq::compare(tq::to_eigen(q), back);
  CHECK(same.max_abs == 0);
  const tq::ErrorMetrics matrices = tq::compare(weights, tq::to_eigen(q));
  CHECK(std::abs(matrices.mse / e.mse - 1) < 1e-9);  // summed in another order
  CHECK(tq::compare(weights, tq::fake_quantize(weights, params)).mse == matrices.mse);
  CHECK(tq::compare(weights * 2.0f, weights + weights).max_abs == 0);
}

TEST_CASE("results come back in any Eigen type that fits", "[eigen]") {
  using W4 = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  const ColMajor m = sample<ColMajor>(6, 50);
  const W4 params = tq::calibrate<W4>(m);
  const auto q = tq::quantize(m, params);
  const ColMajor expected = tq::fake_quantize(m, params);
  static_assert(std::is_same_v<decltype(tq::to_eigen(q)), RowMajor>);
  CHECK(tq::to_eigen(q) == expected);
  CHECK(tq::to_eigen<ColMajor>(q) == expected);
  CHECK((tq::to_eigen<Eigen::ArrayXXf>(q) == expected.array()).all());
  CHECK(tq::to_eigen<Eigen::Matrix<float, 6, Dynamic>>(q) == expected);
  ColMajor big = ColMajor::Zero(10, 60);
  tq::dequantize(q, big.block(2, 3, 6, 50));
  CHECK(big.block(2, 3, 6, 50) == expected);
  CHECK(big.topRows(2).isZero());
  CHECK(big.rightCols(7).isZero());

  const Eigen::VectorXf v = m.row(0).transpose();
  const auto vector_params = tq::calibrate<W4>(v);
  CHECK(tq::to_eigen<Eigen::VectorXf>(tq::quantize(v, vector_params)) ==
        tq::fake_quantize(v, vector_params));

  const auto refused = [](auto&& f) {
    try {
      f();
    } catch (const tq::error& e) {
      return e.code() == tq::errc::shape_mismatch;
    }
    return false;
  };
  CHECK(refused([&] { return tq::to_eigen<Eigen::VectorXf>(q); }));
  CHECK(refused([&] { return tq::to_eigen(tq::quantize(v, vector_params)); }));
  CHECK(refused([&] { return tq::to_eigen<Eigen::Matrix<float, 5, Dynamic>>(q); }));
  CHECK(refused(
      [&] { return tq::to_eigen<Eigen::Matrix<float, 8, 1>>(tq::quantize(v, vector_params)); }));
  CHECK(refused([&] { return tq::dequantize(q, big.block(0, 0, 6, 49)); }));
}

TEST_CASE("outputs may be Eigen objects, spans and vectors", "[eigen]") {
  using W8 = tq::QuantParams<tq::int8, tq::PerChannel<1>, tq::Asymmetric>;
  ColMajor m = sample<ColMajor>(9, 21);
  const W8 params = tq::calibrate<W8>(m);
  const auto codes = tq::quantize_codes(m, params);
  static_assert(std::is_same_v<std::remove_const_t<decltype(codes)>,
                               Eigen::Matrix<std::int8_t, Dynamic, Dynamic>>);

  Eigen::Matrix<std::int8_t, Dynamic, Dynamic, Eigen::RowMajor> rows(9, 21);
  tq::quantize(m, params, rows);
  CHECK(rows == codes);
  std::vector<std::int8_t> flat(9 * 21);
  tq::quantize(m, params, flat);
  CHECK(std::ranges::equal(flat, std::span(rows.data(), 9 * 21)));
  Eigen::Matrix<std::int8_t, Dynamic, Dynamic> big(20, 30);
  big.setZero();
  tq::quantize(m, params, big.block(5, 5, 9, 21));
  CHECK(big.block(5, 5, 9, 21) == codes);
  CHECK(big.row(4).isZero());
  tq::QuantizedTensor<W8> q(tq::Shape{9, 21}, params);
  tq::quantize(m, q);
  CHECK(std::ranges::equal(q.codes(), flat));

  const ColMajor fake = tq::fake_quantize(m, params);
  std::vector<float> flat_fake(9 * 21);
  tq::fake_quantize(m, params, flat_fake);
  CHECK(tq::compare(fake, flat_fake).max_abs == 0);
  tq::fake_quantize(m, params, m);  // in place
  CHECK(m == fake);
}

TEST_CASE("real values are written as any of Eigen's reals", "[eigen]") {
  const Eigen::MatrixXf w = Eigen::MatrixXf::Random(9, 21);
  const auto q =
      tq::quantize_dynamic<tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>>(w);
  Eigen::MatrixXf wanted(9, 21);
  tq::dequantize(q, wanted);
  Eigen::Matrix<Eigen::half, Eigen::Dynamic, Eigen::Dynamic> halves(9, 21);
  Eigen::Matrix<Eigen::bfloat16, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> bfloats(9, 21);
  Eigen::MatrixXd doubles(9, 21);
  tq::dequantize(q, halves);
  tq::dequantize(q, bfloats);
  tq::dequantize(q, doubles);
  CHECK(halves == wanted.cast<Eigen::half>());
  CHECK(bfloats == wanted.cast<Eigen::bfloat16>());
  CHECK(doubles == wanted.cast<double>());
}

TEST_CASE("a strided vector takes the place of a span", "[eigen]") {
  using W4 = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
  const RowMajor m = sample<RowMajor>(3, 4);
  const W4 params = tq::calibrate<W4>(m);
  const RowMajor expected = tq::fake_quantize(m, params);
  const Eigen::Map<const Eigen::RowVectorXf> flat(expected.data(), 12);
  ColMajor big = ColMajor::Zero(5, 12);
  tq::fake_quantize(m, params, big.row(1));
  CHECK(big.row(1) == flat);
  tq::dequantize(tq::quantize(m, params), big.row(2));
  CHECK(big.row(2) == flat);
  CHECK(big.row(0).isZero());
  CHECK(tq::compare(expected, big.row(1)).max_abs == 0);
  Eigen::Matrix<std::int8_t, Dynamic, Dynamic> codes(2, 12);
  codes.setZero();
  tq::quantize(m, params, codes.row(1));
  CHECK(codes.row(0).isZero());
  ColMajor back(3, 4);
  tq::dequantize(tq::view(codes.row(1)), params, tq::view(back));
  CHECK(back == expected);
}

TEST_CASE("expressions are evaluated first", "[eigen]") {
  using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  const ColMajor a = sample<ColMajor>(8, 12), b = sample<ColMajor>(8, 12) * 0.25f;
  const ColMajor sum = a + b;
  const W8 params = tq::calibrate<W8>(a + b);
  CHECK(params == tq::calibrate<W8>(sum));
  CHECK(tq::fake_quantize(a + b, params) == tq::fake_quantize(sum, params));
  CHECK(tq::quantize_codes(a + b, params) == tq::quantize_codes(sum, params));
  CHECK(std::ranges::equal(tq::quantize(a + b, params).codes(), tq::quantize(sum, params).codes()));
  CHECK(tq::calibrate<W8>(a * b.transpose()).scales().size() == 8);
  CHECK(tq::calibrate<W8>(a.cast<double>().cast<float>()) == tq::calibrate<W8>(a));
  static_assert(Calibratable<W8, ColMajor>);
  static_assert(Calibratable<W8, Eigen::MatrixXd>);
  static_assert(!tq::Readable<Eigen::MatrixXi>);
  static_assert(!tq::interop::EigenStorage<decltype(a + b)>);
  static_assert(tq::interop::EigenStorage<decltype(a.transpose())>);
}

TEST_CASE("observers take views", "[eigen]") {
  using A8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  const ColMajor m = sample<ColMajor>(20, 30);
  tq::Observer<tq::MinMax> observer;
  observer.observe(tq::view(m.leftCols(11)));
  observer.observe(tq::view(m.rightCols(19)));
  CHECK(tq::calibrate<A8>(observer) == tq::calibrate<A8>(m));
}

TEST_CASE("empty matrices are legal, and their parameters are those of zeros", "[eigen]") {
  using W8 = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  const W8 params(0.5f);
  const ColMajor none(0, 5);
  const Eigen::VectorXf nothing;
  CHECK(tq::view(none).shape() == tq::Shape{0, 5});
  CHECK(tq::view(nothing).shape() == tq::Shape{0});
  CHECK(tq::quantize(none, params).size() == 0);
  CHECK(tq::fake_quantize(none, params).cols() == 5);
  CHECK(tq::quantize_codes(nothing, params).size() == 0);
  CHECK(tq::to_eigen(tq::quantize(none, params)).cols() == 5);
  CHECK(tq::compare(none, none).count == 0);
  CHECK(tq::calibrate<W8>(none) == W8(1.0f));
}

TEST_CASE("errors are those of the operations", "[eigen]") {
  using W8 = tq::QuantParams<tq::int8, tq::PerChannel<0>, tq::Symmetric>;
  const ColMajor m = sample<ColMajor>(4, 6);
  const W8 params = tq::calibrate<W8>(m);
  const auto code = [](auto&& f) {
    try {
      f();
    } catch (const tq::error& e) {
      return e.code();
    }
    return tq::errc::ok;
  };
  ColMajor wrong(4, 5);
  CHECK(code([&] { return tq::quantize(m.transpose(), params); }) == tq::errc::shape_mismatch);
  CHECK(code([&] { return tq::fake_quantize(m, params, wrong); }) == tq::errc::shape_mismatch);
  CHECK(code([&] { return tq::compare(m, wrong); }) == tq::errc::shape_mismatch);
  CHECK(code([&] { return tq::calibrate<Params<tq::PerChannel<1>>>(m.row(0)); }) ==
        tq::errc::bad_axis);
  CHECK(code([&] {
          return tq::calibrate<W8>(
              ColMajor::Constant(2, 2, std::numeric_limits<float>::quiet_NaN()));
        }) == tq::errc::no_data);
}
