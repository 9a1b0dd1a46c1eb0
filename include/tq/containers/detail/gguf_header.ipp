// SPDX-License-Identifier: MIT
#pragma once
// The bodies of tq/containers/detail/gguf_header.hpp.

#include <tq/containers/detail/gguf_header.hpp>
#include <tq/core/detail/with_alternative.hpp>

#include <type_traits>
#include <variant>

namespace tq::io::detail {

TQ_API GgufHeader::GgufHeader(std::span<const GgufEntry> entries,
                              std::span<const GgufTensor> tensors) {
  put(std::uint32_t{0x46554747});  // "GGUF"
  put(std::uint32_t{3});
  put(std::uint64_t{tensors.size()});
  put(std::uint64_t{entries.size()});
  for (const GgufEntry& e : entries) {
    put(std::string_view(e.name));
    put(static_cast<std::uint32_t>(e.value.index()));
    tq::detail::with_alternative(e.value, [&](const auto& v) { put(v); });
  }
  for (const GgufTensor& t : tensors) {
    put(std::string_view(t.name));
    put(static_cast<std::uint32_t>(t.shape.size()));
    for (auto extent = t.shape.rbegin(); extent != t.shape.rend(); ++extent)
      put(std::uint64_t{*extent});
    put(static_cast<std::uint32_t>(t.type));
    put(t.offset);
  }
}

TQ_API void GgufHeader::put(std::string_view text) {
  put(std::uint64_t{text.size()});
  const auto raw = std::as_bytes(std::span<const char>(text));
  bytes_.insert(bytes_.end(), raw.begin(), raw.end());
}

TQ_API void GgufHeader::put(const GgufArray& array) {
  put(static_cast<std::uint32_t>(array.index()));
  tq::detail::with_alternative(array, [&]<class V>(const V& values) {
    if constexpr (!std::is_same_v<V, std::monostate>) {
      put(std::uint64_t{values.size()});
      for (const auto& v : values) put(static_cast<const typename V::value_type&>(v));
    }
  });
}

}  // namespace tq::io::detail
