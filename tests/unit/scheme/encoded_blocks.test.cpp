// SPDX-License-Identifier: MIT
// Blocks of GGUF files as encoded tensors.
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/scheme/encoded_blocks.hpp>
#include <tq/scheme/encoded_tensor.hpp>

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
