// SPDX-License-Identifier: MIT
#pragma once
// gguf_file_bytes: the size of a GGUF file before it is written.

#include <tq/containers/detail/gguf_header.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/containers/gguf_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace tq::io {

namespace detail {

// The alignment of tensor data that keys ask for. Precondition: `GgufWriter` takes the keys.
[[nodiscard]] inline std::uint32_t gguf_alignment(std::span<const GgufEntry> entries) {
  const auto found = std::ranges::find(entries, gguf_alignment_key, &GgufEntry::name);
  return found == entries.end() ? 32 : std::get<std::uint32_t>(found->value);
}

// Bytes of a tensor with the padding behind it. Precondition: `gguf_bytes` has a value.
[[nodiscard]] constexpr std::uint64_t gguf_padded_bytes(layouts::gguf::Type type,
                                                        std::span<const std::size_t> shape,
                                                        std::uint32_t alignment) noexcept {
  return gguf_aligned(*gguf_bytes(type, shape), alignment);
}

}  // namespace detail

/// Bytes of the file that `GgufWriter` makes of these keys and tensors: header, data and padding.
/// Precondition: `GgufWriter` takes them.
[[nodiscard]] inline std::uint64_t gguf_file_bytes(std::span<const GgufEntry> entries,
                                                   std::span<const GgufTensorDecl> declarations) {
  const std::uint32_t alignment = detail::gguf_alignment(entries);
  std::vector<GgufTensor> tensors;
  std::uint64_t data = 0;
  for (const GgufTensorDecl& d : declarations) {
    tensors.push_back({d.name, d.type, d.shape});
    data += detail::gguf_padded_bytes(d.type, d.shape, alignment);
  }
  return detail::gguf_aligned(detail::GgufHeader(entries, tensors).bytes().size(), alignment) +
         data;
}

}  // namespace tq::io
