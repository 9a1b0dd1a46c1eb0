// SPDX-License-Identifier: MIT
#include <tq/core/real_tensor.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

struct NotAReal {};
struct Converts {
  operator tq::ConstTensorView() const;
};

static_assert(tq::RealTensor<std::vector<float>> && tq::RealTensor<std::span<double>>);
static_assert(tq::RealTensor<std::array<tq::float16, 3>> && tq::RealTensor<tq::bfloat16[4]>);
static_assert(tq::RealTensor<tq::TensorView<const float>> &&
              tq::RealTensor<tq::TensorView<double>>);
static_assert(!tq::RealTensor<std::vector<int>> && !tq::RealTensor<tq::TensorView<std::uint16_t>>);
static_assert(!tq::RealTensor<std::list<float>> && !tq::RealTensor<std::vector<bool>>);
static_assert(!tq::RealTensor<float> && !tq::RealTensor<NotAReal> && !tq::RealTensor<std::string>);
static_assert(!tq::RealTensor<tq::Shape>);

static_assert(tq::OtherRealTensor<std::vector<double>> && !tq::OtherRealTensor<std::vector<float>>);
static_assert(!tq::OtherRealTensor<tq::TensorView<float>>);

static_assert(tq::TensorSource<std::vector<double>> && tq::TensorSource<tq::TensorView<float>>);
static_assert(tq::TensorSource<Converts> && !tq::RealTensor<Converts>);
static_assert(!tq::TensorSource<std::vector<int>> && !tq::TensorSource<NotAReal>);

static_assert(std::same_as<tq::real_of<std::span<const double>>, double>);
static_assert(std::same_as<tq::real_of<tq::TensorView<const tq::float16>>, tq::float16>);

}  // namespace

TEST_CASE("a range is a view of rank 1, and a view stays as it is", "[real_tensor]") {
  std::vector<double> x{1, 2, 3, 4};
  const tq::TensorView<const double> all = tq::detail::view_of(x);
  CHECK(all.data() == x.data());
  CHECK(all.shape() == tq::Shape{4});
  const tq::TensorView<double> columns(x.data(), {2, 2}, {1, 2});
  const tq::TensorView<const double> same = tq::detail::view_of(columns);
  CHECK(same.shape() == tq::Shape{2, 2});
  CHECK(same.strides() == columns.strides());
  CHECK(&tq::detail::view_of(all) == &all);
}
