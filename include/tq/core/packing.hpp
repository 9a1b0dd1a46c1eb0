// SPDX-License-Identifier: MIT
#pragma once
// Packings: how the codes of a tensor lie in bytes. The order is a type, so it cannot be confused.

#include <tq/core/detail/sizes.hpp>
#include <tq/core/element.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tq {

/// Which end of a byte the first code takes; `digits` are no bits of it.
enum class BitOrder : std::uint8_t { low_first, high_first, unpacked, digits };

namespace detail {
template <BitOrder Order>
struct packed {
  static constexpr BitOrder order = Order;
  /// Bytes for n codes of type T, as two's complement of T::bits bits, over the flattened tensor;
  /// the largest size where that is larger.
  template <Element T>
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t n) noexcept {
    constexpr auto bits = static_cast<std::size_t>(T::bits);
    return sum_or_most(product_or_most(n / 8, bits), (n % 8 * bits + 7) / 8);
  }
};
}  // namespace detail

/// Code i takes bits [i * bits, (i + 1) * bits) counted from the lowest bit of the first byte
/// (ONNX, PyTorch, safetensors). 8-, 16- and 32-bit codes are plain little-endian integers. Unused
/// bits are zero.
struct LowFirst : detail::packed<BitOrder::low_first> {
  static constexpr std::string_view name = "low_first";
};

/// As `LowFirst`, but counted from the highest bit of the first byte (bitsandbytes).
struct HighFirst : detail::packed<BitOrder::high_first> {
  static constexpr std::string_view name = "high_first";
};

/// One code per `code_type`, whatever its width.
struct Unpacked {
  static constexpr BitOrder order = BitOrder::unpacked;
  static constexpr std::string_view name = "unpacked";
  template <Element T>
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t n) noexcept {
    return detail::product_or_most(n, sizeof(typename T::code_type));
  }
};

/// Five `ternary` codes a byte: byte = sum of (code_i + 1) * 3^i, the first code the least
/// significant digit. The digits after the last code are zero; bytes above 242 are no codes.
struct FiveInByte {
  static constexpr BitOrder order = BitOrder::digits;
  static constexpr std::string_view name = "five_in_byte";
  template <std::same_as<ternary> T>
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t n) noexcept {
    return n / 5 + (n % 5 != 0 ? 1 : 0);
  }
};

/// Models: `LowFirst`, `HighFirst`, `Unpacked`, `FiveInByte`.
template <class P>
concept Packing = requires(std::size_t n) {
  { P::order } -> std::convertible_to<BitOrder>;
  { P::name } -> std::convertible_to<std::string_view>;
  { P::template bytes_for<ternary>(n) } -> std::same_as<std::size_t>;
};

/// A packing that can hold the codes of element T: all but `FiveInByte` hold any.
template <class P, class T>
concept PackingFor = Packing<P> && Element<T> && requires(std::size_t n) {
  { P::template bytes_for<T>(n) } -> std::same_as<std::size_t>;
};

/// True when P stores T with one code per `code_type`.
template <class P, class T>
inline constexpr bool is_unpacked = P::order == BitOrder::unpacked ||
                                    T::bits == 8 * static_cast<int>(sizeof(typename T::code_type));

}  // namespace tq
