// SPDX-License-Identifier: MIT
// Blocks of GGUF files as tensors and back: byte 0 is a type, the others are blocks.
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/pack.hpp>
#include <tq/layouts/gguf/unpack.hpp>
#include <tq/ops/dequantize.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

#include "fuzz.hpp"

namespace {

using namespace tq::layouts::gguf;

template <Unpackable B>
void there_and_back(fuzz::Bytes bytes) {
  const fuzz::Bytes blocks = bytes.first(bytes.size() / B::bytes * B::bytes);
  std::vector<float> expected(blocks.size() / B::bytes * B::elements);
  dequantize<B>(blocks, expected);
  fuzz::accepts([&] {
    const auto tensor = unpack<B>(blocks, tq::Shape{expected.size()});
    fuzz::require(tq::dequantize(tensor) == expected, "the values of the blocks");
    std::vector<float> again(expected.size());
    fuzz::require(fuzz::accepts([&] { dequantize<B>(pack<B>(tensor), again); }),
                  "a tensor of blocks to be packed");
    fuzz::require(again == expected, "the values of packed blocks");
  });
}

const fuzz::Target gguf_blocks_target("gguf_blocks", [](fuzz::Bytes bytes) {
  if (bytes.empty()) return;
  static_cast<void>(detail::Blocks::visit(types[bytes[0] % types.size()].type,
                                          [&]<class B>(std::type_identity<B>) {
                                            if constexpr (Unpackable<B>)
                                              there_and_back<B>(bytes.subspan(1));
                                          }));
});

}  // namespace
