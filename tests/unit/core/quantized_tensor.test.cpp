// SPDX-License-Identifier: MIT
#include <tq/core/quantized_tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "support/catch.hpp"
#include "support/error_check.hpp"

namespace {
using Params = tq::QuantParams<tq::int4, tq::PerChannel<0>, tq::Symmetric>;
}  // namespace

TEST_CASE("a quantized tensor has room for its codes", "[quantized_tensor]") {
  const tq::QuantizedTensor<Params> packed({2, 3}, Params({}, {1.0f, 2.0f}));
  CHECK(packed.bytes().size() == 3);
  CHECK(packed.size() == 6);
  CHECK(packed.shape() == tq::Shape{2, 3});
  CHECK(packed.params().scales()[1] == 2.0f);
  tq::QuantizedTensor<Params, tq::Unpacked> loose({2, 3}, Params({}, {1.0f, 2.0f}));
  CHECK(loose.bytes().size() == 6);
  loose.codes()[5] = -8;
  CHECK(loose.codes()[5] == -8);
  const tq::QuantizedTensor<Params> none({2, 0}, Params({}, {1.0f, 2.0f}));
  CHECK(none.bytes().empty());
}

TEST_CASE("a quantized tensor refuses parameters that do not fit", "[quantized_tensor]") {
  test::raises(tq::errc::shape_mismatch,
               {"tq::QuantizedTensor", "[3, 2]", "expects 3 parameters, got 2", "per_channel"},
               [] { (void)tq::QuantizedTensor<Params>({3, 2}, Params({}, {1.0f, 2.0f})); });
  test::raises(tq::errc::bad_axis, {"tq::QuantizedTensor", "[]"},
               [] { (void)tq::QuantizedTensor<Params>({}, Params({}, {1.0f})); });
}

TEST_CASE("what a quantized tensor was moved from is empty, and may be assigned again",
          "[quantized_tensor]") {
  tq::QuantizedTensor<Params> a({2, 3}, Params({}, {1.0f, 2.0f}));
  std::fill(a.bytes().begin(), a.bytes().end(), std::byte{0x21});
  const tq::QuantizedTensor<Params> copy = a;
  tq::QuantizedTensor<Params> b = std::move(a);
  CHECK(b == copy);
  CHECK(a.size() == 0);
  CHECK(a.bytes().empty());
  CHECK_FALSE(a == b);
  a = b;
  CHECK(a == copy);
  b.bytes()[2] = std::byte{0x22};
  CHECK_FALSE(a == b);
  a = std::move(b);
  CHECK(a.bytes()[2] == std::byte{0x22});
  CHECK(b.size() == 0);
}

TEST_CASE("a quantized tensor refuses extents whose product overflows", "[quantized_tensor]") {
  using Whole = tq::QuantParams<tq::int8, tq::PerTensor, tq::Symmetric>;
  constexpr std::size_t half = std::size_t{1} << (8 * sizeof(std::size_t) - 1);
  for (const tq::Shape& shape :
       {tq::Shape{2, half + 1}, tq::Shape{half, half}, tq::Shape{half + 1, 2, 1}})
    test::raises(tq::errc::bad_argument,
                 {"tq::QuantizedTensor: expected extents that memory can hold, got ["}, [&] {
                   (void)tq::QuantizedTensor<Whole>(
                       shape, Whole(1.0f), tq::Buffer<std::byte>(shape[0] * shape[1]));  // wraps
                 });
  for (const std::size_t n : {half, half / 2, 2 * half - 1, std::size_t{1} << 48})
    test::raises(tq::errc::bad_argument,
                 {"tq::QuantizedTensor", "memory can hold", to_string(tq::Shape{n}).c_str()},
                 [&] { (void)tq::QuantizedTensor<Whole>(tq::Shape{n}, Whole(1.0f)); });
  CHECK(tq::QuantizedTensor<Whole>({half, half, 0}, Whole(1.0f)).size() == 0);
  CHECK(tq::detail::has_size(tq::Shape{std::size_t{1} << 46, 2}));
  CHECK_FALSE(tq::detail::has_size(tq::Shape{half - 1, 2}));
}

TEST_CASE("a quantized tensor gives away what it is made of, without a copy",
          "[quantized_tensor]") {
  tq::QuantizedTensor<Params> a({2, 4}, Params({}, {1.0f, 2.0f}));
  std::fill(a.bytes().begin(), a.bytes().end(), std::byte{0x21});
  const std::byte* const bytes = a.bytes().data();
  const float* const scales = a.params().scales().data();
  auto [shape, params, buffer] = std::move(a).release();
  CHECK(shape == tq::Shape{2, 4});
  CHECK(params.scales().data() == scales);
  CHECK(buffer.data() == bytes);
  CHECK(a.size() == 0);  // NOLINT: that is what is asked
  CHECK(a.bytes().empty());
  const tq::Scales<float> own = std::move(params).stored_scales();
  CHECK(own.values().data() == scales);
}

TEST_CASE("temporary tensors give codes and bytes, not views", "[quantized_tensor]") {
  using U8 = tq::QuantParams<tq::uint8, tq::PerTensor, tq::Asymmetric>;
  const auto make = [] {
    tq::QuantizedTensor<U8> q(tq::Shape{3}, U8(0.5f, 7));
    for (std::size_t i = 0; i < 3; ++i) q.codes()[i] = static_cast<std::uint8_t>(10 * i);
    return q;
  };
  const auto codes = make().codes();
  CHECK(std::vector<std::uint8_t>(codes.begin(), codes.end()) ==
        std::vector<std::uint8_t>{0, 10, 20});
  CHECK(make().bytes()[2] == std::byte{20});
  const U8 params = make().params();
  CHECK(params.affine(0).zero_point == 7);
}
