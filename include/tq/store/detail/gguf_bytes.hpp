// SPDX-License-Identifier: MIT
#pragma once
// Values as bytes of a type of GGUF, blocks or floats, and back.

#include <tq/arch/isa.hpp>
#include <tq/containers/gguf_tensor.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/layouts/gguf/dequantize.hpp>
#include <tq/layouts/gguf/quantize.hpp>
#include <tq/layouts/gguf/quantize_best.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/ops/backend/backend.hpp>
#include <tq/store/gguf_options.hpp>

#include <concepts>
#include <cstdint>
#include <span>

namespace tq::store::detail {

// Blocks of the type, or floats. `out` has the size of the values in the type.
template <Backend B = default_backend, class Arch = arch::native>
void encode_gguf(layouts::gguf::Type type, GgufMethod method, std::span<const float> x,
                 std::span<std::uint8_t> out, std::span<const float> importance) {
  namespace gguf = layouts::gguf;
  if (const auto dtype = io::gguf_dtype(type))
    return io::from_float32<B>(x, *dtype, std::as_writable_bytes(out));
  if (method == GgufMethod::best) return gguf::quantize_best<Arch>(type, x, out, importance);
  gguf::quantize<gguf::ggml, Arch>(type, x, out, gguf::ggml{}, importance);
}

// The values of blocks or floats of the type.
template <Backend B = default_backend>
void decode_gguf(layouts::gguf::Type type, std::span<const std::uint8_t> bytes,
                 std::span<float> out) {
  if (const auto dtype = io::gguf_dtype(type))
    return io::to_float32<B>(*dtype, std::as_bytes(bytes), out);
  layouts::gguf::dequantize(type, bytes, out);
}

// Bytes of `count` values in the type. Precondition: they are whole blocks.
template <std::unsigned_integral N>
[[nodiscard]] constexpr N gguf_band_bytes(layouts::gguf::Type type, N count) {
  const layouts::gguf::TypeInfo& info = layouts::gguf::info_of(type);
  return count / info.elements * info.bytes;
}

}  // namespace tq::store::detail
