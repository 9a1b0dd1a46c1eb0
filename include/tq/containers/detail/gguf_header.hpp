// SPDX-License-Identifier: MIT
#pragma once
// The header of a GGUF file as bytes.

#include <tq/bodies.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/files/little_endian.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tq::io::detail {

class GgufHeader {
 public:
  // The header of version 3, without padding. Offsets of `tensors` are from the start of all data.
  TQ_API GgufHeader(std::span<const GgufEntry> entries, std::span<const GgufTensor> tensors);
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
  TQ_API void put(std::string_view text);
  void put(const std::string& text) { put(std::string_view(text)); }
  TQ_API void put(const GgufArray& array);

  std::vector<std::byte> bytes_;
};

}  // namespace tq::io::detail

#ifndef TQ_FILE_LIBRARY
#include <tq/containers/detail/gguf_header.ipp>
#endif
