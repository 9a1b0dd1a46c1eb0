// SPDX-License-Identifier: MIT
#include <tq/core/formats.hpp>
#include <tq/linear/grouped_weights.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {

using tq::GroupedWeights;
using tq::Shape;

template <class Params, class Pack = tq::LowFirst>
tq::QuantizedTensor<Params, Pack> weights(std::size_t outputs, std::size_t inputs,
                                          typename Params::granularity_type granularity = {}) {
  inputs::Random r(7);
  std::vector<float> w(outputs * inputs);
  for (float& v : w) v = static_cast<float>(r.normal());
  return tq::quantize_dynamic<Params, Pack>(tq::ConstTensorView(w.data(), Shape{outputs, inputs}),
                                            granularity);
}

template <class Type, int Size>
using Grouped = tq::QuantParams<Type, tq::PerGroup<Size>, tq::Asymmetric>;

}  // namespace

TEST_CASE("groups are what blocks span along the inputs, and are packed in whole units") {
  const auto shapes = [](const GroupedWeights& w, std::size_t group, std::size_t groups,
                         std::size_t padded) {
    CHECK(w.group_size() == group);
    CHECK(w.groups() == groups);
    CHECK(w.padded_group_size() == padded);
  };
  shapes(GroupedWeights(weights<Grouped<tq::uint4, 32>>(5, 100)), 32, 4, 32);
  shapes(GroupedWeights(weights<Grouped<tq::uint4, 20>>(5, 100)), 20, 5, 32);
  shapes(GroupedWeights(weights<tq::nvfp4>(5, 40)), 16, 3, 16);
  shapes(GroupedWeights(weights<Grouped<tq::uint3, 16>>(5, 40)), 16, 3, 32);
  using Rows = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>;
  shapes(GroupedWeights(weights<Rows>(5, 40)), 40, 1, 48);
  using Blocks = tq::QuantParams<tq::int8, tq::PerBlock<2, 16>, tq::Symmetric>;
  shapes(GroupedWeights(weights<Blocks>(5, 40)), 16, 3, 16);
}

TEST_CASE("weights take the bits of their levels, and groups a scale and at most a zero point") {
  const std::size_t n = 64, k = 256, groups = n * k / 32;
  CHECK(GroupedWeights(weights<Grouped<tq::uint2, 32>>(n, k)).bytes() == n * k / 4 + groups * 5);
  CHECK(GroupedWeights(weights<Grouped<tq::uint3, 32>>(n, k)).bytes() ==
        n * k * 3 / 8 + groups * 5);
  CHECK(GroupedWeights(weights<Grouped<tq::uint4, 32>>(n, k)).bytes() == n * k / 2 + groups * 5);
  using Symmetric = tq::QuantParams<tq::int4, tq::PerGroup<32>, tq::Symmetric>;
  CHECK(GroupedWeights(weights<Symmetric>(n, k)).bytes() == n * k / 2 + groups * 4);
  CHECK(GroupedWeights(weights<tq::mxfp4>(n, k)).bytes() == n * k / 2 + groups * 4);
  CHECK(GroupedWeights(weights<Grouped<tq::int8, 32>>(n, k)).bytes() == n * k + groups * 5);
}

TEST_CASE("every packing of codes gives the same packed weights") {
  using Params = Grouped<tq::uint4, 32>;
  const GroupedWeights low(weights<Params, tq::LowFirst>(9, 70));
  const GroupedWeights high(weights<Params, tq::HighFirst>(9, 70));
  const GroupedWeights plain(weights<Params, tq::Unpacked>(9, 70));
  const std::size_t bytes = low.groups() * low.padded_group_size() * 16;
  const auto codes = [&](const GroupedWeights& w) {
    return std::vector<std::uint8_t>(w.panel(0).codes, w.panel(0).codes + bytes);
  };
  CHECK(codes(low) == codes(high));
  CHECK(codes(low) == codes(plain));
}

TEST_CASE("what cannot be weights in groups is refused") {
  using Params = tq::QuantParams<tq::int4, tq::PerTensor, tq::Symmetric>;
  test::raises(tq::errc::shape_mismatch, {"[outputs, inputs]", "[6]"}, [] {
    GroupedWeights(tq::QuantizedTensor<Params, tq::Unpacked>(Shape{6}, Params(1.0f),
                                                             tq::Buffer<std::byte>(6)));
  });
  const std::size_t many = 65537;
  test::raises(tq::errc::bad_group_size, {"at most 65536", "65537"},
               [&] { GroupedWeights(weights<Params>(1, many)); });
  using Small = tq::QuantParams<tq::float4_e2m1fn, tq::PerGroup<32>, tq::Symmetric>;
  tq::Buffer<std::byte> zeros(2);
  std::ranges::fill(zeros.span(), std::byte{0});
  test::raises(tq::errc::bad_scale, {"half", "group 0 of output 1"}, [&] {
    GroupedWeights(tq::QuantizedTensor<Small, tq::Unpacked>(
        Shape{2, 1}, Small(tq::PerGroup<32>(), {1.0f, 1e-45f}), zeros));
  });
  tq::Buffer<std::byte> codes(1);
  codes.data()[0] = std::byte{9};  // above those of int4
  test::raises(tq::errc::bad_argument, {"9"}, [&] {
    GroupedWeights(tq::QuantizedTensor<Params, tq::Unpacked>(Shape{1, 1}, Params(1.0f), codes));
  });
}

TEST_CASE("parts of weights in groups that do not belong together are refused") {
  const auto made = [](auto&& change) {
    tq::GroupedCodes codes{tq::WeightLevels::of<tq::ternary>(),
                           Shape{2, 20},
                           Shape{1, 16},
                           tq::Buffer<std::uint8_t>(40),
                           std::vector<float>(4, 0.5f),
                           {}};
    std::ranges::fill(codes.packed.span(), std::uint8_t{2});
    change(codes);
    return GroupedWeights(codes);
  };
  using Codes = tq::GroupedCodes;
  CHECK(made([](Codes&) {}).map().zero == 1);
  CHECK(made([](Codes& c) { c.zeros = {2, 2, 2, 2}; }).map().zero == 2);
  CHECK(made([](Codes& c) { c.zeros = {2, 2, 0, 2}; }).has_zero_points());
  const auto refuse = [&](tq::errc code, std::initializer_list<const char*> parts, auto&& change) {
    test::raises(code, parts, [&] { (void)made(change); });
  };
  refuse(tq::errc::shape_mismatch, {"[outputs, inputs]", "[2, 4, 5]"},
         [](Codes& c) { c.shape = Shape{2, 4, 5}; });
  refuse(tq::errc::shape_mismatch, {"number of codes", "42", "40"},
         [](Codes& c) { c.shape = Shape{2, 21}; });
  refuse(tq::errc::shape_mismatch, {"number of scales", "of 4", "3"},
         [](Codes& c) { c.scales.pop_back(); });
  refuse(tq::errc::shape_mismatch, {"number of zero levels", "of 4", "1"},
         [](Codes& c) { c.zeros = {1}; });
  refuse(tq::errc::bad_group_size, {"at least 1", "0"}, [](Codes& c) { c.block = Shape{1, 0}; });
  refuse(tq::errc::bad_zero_point, {"from 0 to 2", "3"}, [](Codes& c) { c.zeros = {1, 1, 3, 1}; });
  refuse(tq::errc::bad_argument, {"packed codes", "3 at element 39"},
         [](Codes& c) { c.packed.data()[39] = 3; });
  for (const float bad : {0.0f, -1.0f, HUGE_VALF, NAN})
    refuse(tq::errc::bad_scale, {"positive finite", "group 1 of output 1"},
           [&](Codes& c) { c.scales[3] = bad; });
  // Blocks of code books may have nothing but zeros, or no numbers.
  const GroupedWeights coded = made([](Codes& c) {
    c.map = tq::WeightLevels::of<tq::nf4>();
    c.scales = {0.0f, NAN, 1.0f, 1.0f};
  });
  CHECK(coded.scales()[0] == 0.0f);
  CHECK(made([](Codes& c) {
          c.map = tq::WeightLevels::of<tq::nf4>();
          c.scales = {-2.0f, 1.0f, 1.0f, 1.0f};
        }).scales()[0] == -2.0f);
  CHECK(made([](Codes& c) { c.offsets = {1.0f, 2.0f, 3.0f, -4.0f}; }).offsets()[33] == -4.0f);
  refuse(tq::errc::shape_mismatch, {"number of offsets", "of 4", "1"},
         [](Codes& c) { c.offsets = {1.0f}; });
  refuse(tq::errc::not_finite, {"finite offsets", "nan", "group 1 of output 1"},
         [](Codes& c) { c.offsets = {1.0f, 2.0f, 3.0f, NAN}; });
  CHECK(std::isnan(coded.scales()[32]));
  refuse(tq::errc::bad_zero_point, {"of integers"}, [](Codes& c) {
    c.map = tq::WeightLevels::of<tq::nf4>();
    c.zeros = {1, 1, 1, 1};
  });
}
