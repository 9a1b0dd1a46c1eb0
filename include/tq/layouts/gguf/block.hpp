// SPDX-License-Identifier: MIT
#pragma once
// Block: a block format of GGUF files, and the list of all that are understood.

#include <tq/error.hpp>
#include <tq/layouts/gguf/code_book.hpp>
#include <tq/layouts/gguf/offset_super_blocks.hpp>
#include <tq/layouts/gguf/simple.hpp>
#include <tq/layouts/gguf/small_floats.hpp>
#include <tq/layouts/gguf/symmetric_super_blocks.hpp>
#include <tq/layouts/gguf/ternary.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tq::layouts::gguf {

/// A block format: `elements` values in `bytes` bytes, which stand in files as `type`. `encode` is
/// the quantizer of ggml; formats without a search for their scale do not look at importance.
template <class B>
concept Block = requires(const std::uint8_t* bytes, std::uint8_t* to, float* out, const float* x,
                         const detail::Importance& importance) {
  { B::type } -> std::convertible_to<Type>;
  { B::elements } -> std::convertible_to<std::size_t>;
  { B::bytes } -> std::convertible_to<std::size_t>;
  { B::uses_importance } -> std::convertible_to<bool>;
  B::decode(bytes, out);
  B::encode(x, importance, to);
};

namespace detail {

template <Block... B>
struct BlockList {
  // Calls f(std::type_identity<B>{}) for the format of that type; false if there is none.
  template <class F>
  static bool visit(Type type, F&& f) {
    return ((B::type == type && (f(std::type_identity<B>{}), true)) || ...);
  }
};
using Blocks = BlockList<Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K,
                         IQ4_NL, IQ4_XS, TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0>;

template <class F>
void with_block(const char* function, Type type, F&& f) {
  if (!Blocks::visit(type, std::forward<F>(f)))
    tq::detail::raise_expected(errc::unsupported, function, {"a type whose blocks are understood"},
                               {info_of(type).name});
}

}  // namespace detail

/// True for types whose blocks can be decoded and encoded.
[[nodiscard]] inline bool has_block(Type type) noexcept {
  return detail::Blocks::visit(type, [](auto) {});
}

/// True for types with blocks that hold weights: not Q8_1 and Q8_K, which hold activations.
[[nodiscard]] inline bool holds_weights(Type type) noexcept {
  return has_block(type) && type != Type::q8_1 && type != Type::q8_K;
}

}  // namespace tq::layouts::gguf
