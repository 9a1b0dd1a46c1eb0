// SPDX-License-Identifier: MIT
// Blocks of GGUF files as encoded tensors.
#include <tq/calibrate/calibrate.hpp>
#include <tq/core/super_block_scales.hpp>
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/ops/quantize.hpp>
#include <tq/scheme/encoded_blocks.hpp>
#include <tq/scheme/encoded_conversion.hpp>
#include <tq/scheme/encoded_tensor.hpp>
#include <tq/scheme/float_scales.hpp>
#include <tq/scheme/stored_parameters.hpp>
#include <tq/scheme/weight_algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

using namespace tq;
namespace gguf = tq::layouts::gguf;

namespace {

using HeldTypes = TypeList<uint2, uint3, uint4, uint5, uint6, uint8, int8, float4_e2m1fn, binary>;
using HeldScales = TypeList<float, float16, float8_e8m0fnu, TwoLevel<float8_e4m3fn>>;
using SuperScales = TypeList<float, SuperBlock<uint4, 16>, SuperBlock<uint6, 8>,
                             SuperBlock<uint6, 16>, SuperBlock<uint8, 16>>;

// Blocks that ggml's quantizer makes of normal numbers, among them a block of zeros where these
// have the codes 0.
std::vector<std::uint8_t> some_blocks(gguf::Type type) {
  std::vector<float> x = inputs::normals(3 * 512, 6);
  if (type == gguf::Type::q2_K || type == gguf::Type::q4_K || type == gguf::Type::q5_K)
    std::fill_n(x.begin(), 256, 0.0f);
  const gguf::TypeInfo& info = gguf::info_of(type);
  std::vector<std::uint8_t> blocks(x.size() / info.elements * info.bytes);
  gguf::quantize(type, x, blocks);
  return blocks;
}

}  // namespace

TEST_CASE("blocks are encoded tensors with the values of the blocks") {
  const std::vector<float> x = inputs::normals(3 * 512, 5);
  std::size_t count = 0;
  for (const gguf::TypeInfo& info : gguf::types) {
    const std::optional<QuantSpec> spec = block_spec(info.type);
    if (!spec) continue;
    ++count;
    INFO(info.name);
    std::vector<std::uint8_t> blocks(x.size() / info.elements * info.bytes);
    gguf::quantize(info.type, x, blocks);
    std::vector<float> expected(x.size());
    gguf::dequantize(info.type, blocks, expected);
    const EncodedTensor tensor =
        encoded_blocks<HeldTypes, HeldScales>(info.type, blocks, Shape{3, 512});
    CHECK(tensor.spec == *spec);
    CHECK(decode<HeldTypes, HeldScales>(tensor) == expected);
    CHECK(blocks_of<HeldTypes, HeldScales>(info.type, tensor) == blocks);
  }
  CHECK(count == 18);
}

TEST_CASE("lists with super-blocks hold scales as blocks do") {
  using gguf::Type;
  for (const Type type :
       {Type::q2_K, Type::q3_K, Type::q4_K, Type::q5_K, Type::q6_K, Type::iq4_xs}) {
    INFO(gguf::info_of(type).name);
    const std::vector<std::uint8_t> blocks = some_blocks(type);
    std::vector<float> expected(3 * 512);
    gguf::dequantize(type, blocks, expected);
    const EncodedTensor tensor =
        encoded_blocks<HeldTypes, SuperScales>(type, blocks, Shape{3, 512});
    CHECK(tensor.spec == *block_spec<SuperScales>(type));
    CHECK(tensor.spec.scale_type.find("_super_block_") == 5);
    CHECK(block_spec(type)->scale_type == "float32");
    CHECK(weight_scales_for(tensor.spec) == "min_max");
    CHECK(decode<HeldTypes, SuperScales>(tensor) == expected);
    const EncodedTensor floats = encoded_blocks<HeldTypes, HeldScales>(type, blocks, Shape{3, 512});
    CHECK(decode<HeldTypes, HeldScales>(floats) == expected);
    EncodedTensor as_floats = tensor;
    use_float_scales(as_floats);
    CHECK(as_floats.spec == *block_spec(type));
    CHECK(decode<HeldTypes, HeldScales>(as_floats) == expected);
    // Parts as a file keeps them.
    StoredParameters stored = stored_parameters<SuperScales>(tensor);
    CHECK(stored.scales.factors.size() == 6);
    CHECK(stored.offsets.factors.size() == (tensor.offsets.empty() ? 0 : 6));
    EncodedTensor again{tensor.spec, tensor.shape, {}, {}, {}, {}};
    set_parameters<HeldTypes, SuperScales>(again, stored);
    CHECK(again.scales == tensor.scales);
    CHECK(again.offsets == tensor.offsets);
    CHECK(again.zero_points == tensor.zero_points);
    stored.scales.factors[1] = 1.0f / 3.0f;
    test::raises(errc::bad_scale, {"super scales of float16"},
                 [&] { set_parameters<HeldTypes, SuperScales>(again, stored); });
    CHECK(blocks_of<HeldTypes, SuperScales>(type, tensor) == blocks);
    CHECK(blocks_of<HeldTypes, HeldScales>(type, floats) == blocks);
    // A list without super-blocks does not know the scheme.
    test::raises(errc::unknown_name, {tensor.spec.scale_type.c_str()},
                 [&] { (void)decode<HeldTypes, HeldScales>(tensor); });
  }
}

TEST_CASE("schemes with super-blocks are encoded as their static types") {
  const std::vector<float> x = inputs::normals(5 * 300, 7);
  const ConstTensorView view(x.data(), Shape{5, 300});
  const auto check = [&]<class Params>(const Params& params) {
    const auto expected = to_encoded(quantize(view, params));
    const EncodedTensor got = encode<HeldTypes, SuperScales>(view, spec_of(params));
    CHECK(got.codes.span().size() == expected.codes.span().size());
    CHECK(std::ranges::equal(got.codes.span(), expected.codes.span()));
    CHECK(got.scales == expected.scales);
    CHECK(got.offsets == expected.offsets);
    CHECK(got.zero_points == expected.zero_points);
    const auto layout = encoded_layout<HeldTypes, SuperScales>(got.spec, got.shape);
    CHECK(layout.stored.bits == 8);
    CHECK(layout.stored.factors == (got.scales.size() + 7) / 8);
  };
  using Six = SuperBlock<uint6, 8>;
  check(calibrate<QuantParams<uint4, PerGroup<32>, FloatOffset, Six>>(view));
  check(calibrate<QuantParams<uint5, PerGroup<32>, Asymmetric, Six>>(view));
  check(calibrate<QuantParams<int8, PerGroup<32>, Symmetric, Six>>(view));
}

TEST_CASE("types that no tensor holds, or that are not listed, are named") {
  const std::vector<std::uint8_t> bytes(292);
  for (const gguf::Type type : {gguf::Type::q8_K, gguf::Type::iq1_s, gguf::Type::f16})
    test::raises(errc::unsupported, {"encoded_blocks", gguf::info_of(type).name.data()},
                 [&] { (void)encoded_blocks(type, bytes, Shape{256}); });
  CHECK_FALSE(block_spec(gguf::Type::q8_1));
  test::raises(errc::unsupported, {"got q4_K"}, [] {
    (void)encoded_blocks<TypeList<uint5>, HeldScales>(gguf::Type::q4_K,
                                                      std::vector<std::uint8_t>(144), Shape{256});
  });
  const EncodedTensor tensor = encoded_blocks<HeldTypes, HeldScales>(
      gguf::Type::q4_0, std::vector<std::uint8_t>(18), Shape{32});
  test::raises(errc::bad_argument, {"float_offset", "got uint4", "asymmetric"},
               [&] { (void)blocks_of<HeldTypes, HeldScales>(gguf::Type::q4_1, tensor); });
}
