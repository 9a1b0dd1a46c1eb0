// SPDX-License-Identifier: MIT
#pragma once
// Quantized tensors to and from the bytes of a packing: what the layouts of block float formats
// share.

#include <tq/core/buffer.hpp>
#include <tq/core/packing.hpp>
#include <tq/core/quant_params.hpp>
#include <tq/core/quantized_tensor.hpp>
#include <tq/core/shape.hpp>
#include <tq/layouts/detail/bit_fields.hpp>
#include <tq/ops/detail/checks.hpp>
#include <tq/ops/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace tq {

/// A packing of bits, as files have them.
template <class P>
concept BitPacking =
    Packing<P> && (P::order == BitOrder::low_first || P::order == BitOrder::high_first);

namespace detail {

// A tensor seen as lines of its last axis, each with blocks of `size` elements.
// Precondition: the rank is at least 1, the number of elements does not overflow.
struct Lines {
  std::size_t count, length, blocks;
  Lines(const Shape& shape, std::size_t size) noexcept
      : count(shape.size() == 0 ? 0 : shape.product(0, shape.rank() - 1)),
        length(shape[shape.rank() - 1]),
        blocks(blocks_along(length, size)) {}
};

// The lines of a tensor in blocks of the parameters' size. Throws where it cannot have such.
template <AnyParams Params>
[[nodiscard]] Lines require_lines(const char* function, const Shape& shape,
                                  const typename Params::granularity_type& granularity = {}) {
  static_cast<void>(require_extents(function, shape));
  require_possible(function, granularity, shape);
  return {shape, static_cast<std::size_t>(granularity.size())};
}

// Calls f(block, first element, its number of elements) for every block.
template <class F>
void for_each_block(const Lines& lines, std::size_t size, F&& f) {
  for (std::size_t line = 0, block = 0; line < lines.count; ++line)
    for (std::size_t i = 0; i < lines.length; i += size, ++block)
      f(block, line * lines.length + i, std::min(size, lines.length - i));
}

// Bits after the last of n codes are no part of the tensor: they become zero.
template <Element T, BitPacking Pack>
void clear_rest(std::span<std::byte> bytes, std::size_t n) noexcept {
  const unsigned used = static_cast<unsigned>(n % 8) * static_cast<unsigned>(T::bits) % 8;
  if (is_unpacked<Pack, T> || used == 0) return;
  const unsigned mask = Pack::order == BitOrder::low_first ? (1u << used) - 1u : 0xff00u >> used;
  bytes.back() &= static_cast<std::byte>(mask & 0xffu);
}

// A tensor with the codes in `bytes`. Precondition: these are as many as it has.
template <BitPacking Pack, AnyParams Params>
[[nodiscard]] QuantizedTensor<Params, Pack> tensor_of(const Shape& shape, Params params,
                                                      std::span<const std::uint8_t> bytes) {
  Buffer<std::byte> codes(bytes.size());
  if (!bytes.empty()) std::memcpy(codes.data(), bytes.data(), bytes.size());
  clear_rest<typename Params::type, Pack>(codes.span(), shape.size());
  return {shape, std::move(params), std::move(codes)};
}

// Writes the codes of a tensor, packed by `To`. Precondition: `bytes` has room for exactly these.
template <BitPacking To, AnyParams Params, Packing From>
void copy_codes(const QuantizedTensor<Params, From>& q, std::span<std::uint8_t> bytes) {
  using T = typename Params::type;
  const std::span<std::byte> out = std::as_writable_bytes(bytes);
  if constexpr (std::is_same_v<To, From> || (is_unpacked<To, T> && is_unpacked<From, T>)) {
    if (!out.empty()) std::memcpy(out.data(), q.bytes().data(), out.size());
    clear_rest<T, To>(out, q.size());
  } else {
    Buffer<typename Params::code_type> codes(q.size());
    unpack_unchecked<T, From>(q.bytes(), codes.span());
    pack_unchecked<T, To>(codes.span(), out);
  }
}

}  // namespace detail

}  // namespace tq
