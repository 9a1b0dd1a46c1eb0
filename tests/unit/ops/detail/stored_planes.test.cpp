// SPDX-License-Identifier: MIT
#include <tq/ops/detail/stored_planes.hpp>

#include <tq/core/codebook.hpp>
#include <tq/core/fit_params.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/inputs.hpp"

namespace {

using B = tq::default_backend;

// Any part of what is stored, side by side or apart, is what its view has.
template <class T, class View>
void check(const tq::driver::Plane& plane, const View& values, inputs::Random& r) {
  REQUIRE(plane.exists());
  std::size_t failed = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t stride = r.chance(60) ? 1 : 1 + r.below(4), first = r.below(values.size());
    const std::size_t most = (values.size() - first + stride - 1) / stride, n = 1 + r.below(most);
    std::vector<T> got(n + 1, T{77});
    plane.read(plane.data, first, n, stride, got.data());
    for (std::size_t i = 0; i < n; ++i)
      failed += std::bit_cast<std::uint32_t>(got[i]) !=
                std::bit_cast<std::uint32_t>(T{values[first + i * stride]});
    failed += got[n] != T{77};
  }
  CHECK(failed == 0);
}

using Ranges = std::vector<tq::Range>;
Ranges ranges(std::size_t n, inputs::Random& r) {
  Ranges all(n);
  for (tq::Range& one : all) one = {-inputs::ordinary_scale(r), 3 * inputs::ordinary_scale(r)};
  return all;
}

template <class Scale, class T = tq::int4, class S = tq::Symmetric>
void check_scales(std::uint64_t seed) {
  using Params = tq::QuantParams<T, tq::PerGroup<8>, S, Scale>;
  inputs::Random r(seed);
  const Params p = tq::fit_params<Params>({}, ranges(1500, r));
  INFO(S::name);
  check<float>(tq::detail::driver_parameters<B>(p).scales, p.scales(), r);
  if constexpr (Params::has_zero_point)
    check<std::int32_t>(tq::detail::driver_parameters<B>(p).origins, p.zero_points(), r);
}

}  // namespace

TEST_CASE("the driver reads scales as they are stored", "[stored_planes]") {
  check_scales<float>(1);
  check_scales<tq::float16>(2);
  check_scales<tq::bfloat16>(3);
  check_scales<tq::float8_e8m0fnu, tq::float4_e2m1fn>(4);
  check_scales<tq::float8_e4m3fn>(5);
  check_scales<tq::TwoLevel<tq::float8_e4m3fn>, tq::float4_e2m1fn>(6);
  check_scales<tq::DoubleQuantized, tq::nf4>(7);
}

TEST_CASE("the driver reads zero points as they are stored", "[stored_planes]") {
  check_scales<float, tq::uint8, tq::Asymmetric>(11);
  check_scales<tq::float16, tq::int8, tq::Asymmetric>(12);
  check_scales<tq::float16, tq::uint4, tq::Asymmetric>(13);
  check_scales<tq::float16, tq::int3, tq::Asymmetric>(14);
  check_scales<tq::float16, tq::uint2, tq::Asymmetric>(15);
  check_scales<float, tq::int16, tq::Asymmetric>(16);
}

namespace {

// The bits of offsets of these, as numbers in a view of the caller's or as parameters own them.
template <class Scale>
void check_offsets(std::uint64_t seed) {
  inputs::Random r(seed);
  using Params = tq::QuantParams<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, Scale>;
  const auto p = tq::fit_params<Params>({}, ranges(1000, r));
  const auto bits = [](float m) { return std::bit_cast<std::int32_t>(m); };
  std::vector<std::int32_t> wanted;
  for (const float m : p.offsets()) wanted.push_back(bits(m));
  check<std::int32_t>(tq::detail::all_parameters<B>(p).origins, wanted, r);
  check<float>(tq::detail::all_parameters<B>(p).scales, p.scales(), r);
  const tq::ParamsView<tq::uint4, tq::PerGroup<32>, tq::FloatOffset, Scale> view(
      {}, p.stored_scales().stored(), p.stored_offsets().stored());
  check<std::int32_t>(tq::detail::all_parameters<B>(view).origins, wanted, r);
}

}  // namespace

TEST_CASE("the driver reads offsets as the bits of float", "[stored_planes]") {
  check_offsets<float>(21);
  check_offsets<tq::float16>(22);
  check_offsets<tq::bfloat16>(23);
}
