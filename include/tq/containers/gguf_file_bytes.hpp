// SPDX-License-Identifier: MIT
#pragma once
// gguf_file_bytes: the size of a GGUF file before it is written.

#include <tq/bodies.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/containers/gguf_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tq::io {

namespace detail {

// The alignment of tensor data that keys ask for. Precondition: `GgufWriter` takes the keys.
[[nodiscard]] TQ_API std::uint32_t gguf_alignment(std::span<const GgufEntry> entries);

// Bytes of a tensor with the padding behind it. Precondition: `gguf_bytes` has a value.
[[nodiscard]] constexpr std::uint64_t gguf_padded_bytes(layouts::gguf::Type type,
                                                        std::span<const std::size_t> shape,
                                                        std::uint32_t alignment) noexcept {
  return gguf_aligned(*gguf_bytes(type, shape), alignment);
}

}  // namespace detail

/// Bytes of the file that `GgufWriter` makes of these keys and tensors: header, data and padding.
/// Precondition: `GgufWriter` takes them.
[[nodiscard]] TQ_API std::uint64_t gguf_file_bytes(std::span<const GgufEntry> entries,
                                                   std::span<const GgufTensorDecl> declarations);

}  // namespace tq::io

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/gguf_file_bytes.ipp>
#endif
