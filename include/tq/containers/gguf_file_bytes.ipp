// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/gguf_file_bytes.hpp.

#include <tq/containers/detail/gguf_header.hpp>
#include <tq/containers/gguf_file_bytes.hpp>

#include <algorithm>
#include <variant>
#include <vector>

namespace tq::io {

namespace detail {

TQ_API std::uint32_t gguf_alignment(std::span<const GgufEntry> entries) {
  const auto found = std::ranges::find(entries, gguf_alignment_key, &GgufEntry::name);
  return found == entries.end() ? 32 : std::get<std::uint32_t>(found->value);
}

}  // namespace detail

TQ_API std::uint64_t gguf_file_bytes(std::span<const GgufEntry> entries,
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
