// SPDX-License-Identifier: MIT
#include <tq/linear/byte_weights.hpp>
#include <tq/ops/quantize_dynamic.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {
using tq::ByteWeights;
using tq::Shape;
using tq::TensorView;
using Numbers = std::vector<std::int32_t>;

template <class Granularity>
using Nibbles = tq::QuantParams<tq::uint4, Granularity, tq::Asymmetric>;

Numbers numbers(std::span<const std::int32_t> values) { return {values.begin(), values.end()}; }
}  // namespace

TEST_CASE("quantized weights come apart into bytes and parameters, unsigned ones 128 lower") {
  const auto w = inputs::normals(2 * 3 * 5, 1);
  const TensorView<const float> view(w.data(), Shape{2, 3, 5});
  const auto q = tq::quantize_dynamic<Nibbles<tq::PerChannel<0>>>(view);
  const ByteWeights bytes(q);
  CHECK(bytes.shape() == Shape{2, 3, 5});
  const auto plain = tq::quantize_dynamic<Nibbles<tq::PerChannel<0>>, tq::Unpacked>(view);
  bool equal = true;
  for (std::size_t i = 0; i < w.size(); ++i)
    equal = equal && bytes.codes().data()[i] + 128 == plain.codes()[i];
  CHECK(equal);
  CHECK(std::ranges::equal(bytes.scales(), q.params().scales()));
  CHECK(numbers(bytes.zero_points()) ==
        Numbers{q.params().zero_points()[0] - 128, q.params().zero_points()[1] - 128});

  using Signed = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  const auto whole = tq::quantize_dynamic<Signed, tq::Unpacked>(view);
  const ByteWeights same(whole);
  CHECK(std::ranges::equal(same.codes().flat(), whole.codes()));
  CHECK(same.scales().size() == 1);
  CHECK(same.zero_points().empty());

  using Positive = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Symmetric>;
  CHECK(numbers(ByteWeights(tq::quantize_dynamic<Positive>(view)).zero_points()) == Numbers{-128});
  CHECK(ByteWeights(whole).reshaped(Shape{2, 1, 3, 5}).codes().shape() == Shape{2, 1, 3, 5});
}

TEST_CASE("a group as long as a row is one of an output, and so is a row without inputs") {
  const auto w = inputs::normals(30, 1);
  const auto scales = [&]<class G>(const Shape& shape, G) {
    const auto q = tq::quantize_dynamic<Nibbles<G>>(TensorView<const float>(w.data(), shape));
    return ByteWeights(q).scales().size();
  };
  CHECK(scales(Shape{2, 15}, tq::PerGroup<16>{}) == 2);
  CHECK(scales(Shape{2, 0}, tq::PerChannel<0>{}) == 2);
  CHECK(scales(Shape{2, 0}, tq::PerTensor{}) == 1);
  CHECK(scales(Shape{0, 2}, tq::PerChannel<0>{}) == 0);
}

TEST_CASE("weights with parameters of groups, or of another axis, are refused") {
  const std::vector<float> w(24, 1.0f);
  const TensorView<const float> view(w.data(), Shape{4, 6});
  test::raises(tq::errc::unsupported, {"ByteWeights", "one for each output", "12", "[4, 6]"},
               [&] { ByteWeights(tq::quantize_dynamic<Nibbles<tq::PerGroup<2>>>(view)); });
  const TensorView<const float> square(w.data(), Shape{4, 4});
  test::raises(tq::errc::unsupported, {"one for each output", "4 parameters", "[4, 4]"},
               [&] { ByteWeights(tq::quantize_dynamic<Nibbles<tq::PerChannel<1>>>(square)); });
}

TEST_CASE("parts that do not belong together are refused") {
  const std::vector<std::int8_t> codes(6);
  const auto made = [&](const Shape& shape, std::vector<float> scales, Numbers zero_points) {
    return ByteWeights(std::span<const std::int8_t>(codes), shape, Shape{1, 3}, std::move(scales),
                       std::move(zero_points));
  };
  CHECK(numbers(made(Shape{2, 3}, {1.0f, 2.0f}, {3, 4}).zero_points()) == Numbers{3, 4});
  test::raises(tq::errc::shape_mismatch, {"number of codes", "8", "6"},
               [&] { (void)made(Shape{2, 4}, {1.0f}, {}); });
  test::raises(tq::errc::shape_mismatch, {"number of zero points", "2", "1"},
               [&] { (void)made(Shape{2, 3}, {1.0f, 2.0f}, {3}); });
  test::raises(tq::errc::unsupported, {"one for each output", "3 parameters"},
               [&] { (void)made(Shape{2, 3}, {1.0f, 2.0f, 3.0f}, {}); });
}

TEST_CASE("scales and zero points that weights cannot have are refused as they came") {
  const auto make = [](auto code, std::vector<float> scales, Numbers zero_points) {
    using Code = decltype(code);
    const std::vector<Code> codes(6, Code{5});
    return ByteWeights(std::span<const Code>(codes), Shape{2, 3}, Shape{1, 3}, std::move(scales),
                       std::move(zero_points));
  };
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {0.0f, -0.0f, -1.0f, inf, -inf, std::nanf("")})
    for (const int place : {0, 1}) {
      std::vector<float> scales{1.0f, 1.0f};
      scales[static_cast<std::size_t>(place)] = bad;
      test::raises(tq::errc::bad_scale,
                   {"tq::ByteWeights", place == 0 ? "parameter 0" : "parameter 1"},
                   [&] { (void)make(std::int8_t{}, scales, {}); });
    }
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min(),
                         most = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t bad : {least, -1, 256, 300, most})
    test::raises(tq::errc::bad_zero_point,
                 {"from 0 to 255", ("got " + std::to_string(bad)).c_str()},
                 [&] { (void)make(std::uint8_t{}, {1.0f, 1.0f}, {0, bad}); });
  for (const std::int32_t bad : {least, -129, 128, most})
    test::raises(tq::errc::bad_zero_point,
                 {"from -128 to 127", ("got " + std::to_string(bad)).c_str()},
                 [&] { (void)make(std::int8_t{}, {1.0f, 1.0f}, {bad, 0}); });
  CHECK(numbers(make(std::uint8_t{}, {1.0f, 1e-45f}, {0, 255}).zero_points()) ==
        Numbers{-128, 127});
}
