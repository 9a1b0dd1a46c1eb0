// SPDX-License-Identifier: MIT
#include <tq/core/as_tensor.hpp>
#include <tq/core/detail/read.hpp>
#include <tq/core/readable.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/tensor_types.hpp"

namespace {

using tensor_types::Mdspan;
using tensor_types::Xtensor;
using tq::Shape;
using tq::Strides;
using tq::TensorView;

struct NotAReal {};
struct Converts {
  operator tq::ConstTensorView() const { return {nullptr, {0}}; }
};
struct ConvertsToFloats {
  operator TensorView<float>() const { return {nullptr, {0}}; }
};
struct ConvertsToOutput {
  operator TensorView<double>() const { return {nullptr, {0}}; }
};
// A tensor by tensor_adapter, whose elements live elsewhere.
struct Handle {
  float* data;
  std::size_t size;
};
// An expression, which has elements once it is evaluated.
struct Sum {
  float a, b;
};

// Views, as text: "[2, 3] 3 1".
template <class T>
std::string layout(const TensorView<T>& v) {
  std::string text = to_string(v.shape());
  for (int i = 0; i < v.shape().rank(); ++i) text += " " + std::to_string(v.stride(i));
  return text;
}

}  // namespace

template <>
struct tq::tensor_adapter<Handle> {
  static constexpr bool owns = false;
  static TensorView<float> view(const Handle& h) { return {h.data, {h.size}}; }
};
template <>
struct tq::tensor_adapter<Sum> {
  static constexpr bool owns = true;
  static std::array<float, 1> hold(const Sum& s) { return {s.a + s.b}; }
};

static_assert(tq::Readable<std::vector<float>> && tq::Readable<std::span<double>>);
static_assert(tq::Readable<std::array<tq::float16, 3>> && tq::Readable<tq::bfloat16[4]>);
static_assert(tq::Readable<TensorView<const float>> && tq::Readable<TensorView<double>>);
static_assert(!tq::Readable<std::vector<int>> && !tq::Readable<TensorView<std::uint16_t>>);
static_assert(!tq::Readable<std::list<float>> && !tq::Readable<std::vector<bool>>);
static_assert(!tq::Readable<float> && !tq::Readable<NotAReal> && !tq::Readable<std::string>);
static_assert(!tq::Readable<Shape> && !tq::Readable<std::vector<std::vector<float>>>);
static_assert(tq::Readable<Converts> && tq::Readable<Handle> && tq::Readable<Sum>);
static_assert(tq::Readable<Mdspan<double, 2>> && tq::Readable<Xtensor<tq::float16>>);
static_assert(tq::Readable<somebody::Matrix<float>> && !tq::Readable<somebody::Matrix<int>>);
static_assert(tq::Readable<std::vector<std::array<double, 3>>> && tq::Readable<float[2][3]>);
// As in core/real.hpp: g++ 12 has the type in C++ on x86 only.
#if defined(__FLT16_MANT_DIG__) && !defined(__clang__) && (__GNUC__ >= 13 || defined(__SSE2__))
static_assert(tq::Readable<std::vector<_Float16>>);
#endif

static_assert(std::same_as<tq::real_of<std::span<const double>>, double>);
static_assert(std::same_as<tq::real_of<TensorView<const tq::float16>>, tq::float16>);
static_assert(std::same_as<tq::real_of<Sum>, float>);

static_assert(std::same_as<tq::element_of<std::vector<float>&>, float>);
static_assert(std::same_as<tq::element_of<const std::vector<float>&>, const float>);
static_assert(std::same_as<tq::element_of<const std::span<float>>, float>);
static_assert(std::same_as<tq::element_of<const somebody::Matrix<int>>, const int>);
static_assert(std::same_as<tq::element_of<int[2][3]>, int>);
static_assert(std::same_as<tq::element_of<const std::array<std::array<int, 3>, 2>>, const int>);
static_assert(std::same_as<tq::element_of<NotAReal>, void>);

static_assert(tq::Writable<std::vector<float>&, float>);
static_assert(!tq::Writable<std::vector<float>, float>);  // a temporary
static_assert(!tq::Writable<const std::vector<float>&, float>);
static_assert(!tq::Writable<std::vector<float>&, double>);
static_assert(tq::Writable<std::span<float>, float> && tq::Writable<TensorView<float>, float>);
static_assert(tq::Writable<Mdspan<float, 2>, float> &&
              !tq::Writable<Mdspan<const float, 2>, float>);
static_assert(tq::Writable<Handle, float> && tq::Writable<const Handle&, float>);
static_assert(tq::Writable<somebody::Matrix<int>&, int> &&
              !tq::Writable<somebody::Matrix<int>, int>);
static_assert(tq::Writable<ConvertsToFloats, float> && tq::Writable<ConvertsToFloats&, float>);
static_assert(tq::Writable<ConvertsToOutput, double> && !tq::Writable<Sum&, float>);

TEST_CASE("a range is of rank 1, and arrays inside it are further axes", "[as_tensor]") {
  std::vector<double> flat{1, 2, 3, 4};
  CHECK(tq::as_tensor(flat).data() == flat.data());
  CHECK(layout(tq::as_tensor(flat)) == "[4] 1");
  float nested[2][3] = {};
  CHECK(layout(tq::as_tensor(nested)) == "[2, 3] 3 1");
  CHECK(tq::as_tensor(nested).data() == &nested[0][0]);
  static_assert(std::same_as<decltype(tq::as_tensor(nested)), TensorView<float>>);
  const std::array<std::array<std::array<std::int8_t, 4>, 3>, 2> deep{};
  CHECK(layout(tq::as_tensor(deep)) == "[2, 3, 4] 12 4 1");
  static_assert(std::same_as<decltype(tq::as_tensor(deep)), TensorView<const std::int8_t>>);
  std::vector<std::array<float, 3>> rows(5);
  CHECK(layout(tq::as_tensor(rows)) == "[5, 3] 3 1");
  CHECK(layout(tq::as_tensor(std::span(rows).first(2))) == "[2, 3] 3 1");
  rows.clear();
  CHECK(tq::as_tensor(rows).shape() == Shape{0, 3});
  std::vector<std::array<float, 0>> nothing(5);
  CHECK(tq::as_tensor(nothing).shape() == Shape{5, 0});
}

TEST_CASE("views, mdspans and strided containers keep shape and strides", "[as_tensor]") {
  std::vector<float> x(24);
  const TensorView<float> columns(x.data(), {2, 3}, {1, 2});
  CHECK(layout(tq::as_tensor(columns)) == "[2, 3] 1 2");
  static_assert(std::same_as<decltype(tq::as_tensor(columns)), TensorView<float>>);
  const Mdspan<float, 3> span(x.data() + 23, {2, 3, 4}, {-12, -4, -1});
  CHECK(layout(tq::as_tensor(span)) == "[2, 3, 4] -12 -4 -1");
  CHECK(tq::as_tensor(span).data() == x.data() + 23);
  const Mdspan<const float, 0> scalar(x.data(), {}, {});
  CHECK(tq::as_tensor(scalar).size() == 1);
  Xtensor<float> own(x, {2, 3}, {3, 1});
  CHECK(layout(tq::as_tensor(own)) == "[2, 3] 3 1");
  CHECK(tq::as_tensor(own).data() == own.data());
  const Xtensor<float> part(x, {2, 1, 2}, {-8, 0, 2}, 9);
  CHECK(layout(tq::as_tensor(part)) == "[2, 1, 2] -8 0 2");
  CHECK(tq::as_tensor(part).data() == part.data() + 9);
  static_assert(std::same_as<decltype(tq::as_tensor(part)), tq::ConstTensorView>);
}

TEST_CASE("a user's type and an adapter are tensors", "[as_tensor]") {
  somebody::Matrix<float> m{std::vector<float>(6), 2, 3};
  CHECK(layout(tq::as_tensor(m)) == "[2, 3] 1 2");
  tq::as_tensor(m).data()[1] = 4;
  CHECK(m.data[1] == 4);
  static_assert(std::same_as<decltype(tq::as_tensor(std::as_const(m))), tq::ConstTensorView>);
  float x[3] = {};
  CHECK(tq::as_tensor(Handle{x, 3}).data() == x);
  CHECK(tq::detail::read(Sum{1, 2}).view().data()[0] == 3);
}

TEST_CASE("a flat tensor gets its shape", "[as_tensor]") {
  std::vector<float> x(6);
  CHECK(layout(tq::as_tensor(x, {2, 3})) == "[2, 3] 3 1");
  CHECK(layout(tq::as_tensor(std::as_const(x), {3, 2})) == "[3, 2] 2 1");
  CHECK(layout(tq::as_tensor(x.data(), {1, 6})) == "[1, 6] 6 1");
  float array[6] = {};
  CHECK(layout(tq::as_tensor(array, {2, 3})) == "[2, 3] 3 1");
  CHECK(tq::as_tensor(x, {6, 1}).data() == x.data());
  std::vector<float> none;
  CHECK(tq::as_tensor(none, {0, 3}).size() == 0);
  constexpr std::size_t large = std::size_t{1} << (4 * sizeof(std::size_t));
  test::raises(tq::errc::shape_mismatch, {"tq::as_tensor"},
               [&] { (void)tq::as_tensor(x, {2, 4}); });
  test::raises(tq::errc::bad_argument, {"tq::as_tensor"},
               [&] { (void)tq::as_tensor(x, {large, large}); });
  test::raises(tq::errc::bad_argument, {"tq::as_tensor"},
               [&] { (void)tq::as_tensor(x.data(), {large, large}); });
  const TensorView<float> columns(x.data(), {2, 3}, {1, 2});
  test::raises(tq::errc::not_contiguous, {"tq::as_tensor"},
               [&] { (void)tq::as_tensor(columns, {6}); });
}

TEST_CASE("tensors that no view can have are refused", "[as_tensor]") {
  const Xtensor<float> nine(std::vector<float>(1), std::vector<std::size_t>(9, 1),
                            std::vector<std::ptrdiff_t>(9, 1));
  test::raises(tq::errc::rank_too_large, {"tq::as_tensor"}, [&] { (void)tq::as_tensor(nine); });
  const Xtensor<float> uneven(std::vector<float>(4), {2, 2}, {1});
  test::raises(tq::errc::shape_mismatch, {"tq::as_tensor"}, [&] { (void)tq::as_tensor(uneven); });
  constexpr std::size_t large = std::size_t{1} << (4 * sizeof(std::size_t));
  const Xtensor<float> wraps(std::vector<float>(1), {large, large}, {0, 0});
  test::raises(tq::errc::bad_argument, {"tq::as_tensor"}, [&] { (void)tq::as_tensor(wraps); });
}

TEST_CASE("reading refers to a view that is there", "[as_tensor]") {
  std::vector<double> x{1, 2, 3, 4};
  const TensorView<const double> all = tq::detail::read(x).view();
  CHECK(all.data() == x.data());
  CHECK(all.shape() == Shape{4});
  const TensorView<double> columns(x.data(), {2, 2}, {1, 2});
  const TensorView<const double> same = tq::detail::read(columns).view();
  CHECK(same.shape() == Shape{2, 2});
  CHECK(same.strides() == columns.strides());
  CHECK(&tq::detail::read(all).view() == &all);
}
