// SPDX-License-Identifier: MIT
// Coded elements in every granularity, and of every width; see coded_cases.hpp.
#include <array>
#include <cstddef>
#include <string_view>

#include "unit/ops/coded_cases.hpp"

namespace {

struct two_bits {
  static constexpr std::string_view name = "two_bits";
  static constexpr std::array<float, 3> values{0.5f, -1.0f, 0.0f};
};
struct three_bits {
  static constexpr std::string_view name = "three_bits";
  static constexpr std::array<float, 5> values{0.0f, 4.0f, -3.0f, 1.5f, -0.25f};
};
struct five_bits {
  static constexpr std::string_view name = "five_bits";
  static constexpr std::array<float, 32> values = [] {
    std::array<float, 32> v{};
    for (std::size_t i = 0; i < 32; ++i) v[i] = (static_cast<float>(i * 11 % 32) - 16) / 4;
    return v;
  }();
};

template <class T, class G, class Scale = float>
using P = tq::QuantParams<T, G, tq::Symmetric, Scale>;
using coded_cases::check_all;
using tq::NearestEven, tq::Divide, tq::Reciprocal, tq::NanToZero, tq::ScaleOne, tq::NonSaturate;
using Native = tq::default_backend;

}  // namespace

TEST_CASE("every operation on coded elements, every granularity", "[ops]") {
  check_all<P<tq::float8_e4m3fn, tq::PerTensor>>({}, 0, 1);
  check_all<P<tq::float8_e5m2, tq::PerChannel<0>>>({}, 1, 2);
  check_all<P<tq::float16, tq::PerChannel<-1>>>({}, 1, 3);
  check_all<P<tq::float4_e2m1fn, tq::PerGroup<32>, tq::float8_e8m0fnu>>({}, 1, 4);
  check_all<P<tq::float4_e2m1fn, tq::PerGroup<16, 0>>>({}, 1, 5);
  check_all<P<tq::nf4, tq::PerToken>>({}, 1, 6);
  check_all<P<tq::bfloat16, tq::PerBlock<2, 3>>>({}, 2, 7);
  check_all<tq::nvfp4>({}, 1, 8);
}

TEST_CASE("every operation on coded elements of 1 to 6 bits", "[ops]") {
  check_all<P<tq::binary, tq::PerGroup<8>>>({}, 1, 11);
  check_all<P<tq::Codebook<two_bits>, tq::PerGroup<8>>>({}, 1, 12);
  check_all<P<tq::Codebook<three_bits>, tq::PerToken>>({}, 1, 13);
  check_all<P<tq::Codebook<five_bits>, tq::PerTensor>>({}, 1, 14);
  check_all<P<tq::float6_e2m3fn, tq::PerGroup<32>, tq::float8_e8m0fnu>>({}, 1, 15);
  check_all<P<tq::float6_e3m2fn, tq::PerChannel<0>>>({}, 1, 16);
}

TEST_CASE("every operation on coded elements, other numerics", "[ops]") {
  using Torch = tq::Numerics<NearestEven, Reciprocal, NanToZero, ScaleOne, NonSaturate>;
  check_all<P<tq::float8_e4m3fn, tq::PerGroup<32>>, ops_cases::Scalar, Torch>({}, 1, 21);
  check_all<P<tq::float4_e2m1fn, tq::PerToken>, ops_cases::Scalar, tq::Numerics<tq::Floor>>({}, 1,
                                                                                            23);
  using Draws = tq::Numerics<tq::Stochastic, Divide, NanToZero, ScaleOne, NonSaturate>;
  check_all<P<tq::float8_e5m2, tq::PerToken>, ops_cases::Scalar, Draws>({}, 1, 24, 5,
                                                                        Draws{tq::Stochastic{7}});
  check_all<P<tq::float4_e2m1fn, tq::PerGroup<32>, tq::float8_e8m0fnu>, ops_cases::Scalar, Draws>(
      {}, 1, 25, 5, Draws{tq::Stochastic{8}});
}

TEST_CASE("every operation on coded elements, the kernels of this build", "[ops]") {
  check_all<P<tq::float4_e2m1fn, tq::PerGroup<32>, tq::float8_e8m0fnu>, Native>({}, 1, 31);
}
