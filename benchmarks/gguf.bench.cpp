// SPDX-License-Identifier: MIT
// float32 to blocks of GGUF files, by both quantizers.

#include "support.hpp"

#include <tq/layouts/gguf.hpp>
#include <tq/layouts/gguf/best.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

using namespace tq_bench;
namespace gguf = tq::layouts::gguf;

template <class Block, class Quantizer>
void quantize(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  constexpr double stored = static_cast<double>(Block::bytes) / Block::elements;
  const std::span blocks(target<std::uint8_t>(), n / Block::elements * Block::bytes);
  run(state, 4 + stored,
      [&] { gguf::quantize<Block>(std::span(source(), n), blocks, Quantizer{}); });
}

#define TQ_GGUF_ROWS(Block, name)              \
  BENCHMARK(quantize<gguf::Block, gguf::best>) \
      ->Name("gguf_quantize/" name "/best")    \
      ->Arg(in_cache);                         \
  BENCHMARK(quantize<gguf::Block, gguf::ggml>)->Name("gguf_quantize/" name "/ggml")->Arg(in_cache)

TQ_GGUF_ROWS(Q2_K, "q2_k");
TQ_GGUF_ROWS(Q3_K, "q3_k");
TQ_GGUF_ROWS(Q4_K, "q4_k");
TQ_GGUF_ROWS(Q5_K, "q5_k");
TQ_GGUF_ROWS(Q6_K, "q6_k");
TQ_GGUF_ROWS(Q4_0, "q4_0");
TQ_GGUF_ROWS(Q5_0, "q5_0");
TQ_GGUF_ROWS(Q8_0, "q8_0");
TQ_GGUF_ROWS(IQ4_NL, "iq4_nl");
TQ_GGUF_ROWS(IQ4_XS, "iq4_xs");

}  // namespace
