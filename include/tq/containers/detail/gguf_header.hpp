// SPDX-License-Identifier: MIT
#pragma once
// The header of a GGUF file as bytes.

#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/core/detail/with_alternative.hpp>
#include <tq/files/little_endian.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace tq::io::detail {

class GgufHeader {
 public:
  // The header of version 3, without padding. Offsets of `tensors` are from the start of all data.
  GgufHeader(std::span<const GgufEntry> entries, std::span<const GgufTensor> tensors) {
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
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  template <class T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    store_le(bytes_.data() + at, value);
  }
  void put(bool value) { put(static_cast<std::uint8_t>(value)); }
  void put(std::string_view text) {
    put(std::uint64_t{text.size()});
    const auto raw = std::as_bytes(std::span<const char>(text));
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const GgufArray& array) {
    put(static_cast<std::uint32_t>(array.index()));
    tq::detail::with_alternative(array, [&]<class V>(const V& values) {
      if constexpr (!std::is_same_v<V, std::monostate>) {
        put(std::uint64_t{values.size()});
        for (const auto& v : values) put(static_cast<const typename V::value_type&>(v));
      }
    });
  }

  std::vector<std::byte> bytes_;
};

}  // namespace tq::io::detail
