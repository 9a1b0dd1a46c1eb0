// SPDX-License-Identifier: MIT
#include <tq/core/tensor_view.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

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
