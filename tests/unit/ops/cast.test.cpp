// SPDX-License-Identifier: MIT
#include <tq/core/codebook.hpp>
#include <tq/ops/cast.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/format_oracle.hpp"
#include "support/thread_executor.hpp"

namespace {

using Scalar =
    tq::backend::native<tq::arch::scalar>;  // quick to compile; kernels have tests of their own
using Overflows =
    tq::Numerics<tq::NearestEven, tq::Divide, tq::NanToZero, tq::ScaleOne, tq::NonSaturate>;

constexpr float infinity = std::numeric_limits<float>::infinity();

struct odd_midpoints {  // whose means are no floats
  static constexpr std::string_view name = "odd_midpoints";
  static constexpr std::array<float, 4> values{0x1.000002p0f, 1.0f, 0x1.8p1f, 0x1.800006p1f};
};

template <class T, class N>
void check(const N& n, std::uint64_t seed) {
  const oracle::Format& f = oracle::cached_format<T>();
  const std::vector<double> marks = oracle::marks(f);
  const bool saturate = std::same_as<typename N::overflow_type, tq::Saturate>;
  inputs::Random r(seed);
  for (const std::size_t size : {0u, 1u, 7u, 1000u}) {
    std::vector<float> x(size);
    std::vector<double> wide(size);
    for (std::size_t i = 0; i < size; ++i) {
      x[i] = oracle::value_near(marks, 1.0f, r);
      const double m = marks[r.below(marks.size())];
      wide[i] =
          std::nextafter(m, r.chance(50) ? 1e300 : -1e300);  // a tie but for the last bit of double
    }
    std::vector<typename T::code_type> codes(size), narrow(size);
    tq::cast_to<T>(std::span<const float>(x), std::span(codes), n, tq::on<Scalar>);
    tq::cast_to<T>(std::span<const double>(wide), std::span(narrow), n);
    const std::vector<float> back = tq::cast_from<T>(codes, tq::on<Scalar>);
    int failed = 0;
    for (std::size_t i = 0; i < size; ++i) {
      failed += codes[i] != oracle::encode(f, static_cast<double>(x[i]), n.rounding, saturate, i);
      failed += narrow[i] != oracle::encode(f, wide[i], n.rounding, saturate, i);
      failed += !oracle::same(back[i], static_cast<float>(f.value(codes[i])));
    }
    INFO(T::name << ' ' << N::rounding_type::name << ' ' << size);
    CHECK(failed == 0);
  }
}

// Inputs whose codes were made by Tensor.to of PyTorch 2.15.
constexpr std::array torch_inputs{
    448.0f,   464.0f,     465.0f,  1e9f,      infinity,         -infinity, -500.0f, 57344.0f,
    61439.0f, 61440.0f,   240.0f,  247.0f,    249.0f,           0.0f,      -0.0f,   -3.0f,
    1.5f,     1.4999999f, 3.4e38f, 0x1p-127f, 0x1.000004p-127f, 1e-45f};
using TorchCodes = std::array<std::uint8_t, torch_inputs.size()>;

template <class T>
void check_torch(const TorchCodes& wanted) {
  INFO(T::name);
  const std::span<const float> x(torch_inputs);
  CHECK(std::ranges::equal(tq::cast_to<T>(x, tq::numerics::torch{}), wanted));
  CHECK(std::ranges::equal(tq::cast_to<T>(x, tq::numerics::torch{}, tq::on<Scalar>), wanted));
}

}  // namespace

TEST_CASE("casts have the codes of the definition, from float and from double", "[cast]") {
  check<tq::float8_e4m3fn>(tq::Numerics<>{}, 1);
  check<tq::float8_e5m2>(Overflows{}, 2);
  check<tq::float8_e4m3fnuz>(Overflows{}, 3);
  check<tq::float16>(Overflows{}, 4);
  check<tq::bfloat16>(tq::Numerics<>{}, 5);
  check<tq::float4_e2m1fn>(tq::Numerics<>{}, 6);
  check<tq::float6_e2m3fn>(tq::Numerics<tq::Floor>{}, 7);
  check<tq::float8_e8m0fnu>(Overflows{}, 8);
  check<tq::fixed8>(tq::Numerics<tq::HalfAway>{}, 9);
  check<tq::nf4>(tq::Numerics<>{}, 10);
  check<tq::dynamic8>(tq::Numerics<>{}, 11);
  check<tq::Codebook<odd_midpoints>>(tq::Numerics<>{}, 12);
}

TEST_CASE("casts of PyTorch saturate E4M3 alone, and take magnitudes as exponents", "[cast]") {
  check_torch<tq::float8_e4m3fn>({0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 0xfe, 0x7e,
                                  0x7e, 0x7e, 0x77, 0x77, 0x78, 0x00, 0x80, 0xc4,
                                  0x3c, 0x3c, 0x7e, 0x00, 0x00, 0x00});
  check_torch<tq::float8_e5m2>({0x5f, 0x5f, 0x5f, 0x7c, 0x7c, 0xfc, 0xe0, 0x7b, 0x7b, 0x7c, 0x5c,
                                0x5c, 0x5c, 0x00, 0x80, 0xc2, 0x3e, 0x3e, 0x7c, 0x00, 0x00, 0x00});
  check_torch<tq::float8_e4m3fnuz>({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                    0x80, 0x80, 0x7f, 0x7f, 0x80, 0x00, 0x00, 0xcc,
                                    0x44, 0x44, 0x80, 0x00, 0x00, 0x00});
  check_torch<tq::float8_e5m2fnuz>({0x63, 0x63, 0x63, 0x80, 0x80, 0x80, 0xe4, 0x7f,
                                    0x7f, 0x80, 0x60, 0x60, 0x60, 0x00, 0x00, 0xc6,
                                    0x42, 0x42, 0x80, 0x00, 0x00, 0x00});
  check_torch<tq::float8_e8m0fnu>({0x88, 0x88, 0x88, 0x9d, 0xff, 0xff, 0x88, 0x8f,
                                   0x8f, 0x8f, 0x87, 0x87, 0x87, 0x00, 0x00, 0x81,
                                   0x80, 0x7f, 0xff, 0x00, 0x01, 0x00});
}

TEST_CASE("the kernels of this build cast the same", "[cast]") {
  const std::vector<float> x = inputs::normals(1001, 6, 3);
  std::vector<std::uint8_t> scalar(x.size());
  tq::cast_to<tq::float8_e4m3fn>(std::span<const float>(x), std::span(scalar), tq::on<Scalar>);
  const std::vector<std::uint8_t> codes = tq::cast_to<tq::float8_e4m3fn>(x);
  CHECK(codes == scalar);
  CHECK(tq::cast_from<tq::float8_e4m3fn>(codes) ==
        tq::cast_from<tq::float8_e4m3fn>(codes, tq::on<Scalar>));
}

TEST_CASE("stochastic casts draw by the position", "[cast]") {
  const std::vector<float> x = inputs::normals(5000, 3);
  using N = tq::Numerics<tq::Stochastic>;
  const auto codes = tq::cast_to<tq::float8_e5m2>(x, N{tq::Stochastic{4}});
  const oracle::Format& f = oracle::cached_format<tq::float8_e5m2>();
  int failed = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    failed += codes[i] != oracle::encode(f, static_cast<double>(x[i]), tq::Stochastic{4}, true, i);
  CHECK(failed == 0);
  CHECK_FALSE(codes == tq::cast_to<tq::float8_e5m2>(x, N{tq::Stochastic{5}}));
}

TEST_CASE("outputs of another size are refused", "[cast]") {
  const std::vector<float> x(3, 1.0f);
  const std::vector<double> d(3, 1.0);
  std::vector<std::uint8_t> codes(2, 9);
  std::vector<float> out(4, -7.0f);
  test::raises(tq::errc::shape_mismatch, {"tq::cast_to", "3", "got 2"},
               [&] { tq::cast_to<tq::float8_e5m2>(std::span<const float>(x), std::span(codes)); });
  test::raises(tq::errc::shape_mismatch, {"tq::cast_to", "3", "got 2"},
               [&] { tq::cast_to<tq::float8_e5m2>(std::span<const double>(d), std::span(codes)); });
  test::raises(tq::errc::shape_mismatch, {"tq::cast_from", "2", "got 4"}, [&] {
    tq::cast_from<tq::float8_e5m2>(std::span<const std::uint8_t>(codes), std::span(out));
  });
  CHECK(codes == std::vector<std::uint8_t>(2, 9));
  CHECK(out == std::vector<float>(4, -7.0f));
}

TEST_CASE("casts to integers drop the fraction and keep the low bits", "[cast]") {
  const std::vector<float> x{0.9f,
                             -0.9f,
                             7.5f,
                             8.0f,
                             -8.9f,
                             -9.0f,
                             15.0f,
                             16.0f,
                             1e9f,
                             -1e9f,
                             0x1p40f,
                             0x1p62f,
                             std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()};
  CHECK(tq::cast_to<tq::int4>(x) ==
        std::vector<std::int8_t>{0, 0, 7, -8, -8, 7, -1, 0, 0, 0, 0, 0, 0, 0});
  CHECK(tq::cast_to<tq::uint2>(x) ==
        std::vector<std::uint8_t>{0, 0, 3, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0});
  CHECK(tq::cast_to<tq::uint16>(x) ==
        std::vector<std::uint16_t>{0, 0, 7, 8, 65528, 65527, 15, 16, 51712, 13824, 0, 0, 0, 0});
  CHECK(tq::cast_to<tq::int32>(x) ==
        std::vector<std::int32_t>{0, 0, 7, 8, -8, -9, 15, 16, 1000000000, -1000000000, 0, 0, 0, 0});
  CHECK(tq::cast_to<tq::int32>(std::vector<float>{0x1p31f, -0x1p31f, 0x1.8p32f}) ==
        std::vector<std::int32_t>{-2147483647 - 1, -2147483647 - 1, -2147483647 - 1});
  CHECK(tq::cast_from<tq::int32>(std::vector<std::int32_t>{2147483647, -5}) ==
        std::vector<float>{0x1p31f, -5});
  const std::vector<std::int8_t> codes{-8, -1, 0, 7};
  CHECK(tq::cast_from<tq::int4>(codes) == std::vector<float>{-8, -1, 0, 7});
  std::vector<std::int8_t> small(1);
  test::raises(tq::errc::shape_mismatch, {"tq::cast_to", "14", "got 1"},
               [&] { tq::cast_to<tq::int4>(std::span<const float>(x), std::span(small)); });
}

TEST_CASE("casts to exponents follow a rule", "[cast]") {
  const std::vector<float> x{0.0f,
                             -0.0f,
                             1.0f,
                             -1.0f,
                             1.25f,
                             1.5f,
                             -3.0f,
                             0x1p-127f,
                             0x1.8p-127f,
                             0x1.8p127f,
                             -std::numeric_limits<float>::infinity()};
  std::vector<std::uint8_t> up(x.size()), down(x.size()), nearest(x.size());
  tq::cast_to<tq::float8_e8m0fnu>(x, std::span(up), tq::ExponentCeil{});
  tq::cast_to<tq::float8_e8m0fnu>(x, std::span(down), tq::ExponentFloor{});
  tq::cast_to<tq::float8_e8m0fnu>(x, std::span(nearest), tq::ExponentNearest{});
  CHECK(up == std::vector<std::uint8_t>{0, 0, 127, 127, 128, 128, 129, 1, 1, 254, 255});
  CHECK(down == std::vector<std::uint8_t>{0, 0, 127, 127, 127, 127, 128, 0, 0, 254, 255});
  CHECK(nearest == std::vector<std::uint8_t>{0, 0, 127, 127, 127, 128, 129, 0, 1, 254, 255});
}

TEST_CASE("casts give the same codes on threads, with options in any order", "[cast][options]") {
  std::vector<float> x = inputs::normals(3 * tq::detail::task_size + 5, 7, 30);
  x[1] = 1e6f;  // overflows
  const std::vector<double> wide(x.begin(), x.end());
  const test::Threads threads{3};
  using Drawn = tq::Numerics<tq::Stochastic>;
  const Drawn drawn{tq::Stochastic{9}};
  const auto codes = tq::cast_to<tq::float8_e5m2>(x, drawn, tq::on<Scalar>);
  CHECK((tq::cast_to<tq::float8_e5m2>(x, threads, drawn, tq::on<Scalar>) == codes));
  CHECK((tq::cast_to<tq::float8_e5m2>(x, tq::with(drawn, threads), tq::on<Scalar>) == codes));
  CHECK((tq::cast_to<tq::float8_e5m2>(wide, drawn, threads, tq::on<Scalar>) == codes));
  std::vector<std::uint8_t> into(x.size());
  tq::cast_to<tq::float8_e5m2>(x, into, threads, Overflows{}, tq::on<Scalar>);
  CHECK((into == tq::cast_to<tq::float8_e5m2>(x, Overflows{}, tq::on<Scalar>)));
  CHECK_FALSE((into == tq::cast_to<tq::float8_e5m2>(x, tq::on<Scalar>)));
  CHECK((tq::cast_to<tq::int8>(x, threads) == tq::cast_to<tq::int8>(x)));
  CHECK((tq::cast_from<tq::float8_e5m2>(codes, threads, tq::on<Scalar>) ==
         tq::cast_from<tq::float8_e5m2>(codes, tq::on<Scalar>)));
  std::vector<std::uint8_t> up(x.size()), serial(x.size());
  tq::cast_to<tq::float8_e8m0fnu>(x, up, tq::ExponentCeil{}, threads);
  tq::cast_to<tq::float8_e8m0fnu>(x, serial, tq::ExponentCeil{});
  CHECK((up == serial));
}
