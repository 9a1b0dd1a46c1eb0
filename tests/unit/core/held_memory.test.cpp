// SPDX-License-Identifier: MIT
// How much memory a quantized tensor holds: codes, scales, zero points and offsets as they are
// stored, and nothing beside them.
#include <tq/core/fit_params.hpp>
#include <tq/core/formats.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/counted_memory.hpp"

namespace {

using tq::Asymmetric;
using tq::PerChannel;
using tq::PerGroup;
using tq::PerTensor;
using tq::QuantParams;
using tq::Symmetric;

constexpr std::size_t rows = 256, columns = 1024;

// Bits of a tensor of these as files have it: codes, scales, and zero points as wide as codes or
// offsets as wide as scales.
template <class Params>
double stored_bits(double bits_of_scale, double bits_of_factors) {
  const tq::Shape shape{rows, columns};
  const auto parameters =
      static_cast<double>(tq::param_count(typename Params::granularity_type{}, shape));
  const double bits = Params::type::bits;
  const double bits_of_origin = Params::has_zero_point ? bits
                                : Params::has_offset   ? bits_of_scale
                                                       : 0;
  return static_cast<double>(rows * columns) * bits +
         parameters * (bits_of_scale + bits_of_origin) + bits_of_factors;
}

// Holds that a tensor of `Params`, whatever its values are, has at most 1 % more than what is
// stored.
template <class Params>
void check_held(const std::string& name, double bits_of_scale, double bits_of_factors = 0) {
  const tq::Shape shape{rows, columns};
  const typename Params::granularity_type granularity{};
  std::vector<tq::Range> ranges;
  for (std::size_t i = 0; i < tq::param_count(granularity, shape); ++i)
    ranges.push_back({-static_cast<float>(i % 7), 1 + static_cast<float>(i % 11)});
  const std::ptrdiff_t before = test::held;
  const tq::QuantizedTensor<Params> tensor(shape, tq::fit_params<Params>(granularity, ranges));
  const double got = 8 * static_cast<double>(test::held - before),
               least = stored_bits<Params>(bits_of_scale, bits_of_factors);
  INFO(name << ": " << got / (rows * columns) << " bits a weight, of which "
            << least / (rows * columns) << " are stored");
  CHECK(got <= 1.01 * least);
  CHECK(got >=
        0.99 * 8 * static_cast<double>(tensor.bytes().size()));  // the count sees what there is
}

template <class... Ts>
void check_channels() {
  (check_held<QuantParams<Ts, PerChannel<0>, Symmetric>>(std::string(Ts::name), 32), ...);
}
template <class S, class Scale, class... Ts>
void check_groups(double bits_of_scale) {
  (check_held<QuantParams<Ts, PerGroup<32>, S, Scale>>(std::string(Ts::name) + "_g32",
                                                       bits_of_scale),
   ...);
}

}  // namespace

TEST_CASE("tensors of the named schemes hold what is stored and nothing else", "[held_memory]") {
  check_held<QuantParams<tq::float16, PerTensor, Symmetric, tq::Unscaled>>("float16", 0);
  check_held<QuantParams<tq::float8_e4m3fn, PerTensor, Symmetric, tq::Unscaled>>("float8_e4m3fn",
                                                                                 0);
  check_held<QuantParams<tq::float8_e5m2, PerTensor, Symmetric>>("fp8_e5m2", 32);
  check_channels<tq::int16, tq::int8, tq::int6, tq::int5, tq::int4, tq::int3, tq::int2, tq::ternary,
                 tq::binary>();
  check_groups<Symmetric, float, tq::int8, tq::int6, tq::int5, tq::int4, tq::int3, tq::int2>(32);
  check_groups<Asymmetric, float, tq::uint8, tq::uint6, tq::uint5, tq::uint4, tq::uint3, tq::uint2>(
      32);
  check_held<tq::mxfp8_e4m3>("mxfp8_e4m3", 8);
  check_held<tq::mxfp8_e5m2>("mxfp8_e5m2", 8);
  check_held<tq::mxfp6_e2m3>("mxfp6_e2m3", 8);
  check_held<tq::mxfp6_e3m2>("mxfp6_e3m2", 8);
  check_held<tq::mxfp4>("mxfp4", 8);
  check_held<tq::mxint8>("mxint8", 8);
  check_held<tq::nvfp4>("nvfp4", 8, 32);
  check_held<tq::nvfp4_normal>("nvfp4_normal", 8, 32);
  check_held<tq::nf4_64>("nf4", 32);
  check_held<tq::nf4_64_double>("nf4_double", 8, 32.0 * rows * columns / 64 / 256);
  check_held<QuantParams<tq::bnb_fp4, PerGroup<64>, Symmetric>>("bnb_fp4", 32);
  check_held<QuantParams<tq::iq4_nl, PerGroup<32>, Symmetric, tq::float16>>("iq4_nl", 16);
}

TEST_CASE("so do tensors with zero points and with scales of other types", "[held_memory]") {
  check_groups<Asymmetric, tq::float16, tq::int4, tq::uint4, tq::uint3, tq::int5, tq::int8,
               tq::int16>(16);
  check_groups<Asymmetric, tq::bfloat16, tq::uint4>(16);
  check_groups<Asymmetric, tq::float8_e8m0fnu, tq::uint4>(8);
  check_groups<Asymmetric, tq::float8_e4m3fn, tq::uint4>(8);
  check_held<QuantParams<tq::int16, tq::PerToken, Asymmetric>>("int16 per token", 32);
  check_held<QuantParams<tq::uint4, PerTensor, Asymmetric, tq::float16>>("uint4 per tensor", 16);
  check_held<QuantParams<tq::int4, tq::PerBlock<8, 8>, Asymmetric, tq::float16>>("int4 in blocks",
                                                                                 16);
  check_held<QuantParams<tq::int32, PerGroup<16>, Asymmetric>>("int32_g16", 32);
}

TEST_CASE("so do tensors with offsets", "[held_memory]") {
  check_groups<tq::FloatOffset, tq::float16, tq::uint4, tq::int4, tq::uint5, tq::uint2, tq::int8>(
      16);
  check_groups<tq::FloatOffset, tq::bfloat16, tq::uint4>(16);
  check_groups<tq::FloatOffset, float, tq::uint4, tq::uint3>(32);
  check_held<QuantParams<tq::int8, PerTensor, tq::FloatOffset>>("int8 per tensor", 32);
  check_held<QuantParams<tq::uint8, tq::PerToken, tq::FloatOffset>>("uint8 per token", 32);
}
