// SPDX-License-Identifier: MIT
#pragma once
// The entry of a tensor in a GGUF file.

#include <tq/containers/dtype.hpp>
#include <tq/layouts/gguf/type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tq::io {

/// The entry of a tensor in a GGUF file. `shape` is row-major: the extents of the file in reverse.
struct GgufTensor {
  std::string name;
  layouts::gguf::Type type = layouts::gguf::Type::f32;
  std::vector<std::size_t> shape;
  std::uint64_t offset = 0;  ///< of the data, in bytes from the start of the file
  std::uint64_t size_bytes = 0;
};

/// Most extents of a tensor, and most bytes of its name.
inline constexpr std::size_t gguf_max_rank = 4, gguf_max_name = 63;

/// The `DType` of the same elements, or nothing for types of blocks.
[[nodiscard]] constexpr std::optional<DType> gguf_dtype(layouts::gguf::Type type) noexcept {
  using layouts::gguf::Type;
  switch (type) {
    case Type::f32: return DType::f32;
    case Type::f16: return DType::f16;
    case Type::bf16: return DType::bf16;
    case Type::f64: return DType::f64;
    case Type::i8: return DType::i8;
    case Type::i16: return DType::i16;
    case Type::i32: return DType::i32;
    case Type::i64: return DType::i64;
    default: return std::nullopt;
  }
}

/// The type whose elements have that `DType`, or nothing.
[[nodiscard]] constexpr std::optional<layouts::gguf::Type> gguf_type(DType dtype) noexcept {
  for (const layouts::gguf::TypeInfo& info : layouts::gguf::types)
    if (gguf_dtype(info.type) == dtype) return info.type;
  return std::nullopt;
}

/// Bytes of a tensor, or nothing where elements or bytes exceed 2^63 - 1 or the last extent is no
/// multiple of a block.
[[nodiscard]] constexpr std::optional<std::uint64_t> gguf_bytes(
    layouts::gguf::Type type, std::span<const std::size_t> shape) noexcept {
  constexpr std::uint64_t most = (std::uint64_t{1} << 63) - 1;
  const layouts::gguf::TypeInfo& info = layouts::gguf::info_of(type);
  std::uint64_t count = 1;
  for (const std::size_t extent : shape) {
    if (extent != 0 && count > most / extent) return std::nullopt;
    count *= extent;
  }
  const std::uint64_t row = shape.empty() ? 1 : shape.back();
  if (row % info.elements != 0 || count / info.elements > most / info.bytes) return std::nullopt;
  return count / info.elements * info.bytes;
}

}  // namespace tq::io
