// SPDX-License-Identifier: MIT
#pragma once
// Blocks of GGUF files to float32.

#include <tq/core/detail/sizes.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/layouts/gguf/block.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::layouts::gguf {

/// Decodes blocks [n / B::elements] into `out` [n], the same float32 as ggml's.
/// Throws: `errc::shape_mismatch` for sizes that are not whole blocks, or not as many. Nothing is
/// written then.
template <Block B>
void dequantize(std::span<const std::uint8_t> blocks, std::span<float> out) {
  constexpr const char* function = "tq::layouts::gguf::dequantize";
  tq::detail::require_count(function, "elements, in whole blocks",
                            out.size() / B::elements * B::elements, out.size());
  tq::detail::require_count(function, "bytes of blocks", out.size() / B::elements * B::bytes,
                            blocks.size());
  for (std::size_t i = 0; i < out.size() / B::elements; ++i)
    B::decode(blocks.data() + i * B::bytes, out.data() + i * B::elements);
}

/// The same for a type that is known at run time.
/// Throws: as above; `errc::unsupported` for types that have no blocks, or blocks of other codes.
inline void dequantize(Type type, std::span<const std::uint8_t> blocks, std::span<float> out) {
  detail::with_block("tq::layouts::gguf::dequantize", type,
                     [&]<class B>(std::type_identity<B>) { dequantize<B>(blocks, out); });
}

}  // namespace tq::layouts::gguf
