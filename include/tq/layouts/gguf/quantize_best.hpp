// SPDX-License-Identifier: MIT
#pragma once
// quantize_best: float32 to blocks of a type that is known at run time, with the least error.

#include <tq/arch/isa.hpp>
#include <tq/layouts/gguf/best.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <cstdint>
#include <span>
#include <type_traits>

namespace tq::layouts::gguf {

/// Encodes `x` [n] into blocks by `best`, or by `ggml` for the types that have no search: MXFP4,
/// NVFP4, TQ1_0, TQ2_0, Q1_0, Q2_0, Q8_1 and Q8_K. `importance` is that of the columns, as for
/// `quantize`. Throws: as `quantize`; `errc::unsupported` for types without a block.
template <class Arch = arch::native>
void quantize_best(Type type, std::span<const float> x, std::span<std::uint8_t> blocks,
                   std::span<const float> importance = {}) {
  detail::with_block(detail::quantize_function, type, [&]<class B>(std::type_identity<B>) {
    if constexpr (Searched<B>) quantize<B, best, Arch>(x, blocks, best{}, importance);
    else quantize<B, ggml, Arch>(x, blocks, ggml{}, importance);
  });
}

}  // namespace tq::layouts::gguf
