// SPDX-License-Identifier: MIT
#pragma once
// Pieces of tensors, which stay in the cache, and the places of parts in a file.

#include <tq/containers/other_member.hpp>
#include <tq/containers/raw_tensor.hpp>
#include <tq/containers/safetensors_writer.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/core/buffer.hpp>
#include <tq/ops/compare.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tq::store {

/// Elements of a piece: small enough for the cache, and the stretch that `Comparison` sums.
inline constexpr std::size_t piece_size = Comparison<>::piece;

/// Calls f(first, count) for the pieces of `elements` elements.
template <class F>
void for_each_piece(std::uint64_t elements, F&& f) {
  for (std::uint64_t first = 0; first < elements; first += piece_size)
    f(static_cast<std::size_t>(first),
      static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, elements - first)));
}

/// The first `count` elements of memory that is kept from call to call.
template <class T>
[[nodiscard]] std::span<T> grown(Buffer<T>& buffer, std::size_t count) {
  if (buffer.size() < count) buffer = Buffer<T>(count);
  return buffer.span().first(count);
}

/// The declaration of a copy of a tensor whose type is not read.
[[nodiscard]] inline io::TensorDecl raw_declaration(const io::OtherMember& other) {
  return {other.name, io::DType::u8, other.raw->shape, other.raw};
}

/// Calls f(bytes) for the pieces of such a tensor.
template <class F>
void for_each_raw_piece(const io::TensorFile& file, const io::OtherMember& other, F&& f) {
  std::vector<std::byte> bytes;
  for_each_piece(other.raw->size_bytes, [&](std::size_t first, std::size_t count) {
    bytes.resize(count);
    file.read_raw(other, first, bytes);
    f(std::span<const std::byte>(bytes));
  });
}

/// A part of a tensor as it is in the file.
struct PartPlace {
  io::TensorDecl declaration;
  const io::TensorInfo* in;  ///< the tensor of the file that has its bytes
  std::uint64_t begin;       ///< where in that tensor they begin

  [[nodiscard]] std::uint64_t size() const {
    return *io::storage_bytes(declaration.dtype, declaration.shape);
  }
};

}  // namespace tq::store
