// SPDX-License-Identifier: MIT
#include <tq/core/tensor_view.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {
std::size_t size_of(tq::ConstTensorView v) { return v.size(); }
}  // namespace

TEST_CASE("ranges convert to views of rank 1", "[tensor_view]") {
  std::vector<float> vector(5);
  const std::vector<float> constant(6);
  std::array<float, 7> array{};
  float raw[3] = {};
  CHECK(size_of(vector) == 5);
  CHECK(size_of(constant) == 6);
  CHECK(size_of(array) == 7);
  CHECK(size_of(raw) == 3);
  CHECK(size_of(std::span<float>(vector)) == 5);
  CHECK(size_of(std::span<const float>(constant)) == 6);
  CHECK(size_of(std::vector<float>(9)) == 9);
  const tq::TensorView<float> view = vector;
  CHECK(view.data() == vector.data());
  CHECK(view.shape() == tq::Shape{5});
  CHECK(view.is_contiguous());
  CHECK(view.flat().size() == 5);
}

TEST_CASE("views convert to views of constants, and not back", "[tensor_view]") {
  using Mutable = tq::TensorView<float>;
  STATIC_REQUIRE(std::is_convertible_v<Mutable, tq::ConstTensorView>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Mutable, tq::ConstTensorView>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Mutable, const std::vector<float>&>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<tq::ConstTensorView, std::vector<double>&>);
  STATIC_REQUIRE_FALSE(
      std::is_constructible_v<tq::TensorView<std::int8_t>, std::vector<std::uint8_t>&>);
  STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<Mutable>);
  float x[6] = {};
  const tq::Strides strides{1, 2};
  Mutable v(x, {2, 3}, strides);
  const tq::ConstTensorView c = v;
  CHECK(c.data() == x);
  CHECK(c.shape() == tq::Shape{2, 3});
  CHECK(c.strides() == strides);
  const Mutable copy(v);  // the copy constructor, not the one for ranges
  CHECK(copy.data() == x);
  CHECK(copy.shape() == v.shape());
  CHECK(copy.strides() == strides);
  Mutable other(x + 1, {2, 1, 3});
  other = v;  // one axis less
  CHECK(other.data() == x);
  CHECK(other.shape() == v.shape());
  CHECK(other.strides() == strides);
}

TEST_CASE("row-major strides", "[tensor_view]") {
  CHECK(tq::row_major_strides({2, 3, 4}) == tq::Strides{12, 4, 1});
  CHECK(tq::row_major_strides({}) == tq::Strides{});
  CHECK(tq::row_major_strides({5, 1}) == tq::Strides{1, 1});
}

TEST_CASE("contiguity looks at axes with more than one element only", "[tensor_view]") {
  float x[24] = {};
  const auto contiguous = [&](const tq::Shape& s, const tq::Strides& t) {
    return tq::ConstTensorView(x, s, t).is_contiguous();
  };
  CHECK(contiguous({2, 3, 4}, {12, 4, 1}));
  CHECK_FALSE(contiguous({2, 3, 4}, {1, 2, 6}));
  CHECK_FALSE(contiguous({2, 3}, {4, 1}));
  CHECK(contiguous({2, 1, 3}, {3, 77, 1}));
  CHECK(contiguous({1, 3}, {99, 1}));
  CHECK(contiguous({0, 3}, {5, 7}));
  CHECK(contiguous({}, {}));
  CHECK_FALSE(contiguous({3}, {-1}));
  CHECK_FALSE(contiguous({3}, {0}));
}

TEST_CASE("extents of tensors without elements may overflow strides", "[tensor_view]") {
  constexpr std::size_t huge = std::size_t{1} << 63;
  constexpr tq::Shape shape{0, huge, huge - 1, 8};
  constexpr tq::Strides strides = tq::row_major_strides(shape);  // overflow would be no constant
  static_assert(strides[3] == 1 && strides[2] == 8);
  CHECK(tq::TensorView<float>(nullptr, shape).is_contiguous());
}

namespace {

// The elements in row-major order.
template <class T>
std::vector<T> values(const tq::TensorView<const T>& v) {
  std::vector<T> out;
  for (std::size_t i = 0; i < v.size(); ++i) {
    std::ptrdiff_t at = 0;
    std::size_t rest = i;
    for (int axis = v.shape().rank() - 1; axis >= 0; --axis) {
      at += static_cast<std::ptrdiff_t>(rest % v.shape()[axis]) * v.stride(axis);
      rest /= v.shape()[axis];
    }
    out.push_back(v.data()[at]);
  }
  return out;
}
using Ints = tq::TensorView<const int>;

}  // namespace

TEST_CASE("a slice has some indices of an axis", "[tensor_view]") {
  const std::vector<int> x{0, 1, 2, 3, 4, 5};
  const Ints rows(x.data(), {2, 3});
  CHECK(values(rows.slice(1, 1, 3)) == std::vector<int>{1, 2, 4, 5});
  CHECK(values(rows.slice(-2, 1, 2)) == std::vector<int>{3, 4, 5});
  CHECK(rows.slice(0, 0, 2).shape() == rows.shape());
  const Ints reversed(x.data() + 5, {2, 3}, {-3, -1});
  CHECK(values(reversed.slice(1, 1, 3)) == std::vector<int>{4, 3, 1, 0});
  const Ints none = reversed.slice(0, 2, 2);
  CHECK(none.shape() == tq::Shape{0, 3});
  CHECK(none.data() == reversed.data());  // no address beyond the elements is formed
  const Ints empty(nullptr, {4, 0}, {1000, 1});
  CHECK(empty.slice(0, 2, 4).data() == nullptr);
  test::raises(tq::errc::bad_axis, {"tq::TensorView::"}, [&] { (void)rows.slice(2, 0, 1); });
  test::raises(tq::errc::bad_axis, {"tq::TensorView::"}, [&] { (void)rows.slice(-3, 0, 1); });
  test::raises(tq::errc::bad_axis, {"tq::TensorView::"},
               [&] { (void)Ints(x.data(), {}).slice(0, 0, 1); });
  test::raises(tq::errc::bad_argument, {"tq::TensorView::"}, [&] { (void)rows.slice(1, 2, 4); });
  test::raises(tq::errc::bad_argument, {"tq::TensorView::"}, [&] { (void)rows.slice(1, 2, 1); });
}

TEST_CASE("a transposed view has its axes in another order", "[tensor_view]") {
  const std::vector<int> x{0, 1, 2, 3, 4, 5};
  const Ints rows(x.data(), {2, 3});
  CHECK(rows.transposed().shape() == tq::Shape{3, 2});
  CHECK(values(rows.transposed()) == std::vector<int>{0, 3, 1, 4, 2, 5});
  const Ints cube(x.data(), {1, 2, 3});
  CHECK(cube.transposed().shape() == tq::Shape{3, 2, 1});
  CHECK(values(cube.transposed()) == std::vector<int>{0, 3, 1, 4, 2, 5});
  CHECK(cube.transposed(0, -1).shape() == tq::Shape{3, 2, 1});
  CHECK(cube.transposed(1, 2).shape() == tq::Shape{1, 3, 2});
  CHECK(values(cube.transposed(1, 1)) == x);
  CHECK(values(Ints(x.data() + 5, {2, 3}, {-3, -1}).transposed()) ==
        std::vector<int>{5, 2, 4, 1, 3, 0});
  CHECK(Ints(x.data(), {}).transposed().size() == 1);
  test::raises(tq::errc::bad_axis, {"tq::TensorView::"}, [&] { (void)cube.transposed(0, 3); });
  test::raises(tq::errc::bad_axis, {"tq::TensorView::"}, [&] { (void)cube.transposed(-4, 0); });
}

TEST_CASE("a reshaped view has the elements in row-major order", "[tensor_view]") {
  std::vector<int> x(24);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i);
  const auto same = [&](const Ints& v, const tq::Shape& shape) {
    const Ints made = v.reshaped(shape);
    CHECK(made.shape() == shape);
    CHECK(values(made) == values(v));
  };
  const Ints cube(x.data(), {2, 3, 4});
  for (const tq::Shape& shape : {tq::Shape{24}, tq::Shape{6, 4}, tq::Shape{1, 2, 12},
                                 tq::Shape{3, 8, 1}, tq::Shape{4, 3, 2}})
    same(cube, shape);
  const Ints reversed(x.data() + 23, {2, 3, 4}, {-12, -4, -1});
  same(reversed, {8, 3});
  const Ints every_other(x.data(), {3, 4}, {8, 2});
  same(every_other, {12});
  same(every_other, {2, 6});
  const Ints apart(x.data(), {2, 2, 3}, {12, 3, 1});  // rows of six, twelve apart
  same(apart, {2, 6});
  same(apart, {2, 1, 3, 2});
  same(apart, {1, 2, 3, 2, 1});
  test::raises(tq::errc::not_contiguous, {"tq::TensorView::"}, [&] { (void)apart.reshaped({12}); });
  test::raises(tq::errc::not_contiguous, {"tq::TensorView::"},
               [&] { (void)apart.reshaped({3, 4}); });
  test::raises(tq::errc::not_contiguous, {"tq::TensorView::"},
               [&] { (void)cube.transposed().reshaped({24}); });
  same(cube.transposed(0, 1), {3, 2, 2, 2});
  const Ints repeated(x.data(), {3, 2}, {0, 1});
  same(repeated, {3, 1, 2});
  test::raises(tq::errc::not_contiguous, {"tq::TensorView::"},
               [&] { (void)repeated.reshaped({6}); });
  same(Ints(x.data(), {2, 3}, {0, 0}), {6});
  // A stride along an axis of one element means nothing.
  constexpr std::ptrdiff_t far = std::numeric_limits<std::ptrdiff_t>::max();
  same(Ints(x.data(), {3, 1, 2}, {2, far, 1}), {6});
  same(Ints(x.data(), {1}, {far}), {});
  same(Ints(x.data(), {}), {1, 1});
  same(Ints(nullptr, {0, 5}, {far, -far}), {5, 0, 7});
  constexpr std::size_t large = std::size_t{1} << (4 * sizeof(std::size_t));
  test::raises(tq::errc::shape_mismatch, {"tq::TensorView::"},
               [&] { (void)cube.reshaped({2, 3}); });
  test::raises(tq::errc::shape_mismatch, {"tq::TensorView::"}, [&] { (void)cube.reshaped({}); });
  test::raises(tq::errc::bad_argument, {"tq::TensorView::"},
               [&] { (void)Ints(x.data(), {large, large}, {0, 0}).reshaped({large, large}); });
}

TEST_CASE("a temporary is an argument of a call", "[tensor_view]") {
  const auto make = [] { return std::vector<float>{1.0f, 2.0f, 4.0f}; };
  const auto last = [](const tq::ConstTensorView& x) { return x.data()[x.size() - 1]; };
  CHECK(last(make()) == 4.0f);
  CHECK(last(std::array<float, 2>{3.0f, 8.0f}) == 8.0f);
  std::vector<float> named = make();
  CHECK(tq::TensorView<float>(std::span<float>(named)).data() == named.data());
}
